#include <algorithm>
#include <array>

#include "cluster_data.hpp"
#include "link_list.hpp"

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
  const double leaf_limit = leaf_uplink(cluster.spec(), figures, layout);
  const double pod_limit = pod_uplink(cluster.spec(), figures, layout);
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
  for (std::size_t link = 0; link < data.tier.size(); ++link) {
    TierSummary& tier = all[static_cast<std::size_t>(data.tier[link])];
    ++tier.links;
    tier.capacity += BytesPerSecond(data.network.capacity[link]);
  }
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
