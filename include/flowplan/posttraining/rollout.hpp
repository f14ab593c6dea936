#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/inference/serve.hpp"
#include "flowplan/posttraining/samples.hpp"

namespace flowplan::posttraining {

/// What gives a finished sample its reward outside the GPUs: a rule, a sandbox, a service.
struct Verifier {
  Seconds latency{};  ///< of a sample
  int workers = 0;    ///< samples at a time; 0: as many as there are
  bool operator==(const Verifier&) const = default;
};
/// When each sample has its reward: first come, first served. `finish_s` in any order; the answer
/// is in the same order.
[[nodiscard]] std::vector<double> scored(const std::vector<double>& finish_s,
                                         const Verifier& verifier);

/// How a rollout ends. Over-sampling starts more prompts than a step trains on; with `stop_early`
/// the rollout ends when enough prompts have all their answers and drops the others, without it
/// (dynamic sampling: groups whose rewards are all equal are dropped) all are finished.
struct RolloutEnd {
  std::uint32_t prompts = 0;  ///< that the step trains on; 0: all
  bool stop_early = false;
  bool operator==(const RolloutEnd&) const = default;
};

/// One rollout on replicas that do nothing else.
struct Rollout {
  std::vector<double> finish_s;     ///< by sample, tools included; infinite: dropped
  std::vector<Sample> samples;      ///< all that were started
  std::vector<std::uint32_t> kept;  ///< indices of those that the step trains on, rising
  double end_s = 0.0;               ///< the last sample that counts
  double scored_s = 0.0;            ///< and has its reward
  /// From when fewer than half as many samples run as at the peak to the end: the stragglers.
  double tail_s = 0.0;
  double busy_share = 0.0;        ///< of replicas and time till the end, with samples to work on
  double generated_tokens = 0.0;  ///< of all samples, dropped ones whole
  double peak_batch = 0.0;        ///< samples running at once in all replicas, at most
  std::uint64_t preemptions = 0;
};

/// Runs the requests of a rollout through the serving engine. Errors: those of
/// `inference::generate` and `serve`; FP024 when a sample was refused.
[[nodiscard]] Result<Rollout> run_rollout(const inference::Fleet& fleet, const RolloutLoad& load,
                                          const RolloutEnd& end = {},
                                          const Verifier& verifier = {});

}  // namespace flowplan::posttraining
