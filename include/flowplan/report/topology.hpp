#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/node_picture.hpp"

namespace flowplan::report {

/// What is shown of a cluster.
struct TopologyView {
  std::string title;  ///< names the cluster
  topology::Summary summary;
  /// The same cluster with leaves of 1:1 and of 2:1; empty where there is one leaf at most.
  std::vector<std::pair<double, topology::Summary>> at;
  const topology::Cluster* cluster = nullptr;  ///< the one that `summary` sums up, degraded or not
  std::vector<std::string> reroutes;           ///< of a degraded one
  std::optional<topology::Summary> built;      ///< as built, of a degraded one
};

/// Counts, capacity and bisection by tier, what is claimed and what is assumed; leaves and nodes of
/// an imported cluster.
[[nodiscard]] Document topology(const TopologyView& view);
[[nodiscard]] std::string topology_json(const TopologyView& view);

/// A node's picture against the catalog.
struct NodeView {
  std::string title;  ///< "node.xml against p5.48xlarge"
  const topology::NodePicture* picture = nullptr;
  std::vector<topology::NodeDifference> differences;
};
[[nodiscard]] Document node_comparison(const NodeView& view);
[[nodiscard]] std::string node_comparison_json(const NodeView& view);

}  // namespace flowplan::report
