#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// Error FP073 for a plan of other work than pretraining: what launches that has nothing to say.
/// Refuses formats of states and layers left wide where `who` cannot be told of them.
[[nodiscard]] inline Result<void> usual_formats(const Plan& plan, std::string_view who) {
  const training::Job& job = plan.job;
  if (job.states.usual() && job.wide_layers.first + job.wide_layers.last == 0) return {};
  return fail(error(Code::unsupported_feature,
                    std::string(who) + " keeps states and layers in its own formats",
                    "leave out `states` and `wide_layers`, or take megatron"));
}

[[nodiscard]] inline Result<void> needs_training(const Plan& plan) {
  constexpr const char* of_machines =
      "parallelcluster, pcs, hyperpod, k8s-nodes, environment, openmetrics, prometheus, grafana, "
      "slurm-array and k8s-indexed-job are of any scenario";
  switch (plan.work) {
    case Plan::Work::pretraining:
      return {};
    case Plan::Work::serving:
      return fail(error(Code::unsupported_feature,
                        "the scenario serves a model, it does not train one",
                        "slurm, kueue, volcano, vllm, tensorrt-llm and sglang start servers"));
    case Plan::Work::fine_tuning:
      return fail(error(Code::unsupported_feature,
                        "fine-tuning is started by its framework's own recipe, with its data",
                        of_machines));
    case Plan::Work::reinforcement:
      break;
  }
  return fail(error(Code::unsupported_feature,
                    "a step of reinforcement learning is started by its framework (verl, NeMo-RL)",
                    of_machines));
}

}  // namespace flowplan::exporting
