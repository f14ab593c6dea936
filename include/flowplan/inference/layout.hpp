#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::inference {

/// How one instance of a serving engine is spread over GPUs. The ranks of a pipeline stage are
/// `attention_dp` groups of `tp`: a group has sequences of its own and divides heads and dense
/// matrices; all the stage's ranks together hold the experts, whole ones spread over `ep` of them,
/// each divided among the remaining `expert_tp()`.
struct Layout {
  int tp = 1;
  int pp = 1;
  int attention_dp = 1;
  int ep = 1;
  int replicas = 1;                ///< copies of all of it that share the load
  int redundant_experts = 0;       ///< copies of hot experts, over all of `ep`
  bool two_batch_overlap = false;  ///< exchange of one half of the batch behind the other's kernels

  [[nodiscard]] int ranks() const { return tp * attention_dp; }  ///< of a stage
  [[nodiscard]] int gpus() const { return ranks() * pp; }        ///< of one replica
  [[nodiscard]] int expert_tp() const { return ranks() / ep; }
};

/// KV heads that one rank of a TP group keeps: max(1, ceil(heads / tp)); 1 for latent attention.
[[nodiscard]] double kv_heads_per_rank(const model::Transformer& model, int tp);
/// How often a TP group keeps each key and value: tp for latent attention, whose cache is one
/// head, tp * kv_heads_per_rank / kv_heads otherwise.
[[nodiscard]] double kv_copies(const model::Transformer& model, int tp);

/// Notes on a layout that works: keys replicated because TP does not divide their heads, a TP or
/// expert group that leaves the NVLink domain. Errors FP070 (numbers below 1, experts' ranks that
/// do not divide, attention DP or EP of a model without experts), FP071 (heads, widths, experts
/// that the ranks do not divide), FP072 (more stages than layers). `instance` null: no note on
/// domains.
[[nodiscard]] Result<Diagnostics> check_layout(const Layout& layout,
                                               const model::Transformer& model,
                                               const catalog::Instance* instance = nullptr);

}  // namespace flowplan::inference
