#pragma once

#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::exporting {

/// A picture of a cluster in Graphviz' DOT language, nodes left, core right. Neighbours that are
/// alike become one box with their number ("x16"); degraded ones are drawn apart. Up to 18 nodes
/// are drawn one by one; one node, and an inset for larger clusters, shows GPUs, NVLink switch,
/// PCIe switches and NIC groups. Edges carry one direction's rate; a legend says so. `title` names
/// the cluster.
[[nodiscard]] std::string topology_dot(const topology::Cluster& cluster, const std::string& title);

/// The same as SVG, laid out by Graphviz inside the program. Calls wait for each other: Graphviz
/// has state of its own. Errors FP073 in a build without Graphviz, and FP002 when it fails.
[[nodiscard]] Result<std::string> topology_svg(const topology::Cluster& cluster,
                                               const std::string& title);

/// True in a build with Graphviz.
[[nodiscard]] bool has_graphviz();

/// Every vertex and every link of a cluster as GraphML, for other tools: vertices with `name` and
/// `kind`, edges with `name`, `tier`, `capacity_bytes_per_s` (one direction, as degraded) and
/// `latency_s`. Error FP060 for more than a million links.
[[nodiscard]] Result<std::string> topology_graphml(const topology::Cluster& cluster);

}  // namespace flowplan::exporting
