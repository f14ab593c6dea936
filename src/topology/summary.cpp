#include <algorithm>
#include <array>

#include "cluster_data.hpp"

namespace flowplan::topology {
namespace {

constexpr std::size_t tiers = 5;

/// What the first `gpus` GPUs can send through the NICs, the leaves' and the pods' uplinks,
/// bytes/s.
struct Reach {
  double nics = 0.0, leaves = 0.0, pods = 0.0;
};

Reach reach(const Cluster& cluster, const Figures& figures, const Layout& layout,
            std::uint32_t gpus) {
  const double per_gpu = figures.nic.value() / layout.node.gpus_per_nic;
  const double leaf_limit = layout.leaf_uplink;
  const double pod_limit = layout.pod_uplink;
  std::vector<double> at_leaf(layout.leaves, 0.0), at_pod(layout.pods, 0.0);
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
    at_leaf[cluster.leaf_of(GpuId{gpu})] += per_gpu;

  Reach result;
  for (std::uint32_t leaf = 0; leaf < layout.leaves; ++leaf) {
    const double up = std::min(at_leaf[leaf], leaf_limit);
    result.nics += at_leaf[leaf];
    result.leaves += up;
    at_pod[layout.pod_of_leaf(leaf)] += up;
  }
  for (double pod : at_pod)
    result.pods += std::min(pod, pod_limit);
  return result;
}

/// By tier, bytes/s.
std::array<double, tiers> bisections(const Cluster& cluster, const Figures& figures,
                                     const Layout& layout) {
  std::array<double, tiers> cut{};
  const auto at = [&](Tier tier) -> double& { return cut[static_cast<std::size_t>(tier)]; };
  const std::uint32_t half = layout.gpus / 2;
  at(Tier::nvlink) = layout.domain_gpus / 2 * figures.nvlink.value();
  if (layout.node.nics == 0) return cut;
  at(Tier::pcie) = half * figures.pcie.value();

  const Reach first = reach(cluster, figures, layout, half);
  at(Tier::efa) = first.nics;
  at(Tier::leaf_spine) = first.leaves;
  at(Tier::spine_core) = first.pods;
  return cut;
}

/// Links and their capacity, by tier: those of one node times the nodes, then the switches'.
void count_links(const Layout& layout, std::array<TierSummary, tiers>& all) {
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
  count_links(layout, all);
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
