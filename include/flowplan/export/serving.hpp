#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/launch.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::exporting {

/// A serving engine as it is started: one replica of the model.
struct ServeCommand {
  std::string model;  ///< what the engine is given: a name of a model hub, or a folder
  int tp = 1, pp = 1;
  int dp = 1;  ///< replicas of the attention that share the experts
  int ep = 1;  ///< ranks that share the experts: 1, or all tp * dp of them
  int nodes = 1;
  std::string weights;                ///< "bf16", "fp8", "nvfp4"; empty: as the checkpoint has them
  std::string kv_cache;               ///< "fp8"; empty: as the activations
  std::int64_t max_model_len = 0;     ///< tokens of a request with its answer; 0: the model's
  std::int64_t max_sequences = 0;     ///< that run at once; 0: the engine's default
  std::int64_t max_batch_tokens = 0;  ///< of one iteration; 0: the engine's default
  double memory_share = 0.0;          ///< of HBM for weights and cache; 0: the engine's default
  bool prefix_caching = true;

  [[nodiscard]] int gpus() const { return tp * pp * dp; }
};

/// `vllm serve`. Errors FP073: ep that is neither 1 nor tp * dp; FP070: GPUs that are not whole
/// nodes where there are several.
[[nodiscard]] Result<Launch> vllm_command(const ServeCommand& serve);
/// `trtllm-serve` with its options file. Errors as above; dp that is neither 1 nor tp, since
/// attention parallelism there uses all ranks of tp.
[[nodiscard]] Result<Launch> tensorrt_llm_command(const ServeCommand& serve);
/// `python3 -m sglang.launch_server`: its tp counts all ranks of attention, dp of them replicas.
[[nodiscard]] Result<Launch> sglang_command(const ServeCommand& serve);

/// What an answer's servers are started as: one entry, or, of a disaggregated deployment, that of
/// a prefill worker and that of a decode worker. `limits`: those that the scenario states. Error
/// FP073 for an answer that is not of serving.
struct NamedServe {
  std::string name;  ///< "serve", or "prefill" and "decode"
  ServeCommand command;
};
[[nodiscard]] Result<std::vector<NamedServe>> serve_commands(
    const Plan& plan, const scenario::Answer& answer, const scenario::ServingSection* limits);

}  // namespace flowplan::exporting
