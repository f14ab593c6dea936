#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::topology {

/// What the catalog says of one cluster, in the units of the graph.
struct Figures {
  BytesPerSecond nvlink{};  ///< a GPU's port, one direction
  BytesPerSecond nic{};     ///< a NIC group, one direction
  BytesPerSecond pcie{};    ///< any PCIe link of a node, one direction
  BytesPerSecond socket{};  ///< between CPU sockets

  int gpus_per_node = 0;
  int nics_per_node = 0;  ///< NIC groups; 0: the network of this type is unknown
  int gpus_per_pcie_switch = 0;
  int sockets_per_node = 0;
  int domain_gpus = 0;  ///< of one NVLink domain of this cluster
  int nodes_per_leaf = 0;
  int leaves_per_pod = 0;

  Seconds latency[5]{};  ///< of one link, by tier

  std::vector<std::string> assumptions;
};

/// Errors: those of `Cluster::build` but for the number of links.
[[nodiscard]] Result<Figures> read_figures(const ClusterSpec& spec);

}  // namespace flowplan::topology
