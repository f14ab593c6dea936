#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// A link that some flow uses.
struct UsedLink {
  LinkId id;
  std::uint32_t first_member;  ///< the link's part of an array with one slot a hop
};

/// A network and all flows that will ever run on it, as flat arrays in the order in which the
/// solver walks them. Links that no flow uses are left out; the others are its rows.
struct Layout {
  /// Rows stand in blocks of this many, the last one filled up.
  static constexpr std::uint32_t row_block = 16;
  /// Hops of a flow stand in groups of this many, so that loops over them need no branch.
  static constexpr std::uint32_t hop_group = 4;

  std::vector<UsedLink> links;
  std::vector<std::uint32_t> first_hop;  ///< per flow, and one past the last
  std::vector<std::uint32_t> row;        ///< per hop; `no_row()` in what fills up a group
  std::vector<double> pull;       ///< per hop: coefficient * weight; empty when all of them are 1
  std::vector<double> cap_level;  ///< per flow: cap / weight; `unlimited` where a link is tighter;
                                  ///< empty when no cap can hold a flow
  std::size_t members = 0;        ///< hops without what fills up groups
  bool integral = true;           ///< all pulls are whole numbers, so that their sums are exact

  [[nodiscard]] std::uint32_t rows() const { return static_cast<std::uint32_t>(links.size()); }
  /// Rows with the last block filled up; also the row that stands for none.
  [[nodiscard]] std::uint32_t no_row() const {
    return (rows() + row_block - 1) / row_block * row_block;
  }
  /// The hops of a flow, with those that fill up the last group.
  [[nodiscard]] std::span<const std::uint32_t> path(std::uint32_t flow) const {
    return {row.data() + first_hop[flow], row.data() + first_hop[flow + 1]};
  }
};

enum class Redundant { keep, drop };

/// `drop` leaves out links that cannot bind: every flow on a also crosses b and takes at least as
/// large a part of b's capacity, so a is never fuller than b. It pays when the same flows are
/// solved many times. Broken preconditions of `Network` and `FlowSet` assert.
[[nodiscard]] Layout lay_out(const Network& network, const FlowSet& flows, Redundant redundant);

}  // namespace flowplan::flow
