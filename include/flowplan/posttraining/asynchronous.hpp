#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/inference/serve.hpp"
#include "flowplan/posttraining/rollout.hpp"
#include "flowplan/posttraining/samples.hpp"

namespace flowplan::posttraining {

/// What a pool of GPUs does from when to when.
struct Interval {
  std::string pool;  ///< "trainer", "rollout", "all"
  /// "generate", "stragglers" (fewer than half of the most samples at once are left), "score",
  /// "train", "sync", "swap", "wait".
  std::string activity;
  double from_s = 0.0, to_s = 0.0;
};

/// Trainer and rollout GPUs that run at the same time, each version of the weights made from one
/// batch.
struct Overlap {
  /// Versions by which samples may be started ahead, >= 0: while version v is made, samples up to
  /// batch v + staleness run. 0: none (rollout and training take turns); 1: one step off; need not
  /// be whole.
  double staleness = 1.0;
  /// Samples go on over a weight update; false: updates wait until all that were started are done.
  bool partial = true;
  /// Batches whose prompts are in flight at most; a prompt is until all its samples are done. 0: as
  /// many as `staleness` lets in.
  double in_flight = 0.0;
  /// A step trains on the batch that was started for it, so that no sample is older than
  /// `staleness` (rounded up). False: on what is finished first; `staleness` then bounds only when
  /// samples are let in, and long ones grow older.
  bool in_order = true;
  /// Parts of a batch (mini-batches) that are trained on as they are there; 1: the whole batch.
  int parts = 1;
  Seconds training{};  ///< on a batch, log-probabilities and all updates
  Seconds sync{};      ///< of the weights; both pools stand still
  Verifier verifier;
  bool operator==(const Overlap&) const = default;
};

/// When samples were let in and versions of the weights came out, on which a run agreed.
struct OverlapTimes {
  std::vector<double> released_s;         ///< by sample
  std::vector<double> paused_s, ready_s;  ///< by version: engines stop, go on with it
};

struct OverlapRun {
  Seconds step{};             ///< mean in the steady state
  Seconds waiting{};          ///< of the trainer for samples, a step
  double rollout_idle = 0.0;  ///< share of rollout GPUs and time without samples to work on
  double trainer_idle = 0.0;
  double mean_staleness = 0.0;  ///< versions between a sample's start and its training
  double most_staleness = 0.0;
  /// A sample is as old as the run was followed: others may be older than `most_staleness`.
  bool most_is_open = false;
  /// Samples of the last step are older than those of the first one measured, and the bound is
  /// further than the run was followed: they grow older with every step.
  bool staleness_grows = false;
  std::vector<Interval> timeline;  ///< of the last steps, from 0
  OverlapTimes times;
};

/// Steps of training and rollouts that overlap, played through: samples are let in as versions of
/// the weights come out, the serving engine runs them, the trainer takes them as they finish. The
/// engine is asked again until the times agree; a version depends on earlier ones only, so they do
/// after some rounds a version. `load` is one batch. `near`: times of a run much like this one,
/// from which fewer rounds lead to the same times; those of another size are left aside. Errors:
/// those of `run_rollout`.
[[nodiscard]] Result<OverlapRun> run_overlapped(const inference::Fleet& fleet,
                                                const RolloutLoad& load, const Overlap& overlap,
                                                const OverlapTimes& near = {});

}  // namespace flowplan::posttraining
