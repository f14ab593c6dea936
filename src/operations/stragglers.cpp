#include "flowplan/operations/stragglers.hpp"

#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

Seconds slowest_node(Seconds mean, Seconds deviation, double nodes) {
  FLOWPLAN_ASSERT(nodes >= 1.0);
  return mean + deviation * std::sqrt(2.0 * std::log(nodes));
}

double straggler_factor(double share, double slowdown, double nodes) {
  FLOWPLAN_ASSERT(share >= 0.0 && share <= 1.0 && slowdown >= 1.0);
  return 1.0 + (slowdown - 1.0) * (1.0 - std::pow(1.0 - share, nodes));
}

}  // namespace flowplan::operations
