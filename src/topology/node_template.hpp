#pragma once

#include <cstdint>
#include <vector>

#include "figures.hpp"

namespace flowplan::topology {

/// The inside of one node, stamped once for every node of a cluster. Vertices are numbered GPUs,
/// PCIe switches, CPU sockets, NIC groups; links are in order of their sources, so that a node's
/// links are consecutive in the graph too.
struct NodeTemplate {
  enum class End : std::uint8_t { inside, nvswitch_plane, leaf };
  struct Link {
    std::uint32_t from = 0;
    std::uint32_t to = 0;  ///< when the end is inside
    End end = End::inside;
    Tier tier{};
    double capacity = 0.0;
  };

  std::uint32_t gpus = 0, switches = 0, sockets = 0, nics = 0;
  std::uint32_t gpus_per_nic = 0;
  std::vector<Link> links;

  /// Positions in `links`, by GPU.
  std::vector<std::uint32_t> nvlink_out, pcie_up, pcie_down;
  /// By NIC group: from the PCIe switch, to the leaf, back to the PCIe switch.
  std::vector<std::uint32_t> nic_up, nic_out, nic_down;

  [[nodiscard]] std::uint32_t vertices() const { return gpus + switches + sockets + nics; }
  [[nodiscard]] std::uint32_t first_switch() const { return gpus; }
  [[nodiscard]] std::uint32_t first_socket() const { return gpus + switches; }
  [[nodiscard]] std::uint32_t first_nic() const { return gpus + switches + sockets; }
};

[[nodiscard]] NodeTemplate make_node(const Figures& figures);

}  // namespace flowplan::topology
