#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// One link of a flow's path as the solver sees it.
struct Hop {
  std::uint32_t link;   ///< row in `Layout::links`
  std::uint32_t place;  ///< where the flow stands among the link's running flows
  double pull;          ///< coefficient * weight: what the link loses a unit of level
};

/// A link that some flow uses.
struct UsedLink {
  LinkId id;
  std::uint32_t first_member;  ///< the link's part of an array with one slot a hop
};

/// A network and all flows that will ever run on it, as flat arrays in the order in which the
/// solver walks them. Links that no flow uses are left out.
struct Layout {
  std::vector<std::uint32_t> first_hop;  ///< per flow, and one past the last
  std::vector<Hop> hops;
  std::vector<UsedLink> links;
  std::vector<double> cap_level;  ///< per flow: cap / weight; `unlimited` where a link is tighter
  bool integral = true;           ///< all pulls are whole numbers, so that their sums are exact
};

enum class Redundant { keep, drop };

/// `drop` leaves out links that cannot bind: every flow on a also crosses b and takes at least as
/// large a part of b's capacity, so a is never fuller than b. It pays when the same flows are
/// solved many times. Broken preconditions of `Network` and `FlowSet` assert.
[[nodiscard]] Layout lay_out(const Network& network, const FlowSet& flows, Redundant redundant);

}  // namespace flowplan::flow
