#pragma once

#include <functional>
#include <span>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/collective/shape.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/flow/flow_set.hpp"

namespace flowplan::collective {

/// One collective as it runs.
struct Schedule {
  Operation operation{};
  Algorithm algorithm{};
  Protocol protocol{};
  Shape shape;
  Bytes size{};
  /// Channels that carry it over those that NCCL would take, at most 1: each moves its part of the
  /// bytes, so that fewer get less out of the links.
  double channel_share = 1.0;
};

/// Steps of a ring, each waiting for the one before: 2(n-1) for all_reduce, n-1 for the others (the
/// hops of the chain for broadcast and reduce).
[[nodiscard]] int ring_steps(Operation operation, int ranks);
/// Those of them that cross nodes: 2(N-1) or N-1; none on one node.
[[nodiscard]] int ring_network_steps(Operation operation, int nodes);
/// Payload that a ring sends over each of its edges: all of it for broadcast and reduce.
[[nodiscard]] Bytes ring_volume(Operation operation, int ranks, Bytes size);

/// Parent of each node in NCCL's double binary tree (src/graph/trees.cc), -1 at the root. Nodes are
/// leaves or inner nodes by the lowest set bit of their number; the second tree is the first one
/// mirrored (even count) or shifted by one (odd), so that a leaf of one is an inner node of the
/// other.
struct DoubleTree {
  std::vector<int> first, second;
};
[[nodiscard]] DoubleTree double_tree(int nodes);

/// Takes one flow: its links, and its bytes of payload.
using FlowVisitor = std::function<void(std::span<const flow::Use>, double bytes)>;

/// Shows the visitor the flows that carry a schedule for one group (for send_recv `members` is the
/// group in rank order, as one). A use's coefficient is the link's line rate over the rate that
/// this schedule gets out of it, so that a link shared by several flows is full when their usable
/// rates say so. Volumes: docs/models/collectives.md. Listing costs O(ranks), for all-to-all
/// O(pairs), and keeps nothing.
void visit_flows(const Stack& stack, const Schedule& schedule, const topology::Cluster& cluster,
                 const Members& members, const FlowVisitor& visit);

/// Shows what the same flows put on links in all, some of them merged: the sums by link are those
/// of `visit_flows`, but what it costs grows with the ranks, not with the pairs of an all-to-all.
/// (Under `ecmp` the uplinks of an all-to-all with more than four million pairs are loaded evenly.)
void visit_loads(const Stack& stack, const Schedule& schedule, const topology::Cluster& cluster,
                 const Members& members, const FlowVisitor& visit);

/// Appends the flows to a set for the solver. Weights are the bytes: the parts of a collective
/// advance in step.
void add_flows(const Stack& stack, const Schedule& schedule, const topology::Cluster& cluster,
               const Members& members, flow::FlowSet& flows);

}  // namespace flowplan::collective
