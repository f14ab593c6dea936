#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/operations/goodput.hpp"

namespace flowplan::operations {

/// Kept computing over wall time since the start of a run, over many simulated runs.
struct CoursePoint {
  Seconds at{};
  double p5 = 0.0, p50 = 0.0, p95 = 0.0;
};

/// How the ETTR of a run settles: at `points` (>= 1) evenly spaced times until `wall` (> 0), of
/// `runs` (>= 1) runs from `seed`. Each run is the same one at all times. Needs what
/// `simulate_days` needs.
[[nodiscard]] std::vector<CoursePoint> goodput_course(const RunModel& run, Seconds wall, int points,
                                                      int runs, std::uint64_t seed);

}  // namespace flowplan::operations
