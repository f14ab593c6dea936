// Ways through a cluster, and around what has failed.
#include <algorithm>

#include "cluster_data.hpp"
#include "flowplan/base/assert.hpp"
#include "mix.hpp"

namespace flowplan::topology {
namespace {

std::uint64_t hash(GpuId from, GpuId to) {
  return mix((std::uint64_t{index(from)} << 32) | index(to));
}

/// The links between switches by one plane.
struct FabricPath {
  flow::LinkId link[4]{};
  int count = 0;
};

FabricPath fabric_path(const Layout& layout, std::uint32_t from, std::uint32_t to,
                       std::uint32_t plane) {
  FabricPath path;
  const auto add = [&](std::uint32_t id) { path.link[path.count++] = flow::LinkId{id}; };
  const std::uint32_t source_pod = layout.pod_of_leaf(from), target_pod = layout.pod_of_leaf(to);
  add(layout.leaf_up(from, plane));
  if (source_pod != target_pod) {
    add(layout.spine_up(source_pod, plane));
    add(layout.core_down(target_pod, plane));
  }
  add(layout.leaf_down(to, plane));
  return path;
}

}  // namespace

double Cluster::View::factor(flow::LinkId link) const {
  const auto found = std::lower_bound(slowed.begin(), slowed.end(), link,
                                      [](const Slowdown& slow, flow::LinkId id) {
                                        return flow::index(slow.link) < flow::index(id);
                                      });
  return found != slowed.end() && found->link == link ? found->factor : 1.0;
}

double Cluster::factor(flow::LinkId link) const {
  return view_ ? view_->factor(link) : 1.0;
}

bool Cluster::failed(flow::LinkId link) const {
  return factor(link) == 0.0;
}

Cluster Cluster::degraded(std::span<const Slowdown> slowdowns) const {
  std::vector<Slowdown> all;
  if (view_) all = view_->slowed;
  all.insert(all.end(), slowdowns.begin(), slowdowns.end());
  std::stable_sort(all.begin(), all.end(), [](const Slowdown& a, const Slowdown& b) {
    return flow::index(a.link) < flow::index(b.link);
  });
  std::vector<Slowdown> merged;
  for (const Slowdown& slow : all) {
    FLOWPLAN_ASSERT(flow::index(slow.link) < links() && slow.factor >= 0.0);
    if (merged.empty() || merged.back().link != slow.link) {
      merged.push_back(slow);
    } else {
      merged.back().factor *= slow.factor;
    }
  }
  return Cluster(data_, std::make_shared<const View>(std::move(merged)));
}

std::span<const Slowdown> Cluster::slowdowns() const {
  if (!view_) return {};
  return view_->slowed;
}

template <class Works>
std::vector<GpuId> Cluster::relays(GpuId gpu, const Works& works) const {
  if (!view_ || !data_->layout.nvlink || works(gpu)) return {gpu};
  std::vector<GpuId> others;
  const std::uint32_t first = node_of(gpu) * gpus_per_node();
  for (std::uint32_t other = first; other < first + gpus_per_node(); ++other)
    if (works(GpuId{other})) others.push_back(GpuId{other});
  if (others.empty()) others.push_back(gpu);
  return others;
}

std::vector<GpuId> Cluster::exits(GpuId gpu) const {
  return relays(gpu, [this](GpuId by) { return !failed(nic_out(by)); });
}

std::vector<GpuId> Cluster::entries(GpuId gpu) const {
  return relays(gpu, [this](GpuId by) { return !failed(nic_in(by)); });
}

void Cluster::exit_route(GpuId gpu, std::vector<flow::LinkId>& links) const {
  const Layout& layout = data_->layout;
  const std::uint32_t node = layout.node_of(index(gpu));
  const std::uint32_t nic = layout.nic_of(index(gpu));
  for (const std::uint32_t position : {layout.node.pcie_up[index(gpu) % layout.node.gpus],
                                       layout.node.nic_up[nic], layout.node.nic_out[nic]})
    links.push_back(flow::LinkId{layout.node_link(node, position)});
}

void Cluster::entry_route(GpuId gpu, std::vector<flow::LinkId>& links) const {
  const Layout& layout = data_->layout;
  const std::uint32_t node = layout.node_of(index(gpu));
  const std::uint32_t nic = layout.nic_of(index(gpu));
  links.push_back(flow::LinkId{layout.nic_in(node, nic)});
  for (const std::uint32_t position :
       {layout.node.nic_down[nic], layout.node.pcie_down[index(gpu) % layout.node.gpus]})
    links.push_back(flow::LinkId{layout.node_link(node, position)});
}

void Cluster::route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const {
  FLOWPLAN_ASSERT(index(from) < gpus() && index(to) < gpus());
  if (from == to) return;
  const auto over_nvlink = [&](GpuId a, GpuId b) {
    if (a == b) return;
    links.push_back(nvlink_out(a));
    links.push_back(nvlink_in(b));
  };
  if (domain_of(from) == domain_of(to)) return over_nvlink(from, to);
  GpuId exit = from, entry = to;
  if (view_) {
    const std::vector<GpuId> out = exits(from), in = entries(to);
    exit = out[hash(from, to) % out.size()];
    entry = in[hash(to, from) % in.size()];
  }
  over_nvlink(from, exit);
  exit_route(exit, links);
  fabric_route(exit, entry, links);
  entry_route(entry, links);
  over_nvlink(entry, to);
}

void Cluster::fabric_route(GpuId from, GpuId to, std::vector<flow::LinkId>& links) const {
  const Layout& layout = data_->layout;
  const std::uint32_t source_leaf = leaf_of(from), target_leaf = leaf_of(to);
  if (source_leaf == target_leaf) return;
  const std::uint32_t planes = layout.planes;
  const auto first = planes > 1 ? static_cast<std::uint32_t>(hash(from, to) % planes) : 0u;
  FabricPath path = fabric_path(layout, source_leaf, target_leaf, first);
  const auto cut = [&] {
    return std::any_of(path.link, path.link + path.count,
                       [&](flow::LinkId id) { return failed(id); });
  };
  for (std::uint32_t next = 1; view_ && next < planes && cut(); ++next)
    path = fabric_path(layout, source_leaf, target_leaf, (first + next) % planes);
  links.insert(links.end(), path.link, path.link + path.count);
}

}  // namespace flowplan::topology
