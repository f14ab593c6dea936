#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "layout.hpp"

namespace flowplan::topology {

/// The links of a cluster in order of their ids, as the builders below append them: each builder
/// adds all links out of its own vertices.
struct LinkList {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends;  ///< (source, target) vertex
  std::vector<double> capacity;                               ///< bytes/s
  std::vector<Tier> tier;

  void add(std::uint32_t from, std::uint32_t to, Tier of, double bytes_per_s) {
    ends.emplace_back(from, to);
    capacity.push_back(bytes_per_s);
    tier.push_back(of);
  }
};

/// Every link of the cluster; `layout.links` of them, in the layout's order.
[[nodiscard]] LinkList list_links(const ClusterSpec& spec, const Figures& figures,
                                  const Layout& layout);

/// Uplink capacity in bytes/s of one whole leaf, and of one whole pod, over all planes.
[[nodiscard]] double leaf_uplink(const ClusterSpec& spec, const Figures& figures,
                                 const Layout& layout);
[[nodiscard]] double pod_uplink(const ClusterSpec& spec, const Figures& figures,
                                const Layout& layout);

}  // namespace flowplan::topology
