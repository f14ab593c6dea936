#pragma once

#include <cstdint>

#include "figures.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/flow/flow_set.hpp"
#include "grouping.hpp"
#include "node_template.hpp"

namespace flowplan::topology {

/// How many of each part a cluster has and which id each part and link gets, by arithmetic alone.
///
/// Vertices: nodes, NVLink switch planes, leaves, spines, cores. Links are numbered by their
/// source: all links out of vertex 0, then those out of vertex 1, and so on; that is the order of a
/// compressed graph, so its edge indices are these ids.
///
/// A block is the nodes below one leaf, or below one set of rail leaves. Every leaf has one uplink
/// to each of the `planes` spines of its pod, and every spine one to the core of its plane: one
/// pooled plane under `spray`, parallel ones under `ecmp`.
class Layout {
 public:
  /// Error FP060 for more links than `max_links`.
  [[nodiscard]] static Result<Layout> make(const ClusterSpec& spec, const Figures& figures);

  static constexpr std::uint64_t max_links = std::uint64_t{1} << 27;

  NodeTemplate node;
  std::uint32_t nodes = 0, gpus = 0;
  std::uint32_t domain_gpus = 1, domains = 0;
  bool nvlink = false;

  std::uint32_t rails = 1;  ///< leaves of a block
  Grouping in_block;        ///< of nodes into blocks
  Grouping in_pod;          ///< of blocks into pods
  std::uint32_t blocks = 0, leaves = 0, pods = 0;
  std::uint32_t planes = 1;
  bool spines = false, cores = false;  ///< more than one leaf; more than one pod

  std::uint32_t first_plane = 0, first_leaf = 0, first_spine = 0, first_core = 0, vertices = 0;
  std::uint32_t plane_links = 0, leaf_links = 0, spine_links = 0, core_links = 0, links = 0;

  double nvlink_rate = 0.0, nic_rate = 0.0;    ///< bytes/s of one link, one direction
  double leaf_uplink = 0.0, pod_uplink = 0.0;  ///< of one whole leaf or pod, over all planes

  // Where a GPU stands.
  [[nodiscard]] std::uint32_t node_of(std::uint32_t gpu) const { return gpu / node.gpus; }
  [[nodiscard]] std::uint32_t nic_of(std::uint32_t gpu) const {
    return gpu % node.gpus / node.gpus_per_nic;
  }
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t at_node, std::uint32_t nic) const {
    return in_block.of(at_node) * rails + (rails > 1 ? nic : 0);
  }
  [[nodiscard]] std::uint32_t pod_of_leaf(std::uint32_t leaf) const {
    return in_pod.of(leaf / rails);
  }
  [[nodiscard]] std::uint32_t leaves_in_pod(std::uint32_t pod) const {
    return in_pod.size(pod) * rails;
  }
  /// Of a leaf within its pod.
  [[nodiscard]] std::uint32_t port_of_leaf(std::uint32_t leaf) const {
    return in_pod.position(leaf / rails) * rails + leaf % rails;
  }

  // Vertices.
  [[nodiscard]] std::uint32_t gpu_vertex(std::uint32_t gpu) const {
    return gpu / node.gpus * node.vertices() + gpu % node.gpus;
  }
  [[nodiscard]] std::uint32_t spine(std::uint32_t pod, std::uint32_t plane) const {
    return first_spine + pod * planes + plane;
  }

  // Links.
  [[nodiscard]] std::uint32_t node_link(std::uint32_t of_node, std::uint32_t position) const {
    return of_node * static_cast<std::uint32_t>(node.links.size()) + position;
  }
  [[nodiscard]] std::uint32_t nvlink_in(std::uint32_t gpu) const { return plane_links + gpu; }
  [[nodiscard]] std::uint32_t nic_in(std::uint32_t of_node, std::uint32_t nic) const;
  [[nodiscard]] std::uint32_t leaf_up(std::uint32_t leaf, std::uint32_t plane) const;
  [[nodiscard]] std::uint32_t leaf_down(std::uint32_t leaf, std::uint32_t plane) const;
  [[nodiscard]] std::uint32_t spine_up(std::uint32_t pod, std::uint32_t plane) const;
  [[nodiscard]] std::uint32_t core_down(std::uint32_t pod, std::uint32_t plane) const;

  [[nodiscard]] std::uint32_t nics_per_rail() const { return node.nics / rails; }

  // The other way: what a link is.
  struct Ends {
    std::uint32_t from = 0, to = 0;  ///< vertices
  };
  [[nodiscard]] Ends ends(std::uint32_t link) const;
  [[nodiscard]] Tier tier(std::uint32_t link) const {
    if (link < plane_links) return node.links[link % node.links.size()].tier;
    if (link < leaf_links) return Tier::nvlink;
    if (link >= core_links) return Tier::spine_core;
    return switch_tier(link);
  }
  [[nodiscard]] double capacity(std::uint32_t link) const;  ///< bytes/s

 private:
  /// A link out of a leaf or a spine.
  struct SwitchLink {
    std::uint32_t of = 0;     ///< leaf; pod
    std::uint32_t plane = 0;  ///< of a spine, or of a leaf's uplink
    std::uint32_t port = 0;   ///< of the links downwards
    bool up = false;
  };
  [[nodiscard]] SwitchLink leaf_link(std::uint32_t link) const;
  [[nodiscard]] SwitchLink spine_link(std::uint32_t link) const;
  [[nodiscard]] Tier switch_tier(std::uint32_t link) const;
  [[nodiscard]] Ends node_ends(std::uint32_t link) const;
  [[nodiscard]] Ends leaf_ends(std::uint32_t link) const;
  [[nodiscard]] Ends spine_ends(std::uint32_t link) const;
  [[nodiscard]] std::uint32_t first_link_of_block(std::uint32_t block) const;
  [[nodiscard]] std::uint32_t first_link_of_leaf(std::uint32_t leaf) const;
  [[nodiscard]] std::uint32_t first_link_of_pod(std::uint32_t pod) const;
  [[nodiscard]] std::uint32_t first_link_of_spine(std::uint32_t pod, std::uint32_t plane) const;
};

}  // namespace flowplan::topology
