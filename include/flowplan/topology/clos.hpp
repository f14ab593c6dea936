#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// The fabric that switches of one size make: `radix` ports, each of the rate of one NIC group. Of
/// a leaf's ports, oversubscription o to 1 leaves o / (1 + o) for the nodes, rounded down to whole
/// nodes (whole NVLink domains where these span nodes). A spine's ports all lead to leaves where
/// these suffice for the cluster; else half of them do and the others lead to cores, in as many
/// pods as needed. `cluster` gives the node and the rest of the fabric. Errors FP060: a radix below
/// 2, too few ports for one node, more nodes than two layers of pods can join, or no NICs.
[[nodiscard]] Result<Fabric> clos_of_radix(const Cluster& cluster, int radix);

}  // namespace flowplan::topology
