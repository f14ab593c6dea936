#pragma once

#include <vector>

#include "flowplan/operations/goodput.hpp"

namespace flowplan::operations {

/// Probability of at most `count` events of a Poisson distribution; `mean` >= 0.
[[nodiscard]] double poisson_at_most(int count, double mean);
/// The fewest spares that last through a repair window with probability `target` (0..1): the
/// smallest k with P(X <= k) >= target, X being Poisson with the failures expected in the window.
[[nodiscard]] int spares_for(double failures_in_window, double target);
/// Erlang's loss formula: the share of time in which all of `places` (>= 1) are taken.
[[nodiscard]] double erlang_loss(int places, double load);

/// A number of spares and what it does.
struct SpareOption {
  int spares = 0;
  double ettr = 0.0;
  double waiting = 0.0;  ///< share of the time spent waiting for a node
  /// Paid node-time a node-time of kept progress: (nodes + spares) / (nodes * ettr). Money follows
  /// it, as spares cost as much as the others.
  double paid_over_productive = 0.0;
};
/// The run with 0, 1, 2 ... spares on `nodes` (> 0) nodes, until more of them no longer help.
[[nodiscard]] std::vector<SpareOption> spare_options(const RunModel& run, double nodes);
/// The cheapest, the fewest spares of equals.
[[nodiscard]] const SpareOption& cheapest(const std::vector<SpareOption>& options);

}  // namespace flowplan::operations
