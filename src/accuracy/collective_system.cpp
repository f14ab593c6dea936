#include "collective_system.hpp"

#include <array>
#include <optional>

namespace flowplan::accuracy {
namespace {

struct Known {
  std::string_view system;    ///< how the rows' system begins
  std::string_view instance;  ///< catalog id; empty: not predictable
  std::string_view reason;
  std::string_view profile = {};  ///< its own; empty: the instance's
};

constexpr std::string_view own_gpu = "of the row's GPU";

constexpr std::array known_systems{
    Known{"p4d(n).24xlarge", "p4d.24xlarge", ""},
    Known{"p4de.24xlarge", "p4de.24xlarge", ""},
    Known{"p5.48xlarge", "p5.48xlarge", ""},
    Known{"p5en.48xlarge", "p5en.48xlarge", ""},
    Known{"p6-b200.48xlarge", "p6-b200.48xlarge", ""},
    Known{"p6-b300.48xlarge", "p6-b300.48xlarge", ""},
    Known{"1 node,", own_gpu, ""},
    Known{"8x A100 node", own_gpu, ""},
    Known{"8x H100", own_gpu, ""},
    Known{"8x H200 node", own_gpu, ""},
    Known{"8x H800 node", own_gpu, ""},
    Known{"8x B200 node", own_gpu, ""},
    Known{"8-GPU node", own_gpu, ""},
    Known{"Azure ND_A100_v4", "azure-nd-a100-v4", ""},
    Known{"Azure ND_", own_gpu, ""},
    Known{"Voltage Park bare metal", own_gpu, ""},
    Known{"32-node H100 cluster", own_gpu, ""},
    Known{"OCI BM.GPU4.8", "a100-roce-40gb", "", "collectives-roce-a100"},
    Known{"CoreWeave GB200 NVL72 (1 rack)", own_gpu, ""},
    Known{"GB200 NVL72 subset", own_gpu, ""},
    Known{"GB200: 3 NVL partitions", own_gpu, ""},
    Known{"CoreWeave H100 + IB SHARP", own_gpu, ""},
    Known{"2x 8-GPU H100 nodes (EFA)", "p5.48xlarge", ""},
    Known{"2x 8-GPU H200 nodes (EFA)", "p5en.48xlarge", ""},
    Known{"2x 8-GPU H200 nodes (IB)", own_gpu, ""},
    Known{"GB200 NVL4 node", own_gpu, ""},
    Known{"GB200", own_gpu, ""},
    Known{"2 nodes x 1 H100; 4 NICs", "", "not in the catalog: a node of one GPU with four NICs"},
    Known{"GCP A3 Mega", "", "fabric unknown: GCP A3 Mega"},
    Known{"Isambard-AI", "", "fabric unknown: GH200 over Slingshot"},
};

struct OfGpu {
  std::string_view gpu, instance;
};
constexpr std::array by_gpu{
    OfGpu{"A100-80GB", "dgx-a100"}, OfGpu{"A100", "dgx-a100"},  OfGpu{"H100", "dgx-h100"},
    OfGpu{"H200", "hgx-h200"},      OfGpu{"H800", "h800-node"}, OfGpu{"GB200", "gb200-nvl72"},
    OfGpu{"B200", "dgx-b200"},
};

std::string_view instance_of_gpu(std::string_view gpu) {
  gpu = gpu.substr(0, gpu.find(' '));  // "H100 (inferred)"
  for (const OfGpu& entry : by_gpu) {
    if (entry.gpu == gpu) return entry.instance;
  }
  return {};
}

constexpr std::string_view rack = "gb200-nvl72";
constexpr std::string_view partitions = "GB200: 3 NVL partitions";
constexpr int racks_of_partitions = 3;

}  // namespace

CollectiveSystem collective_system(std::string_view system, std::string_view gpu, int nodes,
                                   int gpus) {
  CollectiveSystem out;
  out.skipped = "system unknown: " + std::string(system);
  for (const Known& known : known_systems) {
    if (!system.starts_with(known.system)) continue;
    out.instance = known.instance == own_gpu ? instance_of_gpu(gpu) : known.instance;
    out.profile = known.profile;
    out.skipped = known.reason;
    if (out.instance.empty() && out.skipped.empty()) {
      out.skipped = "no reference system for GPU " + std::string(gpu);
    }
    break;
  }
  if (out.instance.empty()) return out;

  // Racks are one NVLink domain whatever number of nodes the row counts.
  out.units = out.instance != rack             ? nodes
              : system.starts_with(partitions) ? racks_of_partitions
                                               : 1;
  if (out.units < 1 || gpus % out.units != 0) {
    out.skipped = "GPUs do not divide evenly among the nodes";
    out.instance.clear();
    return out;
  }
  out.per_unit = gpus / out.units;
  return out;
}

}  // namespace flowplan::accuracy
