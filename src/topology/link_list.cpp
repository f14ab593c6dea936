#include "link_list.hpp"

#include "flowplan/base/assert.hpp"

namespace flowplan::topology {
namespace {

void add_nodes(const Layout& layout, LinkList& list) {
  const NodeTemplate& node = layout.node;
  for (std::uint32_t n = 0; n < layout.nodes; ++n) {
    const std::uint32_t base = n * node.vertices();
    const std::uint32_t plane = layout.first_plane + n * node.gpus / layout.domain_gpus;
    for (const NodeTemplate::Link& link : node.links) {
      std::uint32_t to = base + link.to;
      if (link.end == NodeTemplate::End::nvswitch_plane) to = plane;
      if (link.end == NodeTemplate::End::leaf)
        to = layout.first_leaf + layout.leaf_of(n, link.from - node.first_nic());
      list.add(base + link.from, to, link.tier, link.capacity);
    }
  }
}

void add_nvswitch_planes(const Figures& figures, const Layout& layout, LinkList& list) {
  if (!layout.nvlink) return;
  for (std::uint32_t gpu = 0; gpu < layout.gpus; ++gpu)
    list.add(layout.first_plane + gpu / layout.domain_gpus, layout.gpu_vertex(gpu), Tier::nvlink,
             figures.nvlink.value());
}

void add_leaf(const Figures& figures, const Layout& layout, std::uint32_t block, std::uint32_t rail,
              double uplink, LinkList& list) {
  const NodeTemplate& node = layout.node;
  const std::uint32_t leaf = block * layout.rails + rail;
  const std::uint32_t vertex = layout.first_leaf + leaf;
  const std::uint32_t first = block * layout.nodes_per_leaf;
  for (std::uint32_t n = first; n < first + layout.nodes_in_block(block); ++n)
    for (std::uint32_t nic = rail; nic < rail + layout.nics_per_rail(); ++nic)
      list.add(vertex, n * node.vertices() + node.first_nic() + nic, Tier::efa,
               figures.nic.value());
  if (!layout.spines) return;
  for (std::uint32_t plane = 0; plane < layout.planes; ++plane)
    list.add(vertex, layout.spine(layout.pod_of_leaf(leaf), plane), Tier::leaf_spine, uplink);
}

void add_leaves(const Figures& figures, const Layout& layout, double uplink, LinkList& list) {
  for (std::uint32_t block = 0; block < layout.blocks; ++block)
    for (std::uint32_t rail = 0; rail < layout.rails; ++rail)
      add_leaf(figures, layout, block, rail, uplink, list);
}

void add_spines(const Layout& layout, double downlink, double uplink, LinkList& list) {
  if (!layout.spines) return;
  for (std::uint32_t pod = 0; pod < layout.pods; ++pod)
    for (std::uint32_t plane = 0; plane < layout.planes; ++plane) {
      const std::uint32_t vertex = layout.spine(pod, plane);
      const std::uint32_t first = layout.first_leaf + pod * layout.blocks_per_pod * layout.rails;
      for (std::uint32_t leaf = first; leaf < first + layout.leaves_in_pod(pod); ++leaf)
        list.add(vertex, leaf, Tier::leaf_spine, downlink);
      if (layout.cores) list.add(vertex, layout.first_core + plane, Tier::spine_core, uplink);
    }
}

void add_cores(const Layout& layout, double downlink, LinkList& list) {
  if (!layout.cores) return;
  for (std::uint32_t plane = 0; plane < layout.planes; ++plane)
    for (std::uint32_t pod = 0; pod < layout.pods; ++pod)
      list.add(layout.first_core + plane, layout.spine(pod, plane), Tier::spine_core, downlink);
}

}  // namespace

double leaf_uplink(const ClusterSpec& spec, const Figures& figures, const Layout& layout) {
  const double ports = static_cast<double>(layout.nodes_per_leaf) * layout.nics_per_rail();
  return ports * figures.nic.value() / spec.fabric.leaf_oversubscription;
}

double pod_uplink(const ClusterSpec& spec, const Figures& figures, const Layout& layout) {
  const double leaves = static_cast<double>(layout.blocks_per_pod) * layout.rails;
  return leaves * leaf_uplink(spec, figures, layout) / spec.fabric.core_oversubscription;
}

LinkList list_links(const ClusterSpec& spec, const Figures& figures, const Layout& layout) {
  const double leaf_link = leaf_uplink(spec, figures, layout) / layout.planes;
  const double pod_link = pod_uplink(spec, figures, layout) / layout.planes;

  LinkList list;
  list.ends.reserve(layout.links);
  list.capacity.reserve(layout.links);
  list.tier.reserve(layout.links);
  add_nodes(layout, list);
  add_nvswitch_planes(figures, layout, list);
  add_leaves(figures, layout, leaf_link, list);
  add_spines(layout, leaf_link, pod_link, list);
  add_cores(layout, pod_link, list);
  FLOWPLAN_ASSERT(list.ends.size() == layout.links);
  return list;
}

}  // namespace flowplan::topology
