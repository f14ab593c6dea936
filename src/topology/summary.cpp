#include <algorithm>
#include <array>

#include "cluster_data.hpp"

namespace flowplan::topology {
namespace {

constexpr std::size_t tiers = 5;

enum class Way { out, in };

/// What GPUs can send (receive) over PCIe, through the NICs, the leaves' and the pods' uplinks,
/// bytes/s.
struct Reach {
  double pcie = 0.0, nics = 0.0, leaves = 0.0, pods = 0.0;
};

/// The uplinks of a switch one way: both are listed in turn, up first.
double uplinks(const Cluster& cluster, const std::vector<flow::LinkId>& links, Way way) {
  double rate = 0.0;
  for (std::size_t i = way == Way::out ? 0 : 1; i < links.size(); i += 2)
    rate += cluster.capacity(links[i]);
  return rate;
}

/// Of the GPUs of that range that take ranks.
Reach reach(const Cluster& cluster, const Layout& layout, const std::vector<std::uint32_t>& gpus,
            Way way) {
  const bool out = way == Way::out;
  const std::vector<std::uint32_t>& pcie = out ? layout.node.pcie_up : layout.node.pcie_down;
  Reach result;
  std::vector<double> at_leaf(layout.leaves, 0.0), at_pod(layout.pods, 0.0);
  for (const std::uint32_t id : gpus) {
    const GpuId gpu{id};
    result.pcie += cluster.capacity(
        flow::LinkId{layout.node_link(layout.node_of(id), pcie[id % layout.node.gpus])});
    at_leaf[cluster.leaf_of(gpu)] +=
        cluster.capacity(out ? cluster.nic_out(gpu) : cluster.nic_in(gpu)) /
        layout.node.gpus_per_nic;
  }
  for (std::uint32_t leaf = 0; leaf < layout.leaves; ++leaf) {
    result.nics += at_leaf[leaf];
    if (!layout.spines) continue;
    const double up = std::min(at_leaf[leaf], uplinks(cluster, cluster.uplinks_of_leaf(leaf), way));
    result.leaves += up;
    at_pod[layout.pod_of_leaf(leaf)] += up;
  }
  for (std::uint32_t pod = 0; layout.cores && pod < layout.pods; ++pod)
    result.pods += std::min(at_pod[pod], uplinks(cluster, cluster.uplinks_of_pod(pod), way));
  return result;
}

/// The cut through the NVLink domain that has least left, bytes/s.
double nvlink_cut(const Cluster& cluster, const Layout& layout, double port) {
  const std::uint32_t half = layout.domain_gpus / 2;
  double least = half * port;
  std::uint32_t last = layout.domains;
  for (const Slowdown& slow : cluster.slowdowns()) {
    if (cluster.tier(slow.link) != Tier::nvlink) continue;
    const auto link = static_cast<std::uint32_t>(slow.link);
    const std::uint32_t gpu =
        link >= layout.plane_links
            ? link - layout.plane_links
            : static_cast<std::uint32_t>(link / layout.node.links.size()) * layout.node.gpus;
    const std::uint32_t domain = gpu / layout.domain_gpus;
    if (domain == last) continue;
    last = domain;
    double out = 0.0, in = 0.0;
    for (std::uint32_t i = 0; i < layout.domain_gpus; ++i) {
      const GpuId at{domain * layout.domain_gpus + i};
      (i < half ? out : in) +=
          cluster.capacity(i < half ? cluster.nvlink_out(at) : cluster.nvlink_in(at));
    }
    least = std::min({least, out, in});
  }
  return least;
}

/// By tier, bytes/s.
std::array<double, tiers> bisections(const Cluster& cluster, const Figures& figures,
                                     const Layout& layout) {
  std::array<double, tiers> cut{};
  const auto at = [&](Tier tier) -> double& { return cut[static_cast<std::size_t>(tier)]; };
  if (layout.nvlink) at(Tier::nvlink) = nvlink_cut(cluster, layout, figures.nvlink.value());
  if (layout.node.nics == 0) return cut;

  std::vector<std::uint32_t> first, second;
  for (std::uint32_t gpu = 0; gpu < layout.gpus; ++gpu)
    if (cluster.takes_ranks(layout.node_of(gpu))) second.push_back(gpu);
  const auto middle = second.begin() + static_cast<std::ptrdiff_t>(second.size() / 2);
  first.assign(second.begin(), middle);
  second.erase(second.begin(), middle);
  const Reach send = reach(cluster, layout, first, Way::out);
  const Reach receive = reach(cluster, layout, second, Way::in);
  at(Tier::pcie) = std::min(send.pcie, receive.pcie);
  at(Tier::efa) = std::min(send.nics, receive.nics);
  at(Tier::leaf_spine) = std::min(send.leaves, receive.leaves);
  at(Tier::spine_core) = std::min(send.pods, receive.pods);
  return cut;
}

/// Links and their capacity, by tier: those of one node times the nodes, then the switches'; less
/// what degraded links have lost.
void count_links(const Cluster& cluster, const Layout& layout,
                 std::array<TierSummary, tiers>& all) {
  const auto add = [&](Tier tier, std::uint64_t links, double capacity) {
    TierSummary& entry = all[static_cast<std::size_t>(tier)];
    entry.links += links;
    entry.capacity += BytesPerSecond(static_cast<double>(links) * capacity);
  };
  const std::uint64_t planes = layout.planes;
  for (const NodeTemplate::Link& link : layout.node.links)
    add(link.tier, layout.nodes, link.capacity);
  if (layout.nvlink) add(Tier::nvlink, layout.gpus, layout.nvlink_rate);
  add(Tier::efa, std::uint64_t{layout.nodes} * layout.node.nics, layout.nic_rate);
  if (layout.spines)
    add(Tier::leaf_spine, 2 * layout.leaves * planes, layout.leaf_uplink / layout.planes);
  if (layout.cores)
    add(Tier::spine_core, 2 * layout.pods * planes, layout.pod_uplink / layout.planes);
  for (const Slowdown& slow : cluster.slowdowns())
    all[static_cast<std::size_t>(cluster.tier(slow.link))].capacity -= BytesPerSecond(
        layout.capacity(static_cast<std::uint32_t>(slow.link)) * (1.0 - slow.factor));
}

}  // namespace

Summary summarise(const Cluster& cluster) {
  const Cluster::Data& data = *cluster.data_;
  const Layout& layout = data.layout;
  Summary summary;
  summary.gpus = layout.gpus;
  summary.nodes = layout.nodes;
  summary.domains = layout.domains;
  summary.leaves = layout.leaves;
  summary.pods = layout.pods;
  summary.vertices = layout.vertices;
  summary.links = layout.links;
  summary.assumptions = data.figures.assumptions;

  std::array<TierSummary, tiers> all{};
  count_links(cluster, layout, all);
  const std::array<double, tiers> cut = bisections(cluster, data.figures, layout);
  for (std::size_t t = 0; t < tiers; ++t) {
    if (all[t].links == 0) continue;
    all[t].tier = static_cast<Tier>(t);
    all[t].bisection = BytesPerSecond(cut[t]);
    if (all[t].tier == Tier::leaf_spine)
      all[t].oversubscription = data.spec.fabric.leaf_oversubscription;
    if (all[t].tier == Tier::spine_core)
      all[t].oversubscription = data.spec.fabric.core_oversubscription;
    summary.tiers.push_back(all[t]);
  }
  return summary;
}

}  // namespace flowplan::topology
