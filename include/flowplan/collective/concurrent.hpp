#pragma once

#include <span>

#include "flowplan/collective/schedule.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "flowplan/flow/quotient.hpp"

namespace flowplan::collective {

/// A collective among others on the same cluster.
struct Running {
  Schedule schedule;
  Members members;  ///< for send_recv the group in rank order, as one
  double start_s = 0.0;
  /// Bytes of `schedule.size` per second that it never exceeds: size / its time alone, so that one
  /// bound by latency takes of its links no more than it uses.
  double cap_per_s = flow::unlimited;
  /// Its share of a link that several want; 0: its size, so that those of one link end together.
  double weight = 0.0;
};

/// All of them as a folded problem, for `flow::simulate()`: a collective is one flow of
/// `schedule.size` bytes. Its parts advance in step, so at rate r it takes of each link r times
/// what the whole of it puts there per byte (from counts, `visit_loads`: never from listed pairs).
/// Weights are the sizes unless given: of two that share their tightest link, both take the time
/// that the link needs for both. Alone it ends when the slowest of its listed flows does.
///
/// Links on which every collective puts the same are one class, so that the problem has a handful
/// of uses whatever the ranks; collectives that symmetry makes equal are folded by
/// `flow::fold(quotient)`. Flow i is `running[i]`. Takes O(ranks) time and no memory that grows
/// with the pairs.
[[nodiscard]] flow::Quotient in_step(const Stack& stack, const topology::Cluster& cluster,
                                     std::span<const Running> running);

/// The same unfolded, over the cluster's own links, from every listed flow: for `--no-fold`.
[[nodiscard]] flow::FlowSet in_step_unfolded(const Stack& stack, const topology::Cluster& cluster,
                                             std::span<const Running> running);

}  // namespace flowplan::collective
