#pragma once

#include "flowplan/base/quantity.hpp"

namespace flowplan::operations {

/// Step time of `nodes` (>= 1) that wait for each other, when a node's own is normal with that mean
/// and deviation: mean + deviation sqrt(2 ln nodes), which holds for many nodes.
[[nodiscard]] Seconds slowest_node(Seconds mean, Seconds deviation, double nodes);

/// How much slower a synchronous step is on average when `share` (0..1) of the nodes, by chance,
/// take `slowdown` (>= 1) times as long: 1 + (slowdown - 1) (1 - (1 - share)^nodes).
[[nodiscard]] double straggler_factor(double share, double slowdown, double nodes);

}  // namespace flowplan::operations
