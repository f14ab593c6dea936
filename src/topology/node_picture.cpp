#include "flowplan/topology/node_picture.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "flowplan/catalog/constants.hpp"
#include "node_readers.hpp"

namespace flowplan::topology {
namespace {

constexpr double first_pcie_gt_per_s = 8.0;  // generation 3, which the catalog's table begins with
constexpr double rate_tolerance = 0.01;

bool is_near(PathType path) {
  return path == PathType::pix || path == PathType::pxb;
}

std::string joined_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

/// One node of a cluster as numbers.
struct Expected {
  std::size_t gpus = 0, nics = 0, near_nics = 0, sockets = 0;
  double gbps = 0.0;
  double pcie = 0.0;  ///< bytes/s
};

Expected expected_of(const Cluster& cluster) {
  Expected result;
  result.gpus = cluster.gpus_per_node();
  const catalog::Instance& instance = *cluster.spec().instance;
  if (!cluster.has_nics()) return result;
  if (instance.efa_interfaces.known) {
    result.nics = static_cast<std::size_t>(instance.efa_interfaces.value);
    std::set<flow::LinkId> groups;
    for (std::uint32_t gpu = 0; gpu < cluster.gpus_per_node(); ++gpu)
      groups.insert(cluster.nic_out(GpuId{gpu}));
    result.near_nics = result.nics / groups.size();
  }
  result.gbps = instance.efa_gbps_total.value / instance.instances;
  std::vector<flow::LinkId> links;
  cluster.exit_route(GpuId{0}, links);
  result.pcie = cluster.capacity(links.front());
  const std::uint32_t vertices_of_node = cluster.nodes() > 1
                                             ? index(cluster.vertex(GpuId{cluster.gpus_per_node()}))
                                             : cluster.vertices();
  for (std::uint32_t id = 0; id < vertices_of_node; ++id)
    if (cluster.kind(VertexId{id}) == VertexKind::cpu_socket) ++result.sockets;
  return result;
}

class NodeComparison {
 public:
  NodeComparison(const NodePicture& picture, const Cluster& cluster)
      : picture_(picture), cluster_(cluster), expected_(expected_of(cluster)) {}

  std::vector<NodeDifference> compare() {
    if (picture_.gpus.size() != expected_.gpus)
      add({"GPUs", fmt::format("{}", expected_.gpus), fmt::format("{}", picture_.gpus.size()),
           "another type of node, or GPUs that the driver has lost", ""});
    compare_nvlink();
    compare_nics();
    compare_numa();
    for (const Device& gpu : picture_.gpus)
      compare_pcie(gpu, expected_.pcie, "its NICs are faster than its PCIe link");
    for (const Device& nic : picture_.nics)
      compare_pcie(nic, nic.gbps * 1e9 / 8.0, "the NIC is faster than its PCIe link");
    return std::move(differences_);
  }

 private:
  void add(NodeDifference difference) { differences_.push_back(std::move(difference)); }

  void compare_nvlink() {
    if (cluster_.gpus_per_domain() < 2) return;
    int most = 0;
    std::vector<std::string> apart;
    for (std::size_t a = 0; a < picture_.gpus.size(); ++a) {
      most = std::max(most, picture_.gpus[a].nvlinks);
      for (std::size_t b = a + 1; b < picture_.gpus.size(); ++b)
        if (!picture_.nvlink[a][b])
          apart.push_back(picture_.gpus[a].name + "-" + picture_.gpus[b].name);
    }
    if (!apart.empty())
      add({"NVLink", "between all GPUs", "not between " + joined_names(apart),
           "NCCL goes over PCIe or the NICs there", ""});
    for (const Device& gpu : picture_.gpus)
      if (gpu.nvlinks < most)
        add({fmt::format("NVLinks of {}", gpu.name), fmt::format("{}", most),
             fmt::format("{}", gpu.nvlinks), "its NVLink port is slower than the others'",
             degradation("nvlink", gpu, static_cast<double>(gpu.nvlinks) / most)});
  }

  void compare_nics() {
    // nvidia-smi leaves NICs out where it sees none; NCCL without its plugin does too.
    if (expected_.nics > 0 && picture_.nics.size() != expected_.nics)
      add({"NICs", fmt::format("{}", expected_.nics), fmt::format("{}", picture_.nics.size()),
           picture_.nics.size() < expected_.nics ? missing_share() : "more than the type has", ""});
    double gbps = 0.0;
    for (const Device& nic : picture_.nics)
      gbps += nic.gbps;
    if (gbps > 0.0 && std::abs(gbps - expected_.gbps) > rate_tolerance * expected_.gbps)
      add({"NICs together, Gbps", fmt::format("{:g}", expected_.gbps), fmt::format("{:g}", gbps),
           gbps < expected_.gbps ? missing_share() : "more than the type is sold with", ""});
    if (picture_.nics.empty() || expected_.near_nics == 0) return;
    for (std::size_t g = 0; g < picture_.gpus.size(); ++g)
      compare_near(g);
  }

  static std::string missing_share() { return "traffic between nodes has that much less"; }

  void compare_near(std::size_t gpu) {
    const std::vector<PathType>& paths = picture_.to_nic[gpu];
    const auto near = static_cast<std::size_t>(std::count_if(paths.begin(), paths.end(), is_near));
    if (near >= expected_.near_nics) return;
    const PathType best = *std::min_element(paths.begin(), paths.end());
    const bool none = near == 0;
    add({fmt::format("NICs below the PCIe switch of {}", picture_.gpus[gpu].name),
         fmt::format("{}", expected_.near_nics),
         none ? fmt::format("0 (the nearest is {})", name(best)) : fmt::format("{}", near),
         none ? "no GPUDirect RDMA along a short path: traffic crosses the CPU"
              : "less of the network at this GPU",
         degradation("nic", picture_.gpus[gpu],
                     static_cast<double>(near) / static_cast<double>(expected_.near_nics))});
  }

  void compare_numa() {
    std::map<int, std::size_t> on;
    for (const Device& gpu : picture_.gpus)
      if (gpu.numa >= 0) ++on[gpu.numa];
    if (on.empty() || expected_.sockets == 0 || picture_.gpus.size() != expected_.gpus) return;
    const std::size_t each = expected_.gpus / expected_.sockets;
    std::string found;
    bool even = on.size() == expected_.sockets;
    for (const auto& [numa, gpus] : on) {
      even = even && gpus == each;
      found += fmt::format("{}{} on {}", found.empty() ? "" : ", ", gpus, numa);
    }
    if (!even)
      add({"GPUs on NUMA nodes", fmt::format("{} on each of {}", each, expected_.sockets), found,
           "host threads may run far from their GPU", ""});
  }

  /// `needed` in bytes/s.
  void compare_pcie(const Device& device, double needed, const char* effect) {
    if (device.pcie_gt_per_s <= 0.0 || device.pcie_lanes <= 0 || needed <= 0.0) return;
    const auto table = cluster_.spec().defaults->table("pcie.x16_gbytes_per_s");
    const double generation = std::log2(device.pcie_gt_per_s / first_pcie_gt_per_s);
    double x16 = table.front() * device.pcie_gt_per_s / first_pcie_gt_per_s;
    if (generation >= 0.0 && std::round(generation) < static_cast<double>(table.size()))
      x16 = table[static_cast<std::size_t>(std::round(generation))];
    const double rate = x16 * 1e9 * device.pcie_lanes / 16.0;
    if (rate >= needed * (1.0 - rate_tolerance)) return;
    add({fmt::format("PCIe of {}, GB/s one way", device.name), fmt::format("{:.3g}", needed / 1e9),
         fmt::format("{:.3g} ({:g} GT/s x{})", rate / 1e9, device.pcie_gt_per_s, device.pcie_lanes),
         effect, degradation("pcie", device, rate / needed)});
  }

  [[nodiscard]] std::string degradation(const char* what, const Device& device,
                                        double factor) const {
    if (!device.name.starts_with("GPU")) return {};
    return fmt::format("{}:gpu{}={:.3g}", what, device.name.substr(3), factor);
  }

  const NodePicture& picture_;
  const Cluster& cluster_;
  Expected expected_;
  std::vector<NodeDifference> differences_;
};

}  // namespace

std::string_view name(PathType type) {
  constexpr std::array<std::string_view, 7> names{"X", "NVL", "PIX", "PXB", "PHB", "NODE", "SYS"};
  return names.at(static_cast<std::size_t>(type));
}

Result<NodePicture> read_node(const std::string& text, const std::string& file,
                              std::optional<ImportFormat> format) {
  if (!format) format = recognise(text);
  if (format == ImportFormat::nccl_xml) return read_nccl_xml(text, file);
  if (format == ImportFormat::nvidia_smi) return read_nvidia_smi(text, file);
  return fail(error(Code::wrong_kind_of_file, in_file(file),
                    "this does not describe the inside of a node",
                    "NCCL's topology XML and the answer of `nvidia-smi topo -m` do"));
}

std::vector<NodeDifference> compare_node(const NodePicture& picture, const Cluster& cluster) {
  return NodeComparison(picture, cluster).compare();
}

}  // namespace flowplan::topology
