#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// Error FP073 for a plan that serves: what launches training has nothing to say of it.
[[nodiscard]] inline Result<void> needs_training(const Plan& plan) {
  if (!plan.serves) return {};
  return fail(
      error(Code::unsupported_feature, "the scenario serves a model, it does not train one",
            "vllm, tensorrt-llm and sglang start servers; prometheus and grafana watch them"));
}

}  // namespace flowplan::exporting
