// A cluster as boxes: what is alike is drawn once.
#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include <fmt/format.h>

#include "dot_text.hpp"
#include "flowplan/export/topology_drawing.hpp"

namespace flowplan::exporting {
namespace {

using topology::Cluster;
using topology::GpuId;
using topology::Slowdown;
using topology::Tier;
using topology::VertexId;
using topology::VertexKind;
using Look = DotText::Look;

constexpr std::uint32_t most_single_nodes = 18;  ///< drawn one by one: an UltraServer's
constexpr std::size_t most_runs = 12;  ///< of neighbours that are alike, else they are mixed
constexpr std::size_t most_notes = 3;

/// Things that are drawn as one box: first to last, as long as they are alike.
struct Run {
  std::uint32_t first = 0, count = 1;
  std::string alike;
};

/// Neighbours with equal descriptions; where these are too many runs, whatever is not `special`.
std::vector<Run> runs_of(const std::vector<std::uint32_t>& things,
                         const std::function<std::string(std::uint32_t)>& describe,
                         const std::function<bool(std::uint32_t)>& special) {
  const auto join = [&](bool whatever) {
    std::vector<Run> runs;
    for (const std::uint32_t thing : things) {
      std::string alike = describe(thing);
      if (whatever) alike = "mixed";
      if (special(thing)) alike = fmt::format("only {}", thing);
      const bool follows = !runs.empty() && runs.back().first + runs.back().count == thing;
      if (follows && runs.back().alike == alike)
        ++runs.back().count;
      else
        runs.push_back({thing, 1, std::move(alike)});
    }
    return runs;
  };
  std::vector<Run> runs = join(false);
  return runs.size() > most_runs ? join(true) : runs;
}

std::string range_name(const Run& run, const std::function<std::string(std::uint32_t)>& name_of) {
  if (run.count == 1) return name_of(run.first);
  return fmt::format("{} ... {} (x{})", name_of(run.first), name_of(run.first + run.count - 1),
                     run.count);
}

class Drawer {
 public:
  Drawer(const Cluster& cluster, const std::string& title) : cluster_(cluster), title_(title) {
    for (const Slowdown& slow : cluster.slowdowns()) {
      if (slow.factor == 1.0) continue;
      note(slow, cluster.source(slow.link));
      note(slow, cluster.target(slow.link));
    }
    if (!cluster.has_nics()) return;
    nodes_below_.resize(cluster.leaves());
    for (std::uint32_t node = 0; node < cluster.nodes(); ++node)
      nodes_below_[leaf_of(node)].push_back(node);
    leaves_below_.resize(cluster.pods());
    for (std::uint32_t leaf = 0; leaf < cluster.leaves(); ++leaf)
      if (!nodes_below_[leaf].empty())
        leaves_below_[cluster.pod_of(first_gpu(nodes_below_[leaf].front()))].push_back(leaf);
  }

  std::string draw() {
    dot_.open(headline());
    if (cluster_.nodes() == 1) {
      draw_node(0, cluster_.node_name(0), true);
    } else {
      dot_.begin_frame("fabric", "Fabric");
      if (cluster_.has_nics())
        draw_pods();
      else
        draw_nodes(all_nodes(), "");
      draw_domains();
      dot_.end_frame();
      draw_node(0,
                nodes_per_domain() > 1
                    ? fmt::format("Inside one of the {} nodes of an NVLink domain: {}",
                                  nodes_per_domain(), cluster_.spec().instance->id)
                    : fmt::format("Inside every node: {}", cluster_.spec().instance->id),
                false);
    }
    std::vector<Tier> tiers(used_.begin(), used_.end());
    dot_.legend(tiers, !troubles_.empty(), any_idle_);
    dot_.close();
    return dot_.text();
  }

 private:
  // Where things stand.
  [[nodiscard]] GpuId first_gpu(std::uint32_t node) const {
    return GpuId{node * cluster_.gpus_per_node()};
  }
  /// Of the nodes of a rail-optimised block, which is drawn as one leaf.
  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const {
    return cluster_.leaf_of(first_gpu(node));
  }
  [[nodiscard]] std::uint32_t rails() const {
    return cluster_.spec().fabric.rail_optimised ? std::max(1u, nic_groups()) : 1;
  }
  [[nodiscard]] std::uint32_t nic_groups() const {
    std::set<flow::LinkId> groups;
    for (std::uint32_t gpu = 0; gpu < cluster_.gpus_per_node(); ++gpu)
      groups.insert(cluster_.nic_out(GpuId{gpu}));
    return static_cast<std::uint32_t>(groups.size());
  }
  [[nodiscard]] double node_rate() const {
    return cluster_.spec().instance->efa_gbps_total.value * 1e9 / 8.0 /
           cluster_.spec().instance->instances;
  }
  /// What a node's NICs have left, the worse direction.
  [[nodiscard]] double node_rate_left(std::uint32_t node) const {
    std::set<flow::LinkId> out, in;
    for (std::uint32_t gpu = 0; gpu < cluster_.gpus_per_node(); ++gpu) {
      out.insert(cluster_.nic_out(GpuId{index(first_gpu(node)) + gpu}));
      in.insert(cluster_.nic_in(GpuId{index(first_gpu(node)) + gpu}));
    }
    const auto sum = [this](const std::set<flow::LinkId>& links) {
      double rate = 0.0;
      for (const flow::LinkId link : links)
        rate += cluster_.capacity(link);
      return rate;
    };
    return std::min(sum(out), sum(in));
  }
  [[nodiscard]] std::string node_rate_text(const Run& run) const {
    const double left = node_rate_left(run.first);
    std::string text = left > 0.0 ? rate_text(left) : "failed";
    if (run.count > 1) text = fmt::format("x{} {}", run.count, text);
    const double share = left / node_rate();
    if (left > 0.0 && share < 1.0 - 1e-9) text += fmt::format(" ({:.3g} %)", 100.0 * share);
    return text;
  }
  [[nodiscard]] std::uint32_t nodes_per_domain() const {
    return std::max(1u, cluster_.gpus_per_domain() / cluster_.gpus_per_node());
  }
  [[nodiscard]] std::vector<std::uint32_t> all_nodes() const {
    std::vector<std::uint32_t> nodes(cluster_.nodes());
    for (std::uint32_t i = 0; i < nodes.size(); ++i)
      nodes[i] = i;
    return nodes;
  }

  // What is degraded.
  void note(const Slowdown& slow, VertexId at) {
    auto& notes = troubles_[at];
    notes.push_back(slow);
  }
  [[nodiscard]] std::vector<std::string> troubles_of_node(std::uint32_t node) const {
    // A node's vertices are numbered in a row.
    const auto begin = troubles_.lower_bound(cluster_.vertex(first_gpu(node)));
    std::set<flow::LinkId> links;
    std::vector<std::string> lines;
    const VertexId end{index(cluster_.vertex(first_gpu(node))) + vertices_per_node()};
    for (auto at = begin; at != troubles_.end() && at->first < end; ++at)
      for (const Slowdown& slow : at->second)
        if (links.insert(slow.link).second) lines.push_back(trouble_text(slow));
    if (lines.size() > most_notes) {
      const std::size_t more = lines.size() - most_notes;
      lines.resize(most_notes);
      lines.push_back(fmt::format("and {} more links", more));
    }
    return lines;
  }
  [[nodiscard]] std::string trouble_text(const Slowdown& slow) const {
    return slow.factor == 0.0
               ? cluster_.link_name(slow.link) + " failed"
               : fmt::format("{} at {:.3g} %", cluster_.link_name(slow.link), 100.0 * slow.factor);
  }
  [[nodiscard]] std::uint32_t vertices_per_node() const {
    return cluster_.nodes() > 1 ? index(cluster_.vertex(first_gpu(1))) : cluster_.vertices();
  }
  [[nodiscard]] bool troubled_node(std::uint32_t node) const {
    return !troubles_of_node(node).empty();
  }
  /// The least part of its rate that any uplink has left.
  [[nodiscard]] double left_of(const std::vector<flow::LinkId>& links) const {
    double built = 0.0, left = 0.0;
    const std::map<flow::LinkId, double> slow = factors_of(links);
    for (const flow::LinkId link : links) {
      const auto found = slow.find(link);
      const double factor = found == slow.end() ? 1.0 : found->second;
      left += cluster_.capacity(link);
      built += factor > 0.0 ? cluster_.capacity(link) / factor : built_rate(link);
    }
    return built > 0.0 ? left / built : 1.0;
  }
  [[nodiscard]] std::map<flow::LinkId, double> factors_of(
      const std::vector<flow::LinkId>& links) const {
    std::map<flow::LinkId, double> factors;
    for (const Slowdown& slow : cluster_.slowdowns())
      if (std::find(links.begin(), links.end(), slow.link) != links.end())
        factors[slow.link] = slow.factor;
    return factors;
  }
  /// A failed link's built rate is that of any other link of the kind.
  [[nodiscard]] double built_rate(flow::LinkId link) const {
    for (std::uint32_t leaf = 0; leaf < cluster_.leaves(); ++leaf)
      for (const flow::LinkId other : cluster_.uplinks_of_leaf(leaf))
        if (cluster_.tier(other) == cluster_.tier(link) && cluster_.capacity(other) > 0.0)
          return cluster_.capacity(other);
    return 0.0;
  }

  // Words.
  [[nodiscard]] std::string headline() const {
    const auto& fabric = cluster_.spec().fabric;
    std::string text = fmt::format("{}: {} GPUs", title_, cluster_.gpus());
    if (cluster_.domains() > 1) text += fmt::format(" in {} NVLink domains", cluster_.domains());
    if (cluster_.leaves() > 1)
      text += fmt::format(", {} leaves ({:g}:1)", cluster_.leaves(), fabric.leaf_oversubscription);
    if (cluster_.pods() > 1)
      text += fmt::format(", {} pods ({:g}:1)", cluster_.pods(), fabric.core_oversubscription);
    return text;
  }
  [[nodiscard]] std::vector<std::string> node_lines(const Run& run) const {
    std::vector<std::string> lines{
        range_name(run, [this](std::uint32_t node) { return cluster_.node_name(node); })};
    const std::string gpu = cluster_.spec().instance->gpu;
    lines.push_back(run.count == 1
                        ? fmt::format("{} GPU{}", cluster_.gpus_per_node(),
                                      cluster_.gpus_per_node() == 1 ? "" : "s")
                        : fmt::format("{} GPUs each, {} together", cluster_.gpus_per_node(),
                                      cluster_.gpus_per_node() * run.count));
    if (run.count == 1)
      for (std::string& trouble : troubles_of_node(run.first))
        lines.push_back(std::move(trouble));
    return lines;
  }

  // Boxes.
  void draw_pods() {
    std::vector<std::uint32_t> pods(leaves_below_.size());
    for (std::uint32_t pod = 0; pod < pods.size(); ++pod)
      pods[pod] = pod;
    const auto runs = runs_of(
        pods, [this](std::uint32_t pod) { return describe_pod(pod); },
        [this](std::uint32_t pod) { return special_pod(pod); });
    const bool core = cluster_.pods() > 1;
    if (core) dot_.box("core", VertexKind::core, {"core", "joins the pods"});
    for (const Run& run : runs) {
      const std::string id = fmt::format("pod{}", run.first);
      if (cluster_.leaves() > 1) {
        dot_.box(id, VertexKind::spine,
                 {range_name(run, [this](std::uint32_t pod) { return pod_name(pod); }),
                  fmt::format("{} of {} leaves", run.count == 1 ? "spine" : "spines",
                              range_of(run, [this](std::uint32_t pod) {
                                return leaves_below_[pod].size();
                              }))});
      }
      if (core) {
        const auto links = cluster_.uplinks_of_pod(run.first);
        draw_uplink(id, "core", links, Tier::spine_core, run.count);
      }
      draw_leaves(run, id);
    }
  }

  void draw_leaves(const Run& pods, const std::string& above) {
    const auto runs = runs_of(
        leaves_below_[pods.first], [this](std::uint32_t leaf) { return describe_leaf(leaf); },
        [this](std::uint32_t leaf) { return special_leaf(leaf); });
    for (const Run& run : runs) {
      const std::string id = fmt::format("leaf{}", run.first);
      std::vector<std::string> lines{
          range_name(run, [this](std::uint32_t leaf) { return leaf_name(leaf); })};
      if (pods.count > 1) lines.push_back("and so in the other pods");
      lines.push_back(fmt::format(
          "{} nodes{}",
          range_of(run, [this](std::uint32_t leaf) { return nodes_below_[leaf].size(); }),
          run.count > 1 ? " each" : ""));
      if (rails() > 1) lines.push_back(fmt::format("{} rail switches", rails()));
      dot_.box(id, VertexKind::leaf, lines,
               special_leaf(run.first) ? Look::degraded : Look::normal);
      if (cluster_.leaves() > 1) {
        std::vector<flow::LinkId> links;
        for (std::uint32_t rail = 0; rail < rails(); ++rail) {
          const auto some = cluster_.uplinks_of_leaf(run.first + rail);
          links.insert(links.end(), some.begin(), some.end());
        }
        draw_uplink(id, above, links, Tier::leaf_spine, run.count);
      }
      draw_nodes(nodes_below_[run.first], id, run.count);
    }
  }

  void draw_nodes(const std::vector<std::uint32_t>& nodes, const std::string& above,
                  std::uint32_t leaves = 1) {
    const bool single = cluster_.nodes() <= most_single_nodes;
    const auto special = [&](std::uint32_t node) {
      return single || troubled_node(node) || !cluster_.takes_ranks(node);
    };
    for (const Run& run : runs_of(
             nodes, [](std::uint32_t) { return std::string(); }, special)) {
      const std::string id = fmt::format("node{}", run.first);
      const bool idle = !cluster_.takes_ranks(run.first), troubled = troubled_node(run.first);
      any_idle_ = any_idle_ || idle;
      std::vector<std::string> lines = node_lines(run);
      if (leaves > 1) lines.push_back("and so below the other leaves");
      dot_.box(id, VertexKind::gpu, lines,
               troubled ? Look::degraded : (idle ? Look::idle : Look::normal));
      if (above.empty()) continue;
      used_.insert(Tier::efa);
      dot_.edge(id, above, Tier::efa, node_rate_text(run),
                troubled ? Look::degraded : Look::normal);
    }
  }

  /// NVLink between nodes, where they are drawn one by one.
  void draw_domains() {
    const std::uint32_t nodes = cluster_.gpus_per_domain() / cluster_.gpus_per_node();
    if (nodes < 2 || cluster_.nodes() > most_single_nodes) return;
    used_.insert(Tier::nvlink);
    for (std::uint32_t domain = 0; domain < cluster_.domains(); ++domain) {
      const std::string id = fmt::format("nvswitch{}", domain);
      dot_.box(id, VertexKind::nvswitch_plane,
               {id, fmt::format("joins {} GPUs", cluster_.gpus_per_domain())});
      for (std::uint32_t node = domain * nodes; node < (domain + 1) * nodes; ++node)
        dot_.edge(id, fmt::format("node{}", node), Tier::nvlink,
                  fmt::format("x{} {}", cluster_.gpus_per_node(),
                              rate_text(cluster_.capacity(cluster_.nvlink_out(first_gpu(node))))));
    }
  }

  void draw_uplink(const std::string& from, const std::string& to,
                   const std::vector<flow::LinkId>& links, Tier tier, std::uint32_t count) {
    used_.insert(tier);
    double rate = 0.0;
    for (const flow::LinkId link : links)
      rate += cluster_.capacity(link) / 2.0;  // both directions are listed
    const bool slow = left_of(links) < 1.0;
    std::string label = rate > 0.0 ? rate_text(rate) : "failed";
    if (count > 1) label = fmt::format("x{} {}", count, label);
    if (slow && rate > 0.0) label += fmt::format(" ({:.3g} %)", 100.0 * left_of(links));
    dot_.edge(from, to, tier, label, slow ? Look::degraded : Look::normal);
  }

  /// Every part of a node; in an inset as built.
  void draw_node(std::uint32_t node, const std::string& label, bool alone) {
    const std::uint32_t begin = index(cluster_.vertex(first_gpu(node)));
    const std::uint32_t end = begin + vertices_per_node();
    std::set<std::pair<std::uint32_t, std::uint32_t>> drawn;
    dot_.begin_frame("inside", label);
    for (std::uint32_t id = begin; id < end; ++id)
      if (cluster_.kind(VertexId{id}) < VertexKind::nvswitch_plane) draw_part(VertexId{id}, alone);
    std::vector<VertexId> outside;
    for (std::uint32_t id = 0; id < cluster_.links(); ++id) {
      const flow::LinkId link{id};
      const VertexId from = cluster_.source(link), to = cluster_.target(link);
      if (index(from) >= end) break;  // links are numbered by their source
      const bool leaves_node =
          index(to) < begin || index(to) >= end || cluster_.kind(to) >= VertexKind::nvswitch_plane;
      if (leaves_node && std::find(outside.begin(), outside.end(), to) == outside.end()) {
        outside.push_back(to);
        draw_part(to, alone);
      }
      if (!drawn.insert({std::min(index(from), index(to)), std::max(index(from), index(to))})
               .second)
        continue;
      draw_part_link(link, alone);
    }
    dot_.end_frame();
  }

  [[nodiscard]] std::string part_id(VertexId vertex) const {
    return fmt::format("part{}", index(vertex));
  }

  void draw_part(VertexId vertex, bool alone) {
    std::string text = cluster_.vertex_name(vertex);
    const VertexKind kind = cluster_.kind(vertex);
    std::vector<std::string> lines{text.substr(text.rfind('.') + 1)};
    if (kind == VertexKind::leaf) lines = {alone ? cluster_.vertex_name(vertex) : "leaf"};
    if (kind == VertexKind::nvswitch_plane) {
      lines = {"NVLink switch"};
      if (nodes_per_domain() > 1)
        lines.push_back(fmt::format("shared by {} nodes", nodes_per_domain()));
    }
    if (kind == VertexKind::nic_group) lines[0] += nics_of_group();
    dot_.box(part_id(vertex), kind, lines,
             alone && troubles_.count(vertex) > 0 && kind != VertexKind::leaf &&
                     kind != VertexKind::nvswitch_plane
                 ? Look::degraded
                 : Look::normal);
  }

  [[nodiscard]] std::string nics_of_group() const {
    const auto& known = cluster_.spec().instance->efa_interfaces;
    if (!known.known) return {};
    const double nics = known.value / nic_groups();
    return nics == 1.0 ? " (1 NIC)" : fmt::format(" ({:g} NICs)", nics);
  }

  void draw_part_link(flow::LinkId link, bool alone) {
    VertexId from = cluster_.source(link), to = cluster_.target(link);
    const Tier tier = cluster_.tier(link);
    used_.insert(tier);
    const auto slow = factors_of({link});
    const bool degraded = alone && !slow.empty() && slow.begin()->second < 1.0;
    const double rate = cluster_.capacity(link);
    std::string label = degraded && rate == 0.0 ? "failed" : rate_text(rate);
    // Left to right: NVLink switch, GPUs, PCIe, NICs, leaf.
    if (tier == Tier::nvlink) std::swap(from, to);
    dot_.edge(part_id(from), part_id(to), tier, label, degraded ? Look::degraded : Look::normal);
  }

  // What makes switches alike.
  [[nodiscard]] bool special_leaf(std::uint32_t leaf) const {
    for (const std::uint32_t node : nodes_below_[leaf])
      if (troubled_node(node)) return true;
    for (std::uint32_t rail = 0; rail < rails(); ++rail)
      if (!factors_of(cluster_.uplinks_of_leaf(leaf + rail)).empty()) return true;
    return false;
  }
  [[nodiscard]] bool special_pod(std::uint32_t pod) const {
    if (!factors_of(cluster_.uplinks_of_pod(pod)).empty()) return true;
    return std::any_of(leaves_below_[pod].begin(), leaves_below_[pod].end(),
                       [this](std::uint32_t leaf) { return special_leaf(leaf); });
  }
  [[nodiscard]] std::string describe_leaf(std::uint32_t leaf) const {
    std::string text = fmt::format("{}", nodes_below_[leaf].size());
    for (const std::uint32_t node : nodes_below_[leaf])
      if (!cluster_.takes_ranks(node)) text += "i";
    return text;
  }
  [[nodiscard]] std::string describe_pod(std::uint32_t pod) const {
    std::string text;
    for (const std::uint32_t leaf : leaves_below_[pod])
      text += describe_leaf(leaf) + ",";
    return text;
  }
  [[nodiscard]] std::string leaf_name(std::uint32_t leaf) const {
    const auto* wiring = cluster_.spec().wiring.get();
    return wiring ? wiring->leaf_name[leaf / rails()] : fmt::format("leaf{}", leaf / rails());
  }
  [[nodiscard]] std::string pod_name(std::uint32_t pod) const {
    const auto* wiring = cluster_.spec().wiring.get();
    return wiring ? wiring->pod_name[pod] : fmt::format("spine{}", pod);
  }
  template <class Count>
  [[nodiscard]] std::string range_of(const Run& run, const Count& count) const {
    std::size_t least = count(run.first), most = least;
    for (std::uint32_t i = run.first; i < run.first + run.count; ++i) {
      least = std::min<std::size_t>(least, count(i));
      most = std::max<std::size_t>(most, count(i));
    }
    return least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most);
  }

  const Cluster& cluster_;
  const std::string& title_;
  DotText dot_;
  std::map<VertexId, std::vector<Slowdown>> troubles_;
  std::vector<std::vector<std::uint32_t>> nodes_below_;   ///< by leaf
  std::vector<std::vector<std::uint32_t>> leaves_below_;  ///< by pod; first rails only
  std::set<Tier> used_;
  bool any_idle_ = false;
};

}  // namespace

std::string topology_dot(const Cluster& cluster, const std::string& title) {
  return Drawer(cluster, title).draw();
}

}  // namespace flowplan::exporting
