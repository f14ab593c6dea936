#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

// Networks and traffic from a few numbers, so that anyone can reproduce a benchmark without its
// file. Everything is deterministic: equal parameters give equal cases on every platform. Cables
// are two directed links; bandwidths are bytes per second and direction, > 0. Hosts are the nodes
// 0, 1, ... of the case.

/// Bandwidth of a generated link unless told otherwise: 400 Gbit/s.
inline constexpr double generated_bandwidth = 50e9;

/// A k-ary n-tree with any number of levels (Leiserson 1985; Petrini and Vanneschi 1997), one cable
/// between a node and each of its parents. Routes go up to the nearest common ancestor and down
/// again; the way up is chosen by the target's number (d-mod-k, Zahavi 2010), as SimGrid's
/// FatTreeZone does with one port a cable: the same flows give the same makespan there.
struct FatTree {
  std::vector<std::uint32_t> down;  ///< children of a switch of levels 1, 2, ...; >= 1
  std::vector<std::uint32_t> up;    ///< parents of a host, of a switch of level 1, ...; >= 1
  double bytes_per_s = generated_bandwidth;
};

/// Leaves of equally many hosts, each with a cable to every spine. Flows to host t of another leaf
/// cross spine t mod spines. Spine cables are as fast as the leaf's hosts together, divided by the
/// oversubscription and the spines.
struct Clos {
  std::uint32_t leaves = 0, hosts_per_leaf = 0, spines = 0;
  double oversubscription = 1.0;
  double bytes_per_s = generated_bandwidth;  ///< of a host
};

/// A grid of hosts whose rows close to rings; hosts forward for others. Routes correct dimension
/// after dimension, each the shorter way round, half way round upwards.
struct Torus {
  std::vector<std::uint32_t> dimensions;  ///< sizes, >= 2; the first is numbered fastest
  double bytes_per_s = generated_bandwidth;
};

/// Groups of fully connected routers, every two groups joined by one cable (Kim et al. 2008), whose
/// ends are spread evenly over a group's routers. Minimal routes: at most one hop to the router of
/// the cable, the cable, one hop to the target's router.
struct Dragonfly {
  std::uint32_t groups = 0, routers_per_group = 0, hosts_per_router = 0;
  double bytes_per_s = generated_bandwidth;         ///< of a host
  double local_bytes_per_s = generated_bandwidth;   ///< between routers of a group
  double global_bytes_per_s = generated_bandwidth;  ///< between groups
};

using Topology = std::variant<FatTree, Clos, Torus, Dragonfly>;

enum class Pattern {
  permutation,  ///< every host sends to one and receives from one: one random cycle
  all_to_all,   ///< every host to every other
  ring,         ///< every host to the next
  incast,       ///< every other host to the first
  random,       ///< random pairs of different hosts
};
enum class Sizes {
  equal,
  random,  ///< whole bytes, uniform between 1 and 2 * bytes - 1, so that the mean is `bytes`
};

struct Traffic {
  Pattern pattern = Pattern::permutation;
  Sizes sizes = Sizes::equal;
  double bytes = 100e6;  ///< 1 to 2^51, whole when random
  std::uint64_t seed = 1;
  /// The pattern runs within each block of so many consecutive hosts; it divides them. 0: all.
  std::uint32_t group = 0;
  std::uint64_t flows = 0;  ///< random pattern only: flows in all; 0: one a host
  double spread_s = 0.0;    ///< starts are uniform in [0, spread_s); 0: all at once
};

/// Hosts and flows that `generate()` makes at most.
inline constexpr std::uint64_t most_hosts = std::uint64_t{1} << 22;
inline constexpr std::uint64_t most_flows = std::uint64_t{1} << 26;

/// The most balanced non-blocking fat tree of so many hosts with at most `levels` levels: radices
/// as equal as divisors allow, the larger ones below. 64 are 4 x 4 x 4, 128 are 8 x 4 x 4.
[[nodiscard]] FatTree full_fat_tree(std::uint32_t hosts, std::uint32_t levels = 3);

/// The network and its flows. Error FP053: parameters out of range, too many hosts or flows.
[[nodiscard]] Result<Case> generate(const Topology& topology, const Traffic& traffic);

}  // namespace flowplan::flow
