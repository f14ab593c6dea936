#include "flowplan/topology/clos.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "cluster_data.hpp"

namespace flowplan::topology {

Result<Fabric> clos_of_radix(const Cluster& cluster, int radix) {
  const ClusterSpec& spec = cluster.spec();
  const auto refuse = [&](std::string why, std::string hint) {
    return fail(error(Code::bad_cluster, fmt::format("switches of {} ports: {}", radix, why),
                      std::move(hint)));
  };
  if (radix < 2) return refuse("at least 2 are needed", "one down, one up");
  if (!cluster.has_nics()) return refuse("the nodes have no known NICs", "");

  Fabric fabric = spec.fabric;
  std::uint32_t groups = 0;  // NIC groups of a node
  flow::LinkId last = flow::no_link;
  for (std::uint32_t gpu = 0; gpu < cluster.gpus_per_node(); ++gpu) {
    const flow::LinkId out = cluster.nic_out(GpuId{gpu});
    groups += out == last ? 0 : 1;
    last = out;
  }
  const std::uint32_t nics = fabric.rail_optimised ? 1 : groups;  // of a node at one leaf
  const double oversubscription = fabric.leaf_oversubscription;
  const auto down =
      static_cast<std::uint32_t>(std::floor(radix * oversubscription / (1.0 + oversubscription)));
  const std::uint32_t whole = cluster.gpus_per_domain() / cluster.gpus_per_node();
  const std::uint32_t nodes = down / nics / whole * whole;
  if (nodes == 0)
    return refuse(fmt::format("{} lead downwards, and {} needs {}", down,
                              whole > 1 ? "an NVLink domain" : "a node", nics * whole),
                  fmt::format("at least {}",
                              static_cast<int>(std::ceil(nics * whole * (1.0 + oversubscription) /
                                                         oversubscription))));
  fabric.nodes_per_leaf = static_cast<int>(nodes);
  const std::uint32_t rails = fabric.rail_optimised ? groups : 1;
  const auto leaves =
      static_cast<std::int64_t>((cluster.nodes() + nodes - 1) / nodes) * std::int64_t{rails};
  const auto most_pods = static_cast<std::int64_t>(radix);
  fabric.leaves_per_pod = radix;
  if (leaves <= radix) return fabric;
  fabric.leaves_per_pod = std::max(1, radix / 2);
  if (leaves > fabric.leaves_per_pod * most_pods)
    return refuse(fmt::format("{} leaves are more than {} pods of {} hold", leaves, most_pods,
                              fabric.leaves_per_pod),
                  "give more ports");
  return fabric;
}

}  // namespace flowplan::topology
