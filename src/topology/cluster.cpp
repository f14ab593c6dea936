#include "flowplan/topology/cluster.hpp"

#include <utility>

#include "cluster_data.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "mix.hpp"

namespace flowplan::topology {
namespace {

constexpr const char* default_constants = "fabric-defaults";

flow::LinkId link(std::uint32_t id) {
  return static_cast<flow::LinkId>(id);
}

}  // namespace

Cluster::Cluster(std::unique_ptr<const Data> data) : data_(std::move(data)) {}
Cluster::Cluster(Cluster&&) noexcept = default;
Cluster& Cluster::operator=(Cluster&&) noexcept = default;
Cluster::~Cluster() = default;

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
  LinkList list = list_links(spec, *figures, *layout);
  Graph graph(*layout, list);
  return Cluster(std::unique_ptr<const Data>(
      new Data{complete, std::move(*figures), std::move(*layout), std::move(graph),
               flow::Network{std::move(list.capacity)}, std::move(list.tier)}));
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

const flow::Network& Cluster::network() const {
  return data_->network;
}
Tier Cluster::tier(flow::LinkId id) const {
  return data_->tier[flow::index(id)];
}
Seconds Cluster::latency(flow::LinkId id) const {
  return data_->figures.latency[static_cast<std::size_t>(tier(id))];
}
const Cluster::Graph& Cluster::graph() const {
  return data_->graph;
}

VertexId Cluster::source(flow::LinkId id) const {
  const Graph::Csr& csr = data_->graph.csr;
  return VertexId{boost::source(boost::edge_from_index(static_cast<std::uint32_t>(id), csr), csr)};
}

VertexId Cluster::target(flow::LinkId id) const {
  const Graph::Csr& csr = data_->graph.csr;
  return VertexId{boost::target(boost::edge_from_index(static_cast<std::uint32_t>(id), csr), csr)};
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

void Cluster::route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const {
  FLOWPLAN_ASSERT(index(from) < gpus() && index(to) < gpus());
  if (from == to) return;
  if (domain_of(from) == domain_of(to)) {
    links.push_back(nvlink_out(from));
    links.push_back(nvlink_in(to));
    return;
  }
  const Layout& layout = data_->layout;
  const NodeTemplate& node = layout.node;
  const auto inside = [&](GpuId gpu, std::uint32_t position) {
    links.push_back(link(layout.node_link(layout.node_of(index(gpu)), position)));
  };
  inside(from, node.pcie_up[index(from) % node.gpus]);
  inside(from, node.nic_up[layout.nic_of(index(from))]);
  links.push_back(nic_out(from));
  fabric_route(from, to, links);
  links.push_back(nic_in(to));
  inside(to, node.nic_down[layout.nic_of(index(to))]);
  inside(to, node.pcie_down[index(to) % node.gpus]);
}

void Cluster::fabric_route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const {
  const Layout& layout = data_->layout;
  const std::uint32_t source_leaf = leaf_of(from), target_leaf = leaf_of(to);
  if (source_leaf == target_leaf) return;
  const std::uint64_t pair = (std::uint64_t{index(from)} << 32) | index(to);
  const auto plane = layout.planes > 1 ? static_cast<std::uint32_t>(mix(pair) % layout.planes) : 0u;
  const std::uint32_t source_pod = layout.pod_of_leaf(source_leaf);
  const std::uint32_t target_pod = layout.pod_of_leaf(target_leaf);

  links.push_back(link(layout.leaf_up(source_leaf, plane)));
  if (source_pod != target_pod) {
    links.push_back(link(layout.spine_up(source_pod, plane)));
    links.push_back(link(layout.core_down(target_pod, plane)));
  }
  links.push_back(link(layout.leaf_down(target_leaf, plane)));
}

}  // namespace flowplan::topology
