#include "flowplan/topology/cluster.hpp"

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "cluster_data.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::topology {
namespace {

constexpr const char* default_constants = "fabric-defaults";

flow::LinkId link(std::uint32_t id) {
  return static_cast<flow::LinkId>(id);
}

}  // namespace

Cluster::Cluster(std::shared_ptr<const Data> data, std::shared_ptr<const View> view)
    : data_(std::move(data)), view_(std::move(view)) {}

Result<Cluster> Cluster::build(const catalog::Catalog& catalog, ClusterSpec spec) {
  FLOWPLAN_ASSERT(spec.instance != nullptr);
  if (spec.gpu == nullptr) {
    const Result<const catalog::Gpu*> gpu = catalog.gpu(spec.instance->gpu);
    if (!gpu) return fail(gpu.error());
    spec.gpu = *gpu;
  }
  if (spec.defaults == nullptr) {
    const Result<const catalog::Constants*> defaults = catalog.constants(default_constants);
    if (!defaults) return fail(defaults.error());
    spec.defaults = *defaults;
  }
  return build(spec);
}

Result<Cluster> Cluster::build(const ClusterSpec& spec) {
  Result<Figures> figures = read_figures(spec);
  if (!figures) return fail(std::move(figures.error()));
  Result<Layout> layout = Layout::make(spec, *figures);
  if (!layout) return fail(std::move(layout.error()));

  ClusterSpec complete = spec;
  complete.fabric.nodes_per_leaf = figures->nodes_per_leaf;
  complete.fabric.leaves_per_pod = figures->leaves_per_pod;
  return Cluster(std::make_shared<const Data>(complete, std::move(*figures), std::move(*layout)));
}

const ClusterSpec& Cluster::spec() const {
  return data_->spec;
}
std::uint32_t Cluster::gpus() const {
  return data_->layout.gpus;
}
std::uint32_t Cluster::nodes() const {
  return data_->layout.nodes;
}
std::uint32_t Cluster::gpus_per_node() const {
  return data_->layout.node.gpus;
}
std::uint32_t Cluster::node_of(GpuId gpu) const {
  return data_->layout.node_of(index(gpu));
}
std::string Cluster::node_name(std::uint32_t node) const {
  FLOWPLAN_ASSERT(node < nodes());
  const Wiring* wiring = data_->spec.wiring.get();
  return wiring ? wiring->node[node] : "node" + std::to_string(node);
}
bool Cluster::takes_ranks(std::uint32_t node) const {
  const Wiring* wiring = data_->spec.wiring.get();
  return wiring == nullptr || wiring->idle.empty() || !wiring->idle[node];
}
std::uint32_t Cluster::domains() const {
  return data_->layout.domains;
}
std::uint32_t Cluster::gpus_per_domain() const {
  return data_->layout.domain_gpus;
}
std::uint32_t Cluster::domain_of(GpuId gpu) const {
  return index(gpu) / data_->layout.domain_gpus;
}
std::uint32_t Cluster::leaves() const {
  return data_->layout.leaves;
}
std::uint32_t Cluster::pods() const {
  return data_->layout.pods;
}
bool Cluster::has_nics() const {
  return data_->layout.node.nics > 0;
}

std::uint32_t Cluster::leaf_of(GpuId gpu) const {
  const Layout& layout = data_->layout;
  FLOWPLAN_ASSERT(layout.node.nics > 0);
  return layout.leaf_of(layout.node_of(index(gpu)), layout.nic_of(index(gpu)));
}

std::uint32_t Cluster::pod_of(GpuId gpu) const {
  return data_->layout.pod_of_leaf(leaf_of(gpu));
}

std::uint32_t Cluster::links() const {
  return data_->layout.links;
}
double Cluster::capacity(flow::LinkId id) const {
  return data_->layout.capacity(static_cast<std::uint32_t>(id)) * factor(id);
}

const flow::Network& Cluster::network() const {
  const Layout& layout = data_->layout;
  const flow::Network& built = data_->network.get([&] {
    flow::Network network;
    network.capacity.reserve(layout.links);
    for (std::uint32_t id = 0; id < layout.links; ++id)
      network.capacity.push_back(layout.capacity(id));
    return network;
  });
  if (!view_) return built;
  return view_->network.get([&] {
    flow::Network network = built;
    for (const Slowdown& slow : view_->slowed) {
      double& capacity = network.capacity[flow::index(slow.link)];
      capacity = std::max(capacity * slow.factor, std::numeric_limits<double>::min());
    }
    return network;
  });
}

Tier Cluster::tier(flow::LinkId id) const {
  return data_->layout.tier(static_cast<std::uint32_t>(id));
}
Seconds Cluster::latency(flow::LinkId id) const {
  return data_->figures.latency[static_cast<std::size_t>(tier(id))];
}
const Cluster::Graph& Cluster::graph() const {
  return data_->graph.get([&] { return Graph(data_->layout); });
}
VertexId Cluster::source(flow::LinkId id) const {
  return VertexId{data_->layout.ends(static_cast<std::uint32_t>(id)).from};
}
VertexId Cluster::target(flow::LinkId id) const {
  return VertexId{data_->layout.ends(static_cast<std::uint32_t>(id)).to};
}

flow::LinkId Cluster::link_between(VertexId from, VertexId to) const {
  // Links are numbered by their source.
  std::uint32_t low = 0, high = links();
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (data_->layout.ends(middle).from < index(from))
      low = middle + 1;
    else
      high = middle;
  }
  for (; low < links(); ++low) {
    const Layout::Ends ends = data_->layout.ends(low);
    if (ends.from != index(from)) break;
    if (ends.to == index(to)) return link(low);
  }
  return flow::no_link;
}

flow::LinkId Cluster::nvlink_out(GpuId gpu) const {
  const Layout& layout = data_->layout;
  if (!layout.nvlink) return flow::no_link;
  const std::uint32_t local = index(gpu) % layout.node.gpus;
  return link(layout.node_link(layout.node_of(index(gpu)), layout.node.nvlink_out[local]));
}

flow::LinkId Cluster::nvlink_in(GpuId gpu) const {
  return data_->layout.nvlink ? link(data_->layout.nvlink_in(index(gpu))) : flow::no_link;
}

flow::LinkId Cluster::nic_out(GpuId gpu) const {
  const Layout& layout = data_->layout;
  if (layout.node.nics == 0) return flow::no_link;
  const std::uint32_t nic = layout.nic_of(index(gpu));
  return link(layout.node_link(layout.node_of(index(gpu)), layout.node.nic_out[nic]));
}

flow::LinkId Cluster::nic_in(GpuId gpu) const {
  const Layout& layout = data_->layout;
  if (layout.node.nics == 0) return flow::no_link;
  return link(layout.nic_in(layout.node_of(index(gpu)), layout.nic_of(index(gpu))));
}

std::vector<flow::LinkId> Cluster::uplinks_of_leaf(std::uint32_t leaf) const {
  const Layout& layout = data_->layout;
  FLOWPLAN_ASSERT(leaf < layout.leaves);
  std::vector<flow::LinkId> links;
  for (std::uint32_t plane = 0; layout.spines && plane < layout.planes; ++plane) {
    links.push_back(link(layout.leaf_up(leaf, plane)));
    links.push_back(link(layout.leaf_down(leaf, plane)));
  }
  return links;
}

std::vector<flow::LinkId> Cluster::uplinks_of_pod(std::uint32_t pod) const {
  const Layout& layout = data_->layout;
  FLOWPLAN_ASSERT(pod < layout.pods);
  std::vector<flow::LinkId> links;
  for (std::uint32_t plane = 0; layout.cores && plane < layout.planes; ++plane) {
    links.push_back(link(layout.spine_up(pod, plane)));
    links.push_back(link(layout.core_down(pod, plane)));
  }
  return links;
}

}  // namespace flowplan::topology
