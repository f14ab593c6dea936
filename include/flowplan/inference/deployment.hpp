#pragma once

#include "flowplan/inference/engine.hpp"
#include "flowplan/inference/memory.hpp"
#include "flowplan/inference/step_model.hpp"

namespace flowplan::inference {

/// What a deployment has to be ready for.
struct DeploymentLimits {
  double longest_tokens = 8192;  ///< of a sequence, prompt and output
  double most_sequences = 0;     ///< at once on an attention rank; 0: the engine's own limit
  double accepted_a_pass = 1.0;  ///< tokens a pass with drafts, the bonus token counted
  double adapter_rank = 0;       ///< of LoRA adapters; 0: none
  std::int64_t resident_adapters = 0;
};

/// A serving instance made of a model, a layout, formats and an engine: its tables, the room of its
/// KV cache, the engine's scheduler. Errors: those of StepModel::on; FP070 when weights leave no
/// room for one sequence of `longest_tokens`, with the remedies of `serving_memory` as the hint.
[[nodiscard]] Result<Instance> deploy(const catalog::Catalog& catalog, const StepSetup& setup,
                                      const DeploymentLimits& limits);

}  // namespace flowplan::inference
