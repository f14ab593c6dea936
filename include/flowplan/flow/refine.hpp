#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// Class of a link that no flow uses.
inline constexpr std::uint32_t no_class = std::numeric_limits<std::uint32_t>::max();

/// Flows and links in classes, numbered from 0 in the order in which they first appear.
struct Partition {
  std::vector<std::uint32_t> flow_class;  ///< per flow
  std::vector<std::uint32_t> link_class;  ///< per link; `no_class` when no flow uses it
  std::uint32_t flow_classes = 0, link_classes = 0;
  std::uint32_t rounds = 0;  ///< of refinement
  /// The partition is equitable: all links of a class are crossed by equally many flows of each
  /// class, and all flows of a class cross equally many links of each class. Otherwise only the
  /// former holds.
  bool equitable = false;
};

/// What tells flows apart besides cap, weight and the links they cross.
struct Distinction {
  /// Bytes and starts too, so that the flows of a class begin and end together. Without them the
  /// classes serve one `solve()`, which knows neither.
  bool over_time = true;
  /// One number a flow, or none at all: flows with different numbers stay apart.
  std::span<const std::uint32_t> label;
};

/// Rounds after which `refine()` stops. Collectives take 2 to 4 when sizes divide each other, and
/// some 15 on trees and on groups that straddle leaves; a graph that takes more than this is a long
/// irregular chain that has no use for classes.
inline constexpr std::uint32_t most_rounds = 64;

/// Colour refinement (one-dimensional Weisfeiler-Leman) of the bipartite graph of flows and links
/// to the coarsest equitable partition, or as far as `rounds` go. Links start out coloured by
/// capacity, flows by cap, weight and `distinction`; each round adds the colours of the neighbours
/// with the coefficients between. Max-min fair rates are equal within a class at every instant,
/// because filling treats its members alike at every level.
///
/// Colours are hashes of 64 bits: n flows and links are merged wrongly with probability n^2 / 2^65,
/// 1e-7 for two million. `refute()` checks rates without any classes.
///
/// After a change (a slow link, an odd rank, another placement, a late start) refine afresh. To
/// walk only what the change splits would need the classes and the flows from before, and an index
/// from links to flows; refining takes a fraction of the time in which the new flows are listed.
[[nodiscard]] Partition refine(const Network& network, const FlowSet& flows,
                               const Distinction& distinction = {},
                               std::uint32_t rounds = most_rounds);

}  // namespace flowplan::flow
