#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// Both directions of what is named, for `Cluster::degraded()`. The NICs of one GPU (of all that
/// share them), of all GPUs of a node; a GPU's NVLink port.
[[nodiscard]] std::vector<Slowdown> slow_nic(const Cluster& cluster, GpuId gpu, double factor);
[[nodiscard]] std::vector<Slowdown> slow_node(const Cluster& cluster, std::uint32_t node,
                                              double factor);
[[nodiscard]] std::vector<Slowdown> slow_nvlink(const Cluster& cluster, GpuId gpu, double factor);

/// All links of a GPU: its NVLink port and its PCIe link. One that has failed cuts off whoever
/// needs it.
[[nodiscard]] std::vector<Slowdown> slow_gpu(const Cluster& cluster, GpuId gpu, double factor);

/// GPUs of which every link has failed, as `slow_gpu(cluster, gpu, 0)` makes it: `place()` gives
/// them no rank. In order.
[[nodiscard]] std::vector<GpuId> failed_gpus(const Cluster& cluster);

/// Reads a what-if as people type it, "WHAT:WHERE=FACTOR": factor 0.5 leaves half of the capacity,
/// 0 is a failure, both directions; 0 to 1. Several are joined by commas.
///
///     nic:gpu12=0.5      the NICs of GPU 12 (and of those that share them)
///     nic:node3=0        all NICs of a node
///     nvlink:gpu12=0.5   a GPU's port to its NVLink switch
///     pcie:gpu12=0.5     the PCIe links of a GPU and of its NICs to their switch
///     gpu:gpu12=0        a GPU: its NVLink port and its PCIe link
///     node:node3=0       a node: all its GPUs and NICs
///     uplink:leaf5=0.5   a leaf's links to its spines
///     uplink:pod1=0.5    a pod's links to the core
///     leaf:leaf5=0       a leaf: its links to the nodes below and its uplinks
///     link:node0.nic0->leaf0=0.5   one link, this direction only, as reports name it
///
/// In an imported cluster nodes, leaves and pods go by their own names too. Errors: FP090 for what
/// cannot be read and for a factor outside 0 to 1, FP060 for a part that the cluster does not have,
/// with the nearest name.
[[nodiscard]] Result<std::vector<Slowdown>> parse_degradation(const Cluster& cluster,
                                                              std::string_view text);

/// GPUs that leave their node by others' NICs because their own have failed, a sentence each.
[[nodiscard]] std::vector<std::string> rerouted_gpus(const Cluster& cluster);

/// How traffic finds its way in a degraded cluster, a sentence for each kind of trouble: which GPUs
/// leave their node by others' NICs, which are cut off and by which link, and which links are only
/// slower, which nothing goes round. At most `most` of each kind are named, the rest counted. Empty
/// as built.
[[nodiscard]] std::vector<std::string> describe_reroutes(const Cluster& cluster,
                                                         std::size_t most = 8);

}  // namespace flowplan::topology
