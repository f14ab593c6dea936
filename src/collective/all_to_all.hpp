#pragma once

#include "flow_writer.hpp"
#include "flowplan/collective/schedule.hpp"
#include "flowplan/collective/shape.hpp"

namespace flowplan::collective {

/// All-to-all of one group, every rank to every other: `schedule.size` / ranks a pair. By
/// `pairwise` each message takes the way from its sender to its receiver. By `pxn` a message to
/// another node crosses NVLink to the GPU of the sender's node that stands where the receiver
/// stands in its own (if that is one of the ranks) and leaves by its NICs; by `hierarchical` the
/// same bytes, in two phases.

/// Lists the flows: one for each pair of ranks, or of a node and a rank (`pxn`). Nodes squared.
void list_all_to_all(FlowWriter& writer, const Schedule& schedule, const Members& members);

/// Shows what the same flows put on each link in all, from counts: time and memory grow with the
/// ranks. Exact under `spray`. Under `ecmp`, where each pair's path is a hash, up to
/// `most_hashed_pairs` are listed; the uplinks of more are loaded evenly, which is what a hash
/// tends to.
void count_all_to_all(FlowWriter& writer, const Schedule& schedule, const Members& members);

inline constexpr double most_hashed_pairs = 4e6;

}  // namespace flowplan::collective
