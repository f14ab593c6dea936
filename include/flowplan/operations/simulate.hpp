#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/operations/goodput.hpp"

namespace flowplan::operations {

/// One simulated run: where its time went.
struct RunOutcome {
  Seconds wall{};
  Seconds productive{}, saving{}, recomputed{}, down{}, waiting{};  ///< as in Goodput; sum to wall
  std::int64_t failures = 0;
  std::int64_t lost_nodes = 0;
  bool finished = true;  ///< false: given up, with the work not done

  [[nodiscard]] Goodput shares() const;
};

/// Many independent runs of one model.
struct Simulation {
  std::vector<RunOutcome> runs;

  /// Over all runs together.
  [[nodiscard]] Goodput shares() const;
  [[nodiscard]] double failures_per_day() const;
  /// ETTR that `percent` of the runs do not exceed (nearest rank); 0 < percent <= 100.
  [[nodiscard]] double ettr_percentile(double percent) const;
  /// The same of the wall time, and of the failures of a run.
  [[nodiscard]] Seconds wall_percentile(double percent) const;
  [[nodiscard]] double failures_percentile(double percent) const;
};

/// How often a run is simulated, and from which random numbers. The same setting gives the same
/// outcome on any number of threads.
struct SimulationSetting {
  std::uint64_t seed = 1;
  int runs = 1000;  ///< >= 1
};

/// Simulates failures, saves, restarts and repairs event by event until `wall` (> 0) is over. A
/// failure voids a save that is still on its way to disk. While no spare stands ready the job waits
/// and nothing fails; a lost node is ready again after `run.repair`. Needs what `expected_goodput`
/// needs.
[[nodiscard]] Simulation simulate_days(const RunModel& run, Seconds wall,
                                       const SimulationSetting& setting);
/// The same until `work` (> 0) of computing is done; given up at `most_times` the work's length.
[[nodiscard]] Simulation simulate_work(const RunModel& run, Seconds work,
                                       const SimulationSetting& setting, double most_times = 100.0);

}  // namespace flowplan::operations
