#include <array>

#include <fmt/format.h>

#include "cluster_data.hpp"
#include "flowplan/base/assert.hpp"

namespace flowplan::topology {

std::string_view name(Tier tier) {
  constexpr std::array<std::string_view, 5> names{"nvlink", "pcie", "efa", "leaf_spine",
                                                  "spine_core"};
  return names.at(static_cast<std::size_t>(tier));
}

std::string_view name(VertexKind kind) {
  constexpr std::array<std::string_view, 8> names{
      "gpu", "pcie_switch", "cpu_socket", "nic_group", "nvswitch_plane", "leaf", "spine", "core"};
  return names.at(static_cast<std::size_t>(kind));
}

std::string_view name(Routing routing) {
  return routing == Routing::spray ? "spray" : "ecmp";
}

std::uint32_t Cluster::vertices() const {
  return data_->layout.vertices;
}

VertexId Cluster::vertex(GpuId gpu) const {
  return VertexId{data_->layout.gpu_vertex(index(gpu))};
}

VertexKind Cluster::kind(VertexId vertex) const {
  const Layout& layout = data_->layout;
  const NodeTemplate& node = layout.node;
  const std::uint32_t id = index(vertex);
  FLOWPLAN_ASSERT(id < layout.vertices);
  if (id >= layout.first_core) return VertexKind::core;
  if (id >= layout.first_spine) return VertexKind::spine;
  if (id >= layout.first_leaf) return VertexKind::leaf;
  if (id >= layout.first_plane) return VertexKind::nvswitch_plane;
  const std::uint32_t local = id % node.vertices();
  if (local >= node.first_nic()) return VertexKind::nic_group;
  if (local >= node.first_socket()) return VertexKind::cpu_socket;
  if (local >= node.first_switch()) return VertexKind::pcie_switch;
  return VertexKind::gpu;
}

std::string Cluster::vertex_name(VertexId vertex) const {
  const Layout& layout = data_->layout;
  const NodeTemplate& node = layout.node;
  const std::uint32_t id = index(vertex);
  const std::uint32_t of_node = id / node.vertices(), local = id % node.vertices();
  // Parallel switches carry their number behind the name of what they are parallel parts of.
  const auto parallel = [](const std::string& whole, const char* part, std::uint32_t position,
                           std::uint32_t parts) {
    return parts > 1 ? fmt::format("{}.{}{}", whole, part, position) : whole;
  };
  const auto inside = [&](const char* what, std::uint32_t first) {
    return fmt::format("{}.{}{}", node_name(of_node), what, local - first);
  };
  const Wiring* wiring = data_->spec.wiring.get();
  switch (kind(vertex)) {
    case VertexKind::gpu:
      return fmt::format("gpu{}", of_node * node.gpus + local);
    case VertexKind::pcie_switch:
      return inside("pcie", node.first_switch());
    case VertexKind::cpu_socket:
      return inside("cpu", node.first_socket());
    case VertexKind::nic_group:
      return inside("nic", node.first_nic());
    case VertexKind::nvswitch_plane:
      return fmt::format("nvswitch{}", id - layout.first_plane);
    case VertexKind::leaf: {
      const std::uint32_t leaf = id - layout.first_leaf;
      const std::uint32_t block = leaf / layout.rails;
      return parallel(wiring ? wiring->leaf_name[block] : fmt::format("leaf{}", block), "rail",
                      leaf % layout.rails, layout.rails);
    }
    case VertexKind::spine: {
      const std::uint32_t spine = id - layout.first_spine;
      const std::uint32_t pod = spine / layout.planes;
      return parallel(wiring ? wiring->pod_name[pod] : fmt::format("spine{}", pod), "plane",
                      spine % layout.planes, layout.planes);
    }
    case VertexKind::core:
      return parallel("core0", "plane", id - layout.first_core, layout.planes);
  }
  return {};
}

std::optional<VertexId> Cluster::find_vertex(std::string_view name) const {
  for (std::uint32_t id = 0; id < vertices(); ++id)
    if (vertex_name(VertexId{id}) == name) return VertexId{id};
  return std::nullopt;
}

std::string Cluster::link_name(flow::LinkId link) const {
  return vertex_name(source(link)) + "->" + vertex_name(target(link));
}

}  // namespace flowplan::topology
