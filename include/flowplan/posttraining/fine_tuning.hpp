#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/posttraining/batching.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::posttraining {

/// `sft`: answers to prompts, the loss on the answers only. `dpo`: pairs of a chosen and a rejected
/// answer against a reference; `orpo`: pairs without one; `reward_model`: pairs, one score each.
/// `distillation`: a teacher's logits for every sample.
enum class Method { sft, dpo, orpo, reward_model, distillation };
[[nodiscard]] std::string_view name(Method method);
/// Sequences of a sample: 2 of a pair.
[[nodiscard]] int sequences_of(Method method);

/// One step of fine-tuning to estimate.
struct FineTuning {
  Method method = Method::sft;
  /// Model, layout, precision, framework, micro_batch (rows), adapters. Lengths and batch follow
  /// from the samples.
  training::Job job;
  Batching batching = Batching::packed;
  std::int64_t pack_tokens = 0;  ///< of a row; 0: the longest sample
  inference::TokenCount prompt, response;
  std::int64_t samples = 1;  ///< a step; pairs where the method has them
  std::uint64_t seed = 1;
  bool precomputed_reference = false;    ///< DPO: log-probabilities of the reference are stored
  std::optional<training::Job> teacher;  ///< distillation: its model and layout on the same GPUs
};

struct FineTuningStep {
  Seconds step{};
  Breakdown time;                 ///< leaves sum to `step`
  training::Iteration iteration;  ///< of the trained model
  Rows rows;
  Seconds reference{}, teacher{};
  double samples = 0.0;         ///< a step; pairs count once
  double tokens = 0.0;          ///< of them, padding not counted
  double response_share = 0.0;  ///< of the tokens, that the loss counts
  std::string does_not_fit;     ///< memory; empty when it fits
};

/// Estimates a step; docs/models/posttraining.md has the formulas. Errors: those of training, FP024
/// for numbers out of range, FP021 for distillation without a teacher. A job that does not fit in
/// memory is an answer.
[[nodiscard]] Result<FineTuningStep> estimate(const catalog::Catalog& catalog,
                                              const topology::Cluster& cluster,
                                              const FineTuning& tuning);

}  // namespace flowplan::posttraining
