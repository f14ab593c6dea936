#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/import.hpp"

namespace flowplan::topology {

/// How two devices of a node reach each other, near to far, as NCCL and nvidia-smi call it.
enum class PathType { loc, nvl, pix, pxb, phb, node, sys };
[[nodiscard]] std::string_view name(PathType type);  ///< "PIX"

/// A GPU or a NIC as a file of the node shows it.
struct Device {
  std::string name;            ///< "GPU0", "rdmap84s0"
  int numa = -1;               ///< -1: not said
  double pcie_gt_per_s = 0.0;  ///< of its PCIe link, 10^9 transfers/s a lane; 0: not said
  int pcie_lanes = 0;
  double gbps = 0.0;  ///< of a NIC, 10^9 bit/s; 0: not said
  int nvlinks = 0;    ///< of a GPU
  Place place;
};

/// The inside of a node: NCCL's topology XML, or the matrix of `nvidia-smi topo -m`.
struct NodePicture {
  ImportFormat format{};
  std::vector<Device> gpus, nics;
  std::vector<std::vector<PathType>> to_nic;  ///< by GPU, then NIC: over PCIe
  std::vector<std::vector<bool>> nvlink;      ///< by GPU, then GPU: joined by NVLink
};

/// Errors, with their lines: FP060 for a text that is not well-formed, a device twice, a matrix
/// that contradicts itself or has a cell that is no path, no GPU; FP021 and FP023 for attributes
/// that are missing or no number; FP016 for a file that describes a cluster or nothing known.
[[nodiscard]] Result<NodePicture> read_node(const std::string& text, const std::string& file,
                                            std::optional<ImportFormat> format = {});

/// One way in which a node is not as the catalog describes its type.
struct NodeDifference {
  std::string what;      ///< "NICs"
  std::string expected;  ///< "32"
  std::string found;     ///< "31"
  std::string effect;    ///< what it costs, in a sentence
  std::string degrade;   ///< the `--degrade` spec that predicts it in node 0; empty: none
};

/// Compares with a cluster's node: number of GPUs and NICs, their rates, NICs near each GPU, NVLink
/// between all GPUs and equally many links, an even split over NUMA nodes, PCIe rates. What neither
/// the file nor the catalog says is not compared. Empty: nothing differs.
[[nodiscard]] std::vector<NodeDifference> compare_node(const NodePicture& picture,
                                                       const Cluster& cluster);

}  // namespace flowplan::topology
