#pragma once

#include <cstdint>
#include <span>

#include "flowplan/posttraining/asynchronous.hpp"
#include "flowplan/posttraining/reinforcement.hpp"
#include "flowplan/posttraining/rollout.hpp"
#include "training_passes.hpp"

namespace flowplan::posttraining {

/// A step while it is put together.
struct StepParts {
  RlStep result;
  std::uint32_t trainer_gpus = 0, rollout_gpus = 0;
  Seconds wake{};
  SyncTime sync;
  TrainingPasses passes;

  /// All that the trainer does with a batch.
  [[nodiscard]] Seconds training() const { return passes.total() + result.controller; }
};

/// Counts and times of the parts, whatever the placement.
void fill(StepParts& parts, const Rollout& rollout, TrainingPasses passes,
          std::span<const Sample> kept);
/// Rollout, then training: the breakdown, pools and timeline of a step.
void take_turns(StepParts& parts, const Rollout& rollout, bool colocated);
/// The same where both run at once.
void run_apart(StepParts& parts, OverlapRun run);

}  // namespace flowplan::posttraining
