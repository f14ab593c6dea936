#include "switches.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

namespace flowplan::exporting {

namespace {

/// The name, or the name with what tells the layers apart where another switch has it.
std::string unique(const std::string& name, const char* layer, std::set<std::string>& taken) {
  std::string chosen = name;
  for (int i = 0; !taken.insert(chosen).second; ++i)
    chosen = i == 0 ? fmt::format("{}-{}", layer, name) : fmt::format("{}-{}-{}", layer, name, i);
  return chosen;
}

}  // namespace

SwitchLayers switch_layers(const Plan& plan) {
  const topology::ClusterSpec& spec = plan.cluster.spec();
  const topology::Wiring* wiring = spec.wiring.get();
  SwitchLayers layers;
  const auto per_leaf = static_cast<std::uint32_t>(std::max(1, spec.fabric.nodes_per_leaf));
  const auto per_pod = static_cast<std::uint32_t>(std::max(1, spec.fabric.leaves_per_pod));
  for (std::uint32_t node = 0; node < plan.nodes(); ++node)
    layers.leaf_of_node.push_back(wiring != nullptr ? wiring->leaf[node] : node / per_leaf);
  const std::uint32_t leaves =
      1 + *std::max_element(layers.leaf_of_node.begin(), layers.leaf_of_node.end());
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    layers.pod_of_leaf.push_back(wiring != nullptr ? wiring->pod[leaf] : leaf / per_pod);
  const std::uint32_t pods =
      1 + *std::max_element(layers.pod_of_leaf.begin(), layers.pod_of_leaf.end());
  layers.core = pods > 1;

  std::set<std::string> taken;
  for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
    layers.leaf.push_back(
        {unique(wiring != nullptr && leaf < wiring->leaf_name.size() ? wiring->leaf_name[leaf]
                                                                     : fmt::format("leaf{}", leaf),
                "leaf", taken),
         {}});
  for (std::uint32_t node = 0; node < plan.nodes(); ++node)
    layers.leaf[layers.leaf_of_node[node]].member.push_back(node);
  if (leaves > 1) {
    for (std::uint32_t pod = 0; pod < pods; ++pod)
      layers.pod.push_back(
          {unique(wiring != nullptr && pod < wiring->pod_name.size() ? wiring->pod_name[pod]
                                                                     : fmt::format("pod{}", pod),
                  "pod", taken),
           {}});
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf)
      layers.pod[layers.pod_of_leaf[leaf]].member.push_back(leaf);
  }
  if (plan.domains_span_nodes()) {
    const std::uint32_t size = plan.nodes_per_domain();
    for (std::uint32_t first = 0; first < plan.nodes(); first += size) {
      SwitchGroup domain{unique(fmt::format("nvlink{}", first / size), "domain", taken), {}};
      for (std::uint32_t node = first; node < std::min(first + size, plan.nodes()); ++node)
        domain.member.push_back(node);
      layers.domain.push_back(std::move(domain));
    }
  }
  return layers;
}

std::vector<std::string> names_of_nodes(const Plan& plan, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  names.reserve(nodes.size());
  for (const std::uint32_t node : nodes)
    names.push_back(plan.node[node]);
  return names;
}

}  // namespace flowplan::exporting
