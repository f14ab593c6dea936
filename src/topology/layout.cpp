#include "layout.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace flowplan::topology {
namespace {

constexpr std::uint64_t divide_up(std::uint64_t a, std::uint64_t b) {
  return (a + b - 1) / b;
}

/// As many parallel uplinks as carry one NIC group each.
double ecmp_planes(const ClusterSpec& spec, const Figures& figures, std::uint32_t rails) {
  const double nics = static_cast<double>(figures.nodes_per_leaf) * figures.nics_per_node / rails;
  return std::max(1.0, std::round(nics / spec.fabric.leaf_oversubscription));
}

}  // namespace

Result<Layout> Layout::make(const ClusterSpec& spec, const Figures& figures) {
  Layout layout;
  layout.node = make_node(figures);
  const NodeTemplate& node = layout.node;
  const bool network = node.nics > 0;

  const std::uint64_t nodes =
      static_cast<std::uint64_t>(spec.count) * static_cast<std::uint64_t>(spec.instance->instances);
  const std::uint64_t gpus = nodes * node.gpus;
  layout.domain_gpus = static_cast<std::uint32_t>(figures.domain_gpus);
  layout.nvlink = layout.domain_gpus > 1;
  layout.rails = network && spec.fabric.rail_optimised ? node.nics : 1;
  if (network && spec.fabric.routing == Routing::ecmp)
    layout.planes = static_cast<std::uint32_t>(
        std::min(ecmp_planes(spec, figures, layout.rails), static_cast<double>(Layout::max_links)));

  const auto nodes_per_leaf = static_cast<std::uint32_t>(figures.nodes_per_leaf);
  const std::uint32_t blocks_per_pod =
      std::max(1u, static_cast<std::uint32_t>(figures.leaves_per_pod) / layout.rails);
  const bool wired = network && spec.wiring != nullptr;
  std::uint64_t blocks = network ? divide_up(nodes, nodes_per_leaf) : 0;
  std::uint64_t pods = divide_up(blocks, blocks_per_pod);
  if (wired) {
    layout.in_block = Grouping::listed(spec.wiring->leaf);
    layout.in_pod = Grouping::listed(spec.wiring->pod);
    blocks = layout.in_block.groups();
    pods = layout.in_pod.groups();
  }
  const std::uint64_t leaves = blocks * layout.rails;
  layout.spines = leaves > 1;
  layout.cores = pods > 1;
  const std::uint64_t leaf_ups = layout.spines ? leaves * layout.planes : 0;
  const std::uint64_t spine_ups = layout.cores ? pods * layout.planes : 0;

  const std::uint64_t node_links = nodes * node.links.size();
  const std::uint64_t plane_links = layout.nvlink ? gpus : 0;
  const std::uint64_t links =
      node_links + plane_links + nodes * node.nics + 2 * leaf_ups + 2 * spine_ups;
  if (links > max_links)
    return fail(error(Code::bad_cluster,
                      fmt::format("a cluster of {} GPUs has {} links", gpus, links),
                      fmt::format("at most {} links can be modelled", max_links)));

  const auto narrow = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
  layout.nodes = narrow(nodes);
  layout.gpus = narrow(gpus);
  layout.domains = layout.gpus / layout.domain_gpus;
  layout.blocks = narrow(blocks);
  layout.leaves = narrow(leaves);
  layout.pods = narrow(pods);
  if (!wired) {
    layout.in_block = Grouping::even(network ? layout.nodes : 0, nodes_per_leaf);
    layout.in_pod = Grouping::even(layout.blocks, blocks_per_pod);
  }

  layout.first_plane = layout.nodes * node.vertices();
  layout.first_leaf = layout.first_plane + (layout.nvlink ? layout.domains : 0);
  layout.first_spine = layout.first_leaf + layout.leaves;
  layout.first_core = layout.first_spine + (layout.spines ? layout.pods * layout.planes : 0);
  layout.vertices = layout.first_core + (layout.cores ? layout.planes : 0);

  layout.plane_links = narrow(node_links);
  layout.leaf_links = layout.plane_links + narrow(plane_links);
  layout.spine_links = layout.leaf_links + narrow(nodes * node.nics + leaf_ups);
  layout.core_links = layout.spine_links + narrow(leaf_ups + spine_ups);
  layout.links = narrow(links);

  layout.nvlink_rate = figures.nvlink.value();
  layout.nic_rate = figures.nic.value();
  layout.leaf_uplink = static_cast<double>(nodes_per_leaf) * layout.nics_per_rail() *
                       layout.nic_rate / spec.fabric.leaf_oversubscription;
  layout.pod_uplink = static_cast<double>(blocks_per_pod) * layout.rails * layout.leaf_uplink /
                      spec.fabric.core_oversubscription;
  return layout;
}

std::uint32_t Layout::first_link_of_block(std::uint32_t block) const {
  const std::uint32_t uplinks = spines ? block * rails * planes : 0;
  return leaf_links + in_block.before(block) * node.nics + uplinks;
}

std::uint32_t Layout::first_link_of_leaf(std::uint32_t leaf) const {
  const std::uint32_t block = leaf / rails;
  const std::uint32_t ports = in_block.size(block) * nics_per_rail();
  return first_link_of_block(block) + leaf % rails * (ports + (spines ? planes : 0));
}

std::uint32_t Layout::first_link_of_pod(std::uint32_t pod) const {
  const std::uint32_t uplinks = cores ? pod * planes : 0;
  return spine_links + in_pod.before(pod) * rails * planes + uplinks;
}

std::uint32_t Layout::first_link_of_spine(std::uint32_t pod, std::uint32_t plane) const {
  return first_link_of_pod(pod) + plane * (leaves_in_pod(pod) + (cores ? 1 : 0));
}

std::uint32_t Layout::nic_in(std::uint32_t of_node, std::uint32_t nic) const {
  const std::uint32_t port = rails > 1 ? 0 : nic;
  return first_link_of_leaf(leaf_of(of_node, nic)) + in_block.position(of_node) * nics_per_rail() +
         port;
}

std::uint32_t Layout::leaf_up(std::uint32_t leaf, std::uint32_t plane) const {
  return first_link_of_leaf(leaf) + in_block.size(leaf / rails) * nics_per_rail() + plane;
}

std::uint32_t Layout::leaf_down(std::uint32_t leaf, std::uint32_t plane) const {
  const std::uint32_t pod = pod_of_leaf(leaf);
  return first_link_of_spine(pod, plane) + port_of_leaf(leaf);
}

std::uint32_t Layout::spine_up(std::uint32_t pod, std::uint32_t plane) const {
  return first_link_of_spine(pod, plane) + leaves_in_pod(pod);
}

std::uint32_t Layout::core_down(std::uint32_t pod, std::uint32_t plane) const {
  return core_links + plane * pods + pod;
}

Layout::SwitchLink Layout::leaf_link(std::uint32_t link) const {
  const std::uint32_t uplinks = spines ? planes : 0;
  const std::uint32_t block = in_block.find(
      link - leaf_links, [this](std::uint32_t b) { return first_link_of_block(b) - leaf_links; });
  const std::uint32_t inside = link - first_link_of_block(block);
  const std::uint32_t ports = in_block.size(block) * nics_per_rail();
  const std::uint32_t position = inside % (ports + uplinks);
  SwitchLink out;
  out.of = block * rails + inside / (ports + uplinks);
  out.up = position >= ports;
  out.port = position;
  out.plane = out.up ? position - ports : 0;
  return out;
}

Layout::SwitchLink Layout::spine_link(std::uint32_t link) const {
  const std::uint32_t uplinks = cores ? 1 : 0;
  SwitchLink out;
  out.of = in_pod.find(link - spine_links,
                       [this](std::uint32_t pod) { return first_link_of_pod(pod) - spine_links; });
  const std::uint32_t inside = link - first_link_of_pod(out.of);
  const std::uint32_t ports = leaves_in_pod(out.of);
  out.plane = inside / (ports + uplinks);
  out.port = inside % (ports + uplinks);
  out.up = out.port == ports;
  return out;
}

Tier Layout::switch_tier(std::uint32_t link) const {
  if (link < spine_links) return leaf_link(link).up ? Tier::leaf_spine : Tier::efa;
  return spine_link(link).up ? Tier::spine_core : Tier::leaf_spine;
}

double Layout::capacity(std::uint32_t link) const {
  if (link < plane_links) return node.links[link % node.links.size()].capacity;
  switch (tier(link)) {
    case Tier::nvlink:
      return nvlink_rate;
    case Tier::leaf_spine:
      return leaf_uplink / planes;
    case Tier::spine_core:
      return pod_uplink / planes;
    default:
      return nic_rate;
  }
}

Layout::Ends Layout::node_ends(std::uint32_t link) const {
  const auto links_of_node = static_cast<std::uint32_t>(node.links.size());
  const std::uint32_t n = link / links_of_node;
  const std::uint32_t base = n * node.vertices();
  const NodeTemplate::Link& inside = node.links[link % links_of_node];
  Ends out{base + inside.from, base + inside.to};
  if (inside.end == NodeTemplate::End::nvswitch_plane)
    out.to = first_plane + n * node.gpus / domain_gpus;
  if (inside.end == NodeTemplate::End::leaf)
    out.to = first_leaf + leaf_of(n, inside.from - node.first_nic());
  return out;
}

Layout::Ends Layout::leaf_ends(std::uint32_t link) const {
  const SwitchLink at = leaf_link(link);
  const std::uint32_t from = first_leaf + at.of;
  if (at.up) return {from, spine(pod_of_leaf(at.of), at.plane)};
  const std::uint32_t n = in_block.member(at.of / rails, at.port / nics_per_rail());
  const std::uint32_t nic = at.of % rails + at.port % nics_per_rail();
  return {from, n * node.vertices() + node.first_nic() + nic};
}

Layout::Ends Layout::spine_ends(std::uint32_t link) const {
  const SwitchLink at = spine_link(link);
  const std::uint32_t from = spine(at.of, at.plane);
  if (at.up) return {from, first_core + at.plane};
  return {from, first_leaf + in_pod.member(at.of, at.port / rails) * rails + at.port % rails};
}

Layout::Ends Layout::ends(std::uint32_t link) const {
  if (link < plane_links) return node_ends(link);
  if (link < leaf_links) {
    const std::uint32_t gpu = link - plane_links;
    return {first_plane + gpu / domain_gpus, gpu_vertex(gpu)};
  }
  if (link < spine_links) return leaf_ends(link);
  if (link < core_links) return spine_ends(link);
  const std::uint32_t position = link - core_links;
  return {first_core + position / pods, spine(position % pods, position / pods)};
}

}  // namespace flowplan::topology
