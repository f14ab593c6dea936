#include "flowplan/operations/course.hpp"

#include "flowplan/base/assert.hpp"
#include "flowplan/operations/simulate.hpp"

namespace flowplan::operations {

std::vector<CoursePoint> goodput_course(const RunModel& run, Seconds wall, int points, int runs,
                                        std::uint64_t seed) {
  FLOWPLAN_ASSERT(points >= 1);
  constexpr double low = 5.0, middle = 50.0, high = 95.0;
  std::vector<CoursePoint> course;
  for (int i = 1; i <= points; ++i) {
    const Seconds at = wall * (static_cast<double>(i) / points);
    // A run draws the same random numbers however long it is watched.
    const Simulation simulation = simulate_days(run, at, {seed, runs});
    course.push_back({at, simulation.ettr_percentile(low), simulation.ettr_percentile(middle),
                      simulation.ettr_percentile(high)});
  }
  return course;
}

}  // namespace flowplan::operations
