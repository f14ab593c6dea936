#pragma once

#include <span>
#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/posttraining/batching.hpp"
#include "flowplan/posttraining/reinforcement.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::posttraining {

/// What a step does on the trainer's GPUs with the samples it keeps.
struct TrainingPasses {
  training::Iteration actor, critic;  ///< one update each; `critic` without PPO is empty
  std::int64_t updates = 0;           ///< of each
  Rows rows;                          ///< of an update
  training::ForwardPass log_prob, reference, values, reward_model;  ///< empty without the pass
  Seconds update{};  ///< all updates of the actor and the critic

  /// One after the other; the controller's work is not in it.
  [[nodiscard]] Seconds total() const {
    return log_prob.time + reference.time + values.time + reward_model.time + update;
  }
};
/// `trainer_gpus` are the cluster's first. Errors: those of training for each job.
[[nodiscard]] Result<TrainingPasses> training_passes(const catalog::Catalog& catalog,
                                                     const topology::Cluster& cluster,
                                                     const RlJob& job, std::uint32_t trainer_gpus,
                                                     std::span<const Sample> samples);

/// A pass without gradients as a leaf: its largest part and the next one are its limits.
[[nodiscard]] Breakdown pass_leaf(std::string id, std::string label,
                                  const training::ForwardPass& pass, std::string formula);

/// A tree with its times multiplied and the first word of its ids replaced.
[[nodiscard]] Breakdown scaled(const Breakdown& tree, double factor, const std::string& id);

/// Rows of a batch for that job: its micro-batch, data-parallel ranks and row lengths.
[[nodiscard]] BatchingRule batching_rule(const training::Job& job, Batching batching,
                                         std::int64_t pack_tokens);
/// The job with those rows for its batch.
[[nodiscard]] training::Job with_rows(training::Job job, const Rows& rows);

}  // namespace flowplan::posttraining
