#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/export/plan.hpp"

namespace flowplan::exporting {

/// A switch, or an NVLink domain, with what is below it.
struct SwitchGroup {
  std::string name;
  std::vector<std::uint32_t> member;  ///< nodes of a leaf or domain, leaves of a pod
};

/// The switches above the nodes, with names that are unique over all layers. The rails of a
/// rail-optimised block act as one leaf: a scheduler gives out whole nodes.
struct SwitchLayers {
  std::vector<SwitchGroup> domain;  ///< empty where NVLink domains are single nodes
  std::vector<SwitchGroup> leaf;
  std::vector<SwitchGroup> pod;  ///< empty below one leaf
  bool core = false;             ///< more than one pod

  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const { return leaf_of_node[node]; }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t node) const {
    return pod_of_leaf[leaf_of_node[node]];
  }
  std::vector<std::uint32_t> leaf_of_node, pod_of_leaf;
};

[[nodiscard]] SwitchLayers switch_layers(const Plan& plan);

/// Names of nodes.
[[nodiscard]] std::vector<std::string> names_of_nodes(const Plan& plan,
                                                      const std::vector<std::uint32_t>& nodes);

}  // namespace flowplan::exporting
