#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <numeric>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "flowplan/flow/quotient.hpp"

/// Traffic of collectives on a synthetic cluster, each listed flow by flow and written from counts.
namespace flowplan::flow {

/// Nodes with one NIC for each GPU (its rail), in slots of leaves, these in pods. The uplinks of a
/// leaf are pooled, and so are those of a pod.
struct Cluster {
  std::uint32_t nodes = 1, gpus = 1, nodes_per_leaf = 1, leaves_per_pod = 1;
  std::vector<std::uint32_t> slot;  // per node
  struct Defect {
    std::uint32_t node = 0, rail = 0;
  };
  std::optional<Defect> slow_nic;  // runs at half rate in both directions

  static constexpr double nvlink = 450e9, nic = 50e9, leaf = 700e9, pod = 2e12;

  [[nodiscard]] std::uint32_t leaf_of(std::uint32_t node) const {
    return slot[node] / nodes_per_leaf;
  }
  [[nodiscard]] std::uint32_t pod_of(std::uint32_t node) const {
    return leaf_of(node) / leaves_per_pod;
  }
  [[nodiscard]] std::uint32_t leaves() const {
    return *std::max_element(slot.begin(), slot.end()) / nodes_per_leaf + 1;
  }
  [[nodiscard]] std::uint32_t pods() const { return (leaves() - 1) / leaves_per_pod + 1; }
  [[nodiscard]] bool slow(std::uint32_t node, std::uint32_t rail) const {
    return slow_nic && slow_nic->node == node && slow_nic->rail == rail;
  }
  [[nodiscard]] double nic_capacity(std::uint32_t node, std::uint32_t rail) const {
    return slow(node, rail) ? nic / 2 : nic;
  }
};

inline Cluster contiguous(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t nodes_per_leaf,
                          std::uint32_t leaves_per_pod) {
  Cluster cluster{nodes, gpus, nodes_per_leaf, leaves_per_pod, {}, {}};
  cluster.slot.resize(nodes);
  std::iota(cluster.slot.begin(), cluster.slot.end(), 0U);
  return cluster;
}

/// The nodes at random among twice as many slots, ranks in the order of slots.
inline Cluster scattered(Cluster cluster, std::uint32_t seed) {
  std::vector<std::uint32_t> slots(std::size_t{2} * cluster.nodes);
  std::iota(slots.begin(), slots.end(), 0U);
  std::shuffle(slots.begin(), slots.end(), std::mt19937(seed));
  slots.resize(cluster.nodes);
  std::sort(slots.begin(), slots.end());
  cluster.slot = slots;
  return cluster;
}

/// From the GPUs of one node to those of another, on the same rail each.
struct NodePair {
  std::uint32_t source, target;
};

inline std::vector<NodePair> ring(const Cluster& cluster) {
  std::vector<NodePair> pairs;
  for (std::uint32_t n = 0; n < cluster.nodes; ++n)
    pairs.push_back({n, (n + 1) % cluster.nodes});
  return pairs;
}

/// Two binary trees over the nodes, the second one moved on by one node; up and down.
inline std::vector<NodePair> double_tree(const Cluster& cluster) {
  std::vector<NodePair> pairs;
  for (std::uint32_t shift = 0; shift < 2; ++shift) {
    for (std::uint32_t n = 1; n < cluster.nodes; ++n) {
      const std::uint32_t child = (n + shift) % cluster.nodes;
      const std::uint32_t parent = ((n - 1) / 2 + shift) % cluster.nodes;
      pairs.push_back({child, parent});
      pairs.push_back({parent, child});
    }
  }
  return pairs;
}

/// All-to-all within groups of so many nodes, the last of which may be smaller.
inline std::vector<NodePair> rail_groups(const Cluster& cluster, std::uint32_t group) {
  std::vector<NodePair> pairs;
  for (std::uint32_t n = 0; n < cluster.nodes; ++n) {
    const std::uint32_t begin = n / group * group;
    for (std::uint32_t m = begin; m < std::min(begin + group, cluster.nodes); ++m) {
      if (m != n) pairs.push_back({n, m});
    }
  }
  return pairs;
}

struct Listed {
  Network network;
  FlowSet flows;
};

/// All links of a cluster, each by arithmetic.
class ListedCluster {
 public:
  explicit ListedCluster(const Cluster& cluster) : cluster_(cluster), leaves_(cluster.leaves()) {
    std::vector<double>& capacity = listed_.network.capacity;
    capacity.assign(std::size_t{2} * cluster.nodes * cluster.gpus, Cluster::nvlink);
    for (std::uint32_t n = 0; n < cluster.nodes; ++n) {
      for (std::uint32_t r = 0; r < cluster.gpus; ++r)
        capacity.insert(capacity.end(), 2, cluster.nic_capacity(n, r));
    }
    capacity.insert(capacity.end(), std::size_t{2} * leaves_, Cluster::leaf);
    capacity.insert(capacity.end(), std::size_t{2} * cluster.pods(), Cluster::pod);
  }

  enum Direction : std::uint32_t { up, down };

  [[nodiscard]] LinkId nvlink(std::uint32_t node, std::uint32_t gpu, Direction d) const {
    return LinkId{2 * (node * cluster_.gpus + gpu) + d};
  }
  [[nodiscard]] LinkId nic(std::uint32_t node, std::uint32_t rail, Direction d) const {
    return LinkId{2 * (cluster_.nodes * cluster_.gpus + node * cluster_.gpus + rail) + d};
  }
  [[nodiscard]] LinkId leaf(std::uint32_t leaf, Direction d) const {
    return LinkId{4 * cluster_.nodes * cluster_.gpus + 2 * leaf + d};
  }
  [[nodiscard]] LinkId pod(std::uint32_t pod, Direction d) const {
    return LinkId{4 * cluster_.nodes * cluster_.gpus + 2 * leaves_ + 2 * pod + d};
  }

  void add(std::uint32_t source, std::uint32_t from_rail, std::uint32_t target,
           std::uint32_t to_rail, const FlowSpec& spec) {
    path_.assign({{nic(source, from_rail, up)}});
    if (cluster_.leaf_of(source) != cluster_.leaf_of(target)) {
      path_.push_back({leaf(cluster_.leaf_of(source), up)});
      if (cluster_.pod_of(source) != cluster_.pod_of(target)) {
        path_.push_back({pod(cluster_.pod_of(source), up)});
        path_.push_back({pod(cluster_.pod_of(target), down)});
      }
      path_.push_back({leaf(cluster_.leaf_of(target), down)});
    }
    path_.push_back({nic(target, to_rail, down)});
    listed_.flows.add(path_, spec);
  }

  Listed& operator*() { return listed_; }

 private:
  const Cluster& cluster_;
  std::uint32_t leaves_;
  Listed listed_;
  std::vector<Use> path_;
};

inline Listed list_pairs(const Cluster& cluster, const std::vector<NodePair>& pairs,
                         const FlowSpec& spec) {
  ListedCluster listed(cluster);
  for (const NodePair& pair : pairs) {
    for (std::uint32_t r = 0; r < cluster.gpus; ++r)
      listed.add(pair.source, r, pair.target, r, spec);
  }
  return *listed;
}

/// Every GPU to every GPU of other nodes.
inline Listed list_all_to_all(const Cluster& cluster, const FlowSpec& spec) {
  ListedCluster listed(cluster);
  for (std::uint32_t n = 0; n < cluster.nodes; ++n) {
    for (std::uint32_t m = 0; m < cluster.nodes; ++m) {
      for (std::uint32_t r = 0; r < cluster.gpus * cluster.gpus && m != n; ++r)
        listed.add(n, r / cluster.gpus, m, r % cluster.gpus, spec);
    }
  }
  return *listed;
}

/// All-reduce by the switch of each node: for its shard a GPU reads the sum of all GPUs, then
/// writes to all of them.
inline Listed list_nvls(const Cluster& cluster, const FlowSpec& spec) {
  ListedCluster listed(cluster);
  using L = ListedCluster;
  for (std::uint32_t n = 0; n < cluster.nodes; ++n) {
    for (std::uint32_t owner = 0; owner < cluster.gpus; ++owner) {
      std::vector<Use> sum{{listed.nvlink(n, owner, L::down)}};
      std::vector<Use> write{{listed.nvlink(n, owner, L::up)}};
      for (std::uint32_t g = 0; g < cluster.gpus; ++g) {
        sum.push_back({listed.nvlink(n, g, L::up)});
        write.push_back({listed.nvlink(n, g, L::down)});
      }
      (*listed).flows.add(sum, spec);
      (*listed).flows.add(write, spec);
    }
  }
  return *listed;
}

inline Quotient count_nvls(const Cluster& cluster, const FlowSpec& spec) {
  const std::uint64_t all = std::uint64_t{cluster.nodes} * cluster.gpus;
  QuotientBuilder builder;
  const LinkId up = builder.link_class(Cluster::nvlink, all);
  const LinkId down = builder.link_class(Cluster::nvlink, all);
  for (const auto& [many, one] : {std::pair{up, down}, std::pair{down, up}}) {
    const FlowId flow = builder.flow_class(spec, all);
    builder.use(flow, many, cluster.gpus, cluster.gpus);
    builder.use(flow, one, 1);
  }
  return builder.build();
}

/// Rails that are alike on every node: all of them, or the one of the slow NIC and the others.
inline std::vector<std::uint32_t> rail_group_sizes(const Cluster& cluster) {
  if (!cluster.slow_nic) return {cluster.gpus};
  if (cluster.gpus == 1) return {1};
  return {1, cluster.gpus - 1};
}

/// The same as `list_pairs`, with the rails counted.
inline Quotient count_pairs(const Cluster& cluster, const std::vector<NodePair>& pairs,
                            const FlowSpec& spec) {
  const std::vector<std::uint32_t> sizes = rail_group_sizes(cluster);
  QuotientBuilder builder;
  std::vector<std::array<LinkId, 2>> nic, leaf, pod;  // up and down
  const auto both = [&](double capacity, std::uint64_t links) {
    const LinkId up = builder.link_class(capacity, links);
    return std::array{up, builder.link_class(capacity, links)};
  };
  for (std::uint32_t n = 0; n < cluster.nodes; ++n) {
    for (std::uint32_t g = 0; g < sizes.size(); ++g) {
      const bool slow = g == 0 && cluster.slow_nic && cluster.slow_nic->node == n;
      nic.push_back(both(slow ? Cluster::nic / 2 : Cluster::nic, sizes[g]));
    }
  }
  for (std::uint32_t l = 0; l < cluster.leaves(); ++l)
    leaf.push_back(both(Cluster::leaf, 1));
  for (std::uint32_t p = 0; p < cluster.pods(); ++p)
    pod.push_back(both(Cluster::pod, 1));
  for (const auto& [source, target] : pairs) {
    for (std::uint32_t g = 0; g < sizes.size(); ++g) {
      const FlowId flow = builder.flow_class(spec, sizes[g]);
      builder.use(flow, nic[source * sizes.size() + g][0], 1);
      if (cluster.leaf_of(source) != cluster.leaf_of(target)) {
        builder.use(flow, leaf[cluster.leaf_of(source)][0], sizes[g]);
        if (cluster.pod_of(source) != cluster.pod_of(target)) {
          builder.use(flow, pod[cluster.pod_of(source)][0], sizes[g]);
          builder.use(flow, pod[cluster.pod_of(target)][1], sizes[g]);
        }
        builder.use(flow, leaf[cluster.leaf_of(target)][1], sizes[g]);
      }
      builder.use(flow, nic[target * sizes.size() + g][1], 1);
    }
  }
  return builder.build();
}

/// The same as `list_all_to_all`, from how the nodes fill leaves and pods: no pair of nodes is
/// looked at, only pairs of classes of nodes.
class AllToAllCounter {
 public:
  AllToAllCounter(const Cluster& cluster, const FlowSpec& spec)
      : cluster_(cluster), spec_(spec), rails_(rail_group_sizes(cluster)) {
    classify();
    make_links();
  }

  Quotient operator()() {
    for (std::uint32_t a = 0; a < nodes_.size(); ++a) {
      for (std::uint32_t b = 0; b < nodes_.size(); ++b) {
        for (std::uint32_t r = 0; r < rails_.size() * rails_.size(); ++r) {
          const auto from = static_cast<std::uint32_t>(r / rails_.size());
          const auto to = static_cast<std::uint32_t>(r % rails_.size());
          for (const Where where : {Where::leaf, Where::pod, Where::elsewhere})
            add(a, from, b, to, where);
        }
      }
    }
    return builder_.build();
  }

 private:
  enum class Where { leaf, pod, elsewhere };
  using Both = std::array<LinkId, 2>;

  /// Occupied leaves and pods that look alike.
  struct Places {
    std::uint64_t count = 0;
    Both link{};
  };
  struct Nodes {
    std::uint32_t leaf = 0, pod = 0;  // classes
    bool slow = false;
    std::uint64_t count = 0;
    std::vector<Both> nic;  // per group of rails
  };

  void classify() {
    using LeafKey = std::pair<std::uint32_t, bool>;  // nodes in it, the slow one among them
    std::map<std::uint32_t, LeafKey> leaf;
    for (std::uint32_t n = 0; n < cluster_.nodes; ++n) {
      LeafKey& key = leaf[cluster_.leaf_of(n)];
      ++key.first;
      key.second |= is_slow(n);
    }
    std::map<std::uint32_t, std::vector<LeafKey>> pod;
    for (const auto& [l, key] : leaf)
      pod[l / cluster_.leaves_per_pod].push_back(key);
    std::map<std::vector<LeafKey>, std::uint32_t> pod_class;
    std::map<std::uint32_t, std::uint32_t> class_of_pod;
    for (auto& [p, keys] : pod) {
      std::sort(keys.begin(), keys.end());
      const auto c = static_cast<std::uint32_t>(pod_class.size());
      class_of_pod[p] = pod_class.emplace(keys, c).first->second;
      pods_.resize(pod_class.size());
      ++pods_[class_of_pod[p]].count;
    }
    std::map<std::pair<std::uint32_t, LeafKey>, std::uint32_t> leaf_class;
    std::map<std::uint32_t, std::uint32_t> class_of_leaf;
    for (const auto& [l, key] : leaf) {
      const std::uint32_t p = class_of_pod[l / cluster_.leaves_per_pod];
      const auto c = static_cast<std::uint32_t>(leaf_class.size());
      class_of_leaf[l] = leaf_class.emplace(std::pair(p, key), c).first->second;
      leaves_.resize(leaf_class.size());
      ++leaves_[class_of_leaf[l]].count;
    }
    std::map<std::pair<std::uint32_t, bool>, std::size_t> node_class;
    for (std::uint32_t n = 0; n < cluster_.nodes; ++n) {
      const std::uint32_t l = class_of_leaf[cluster_.leaf_of(n)];
      const auto [at, fresh] = node_class.try_emplace({l, is_slow(n)}, nodes_.size());
      if (fresh) nodes_.push_back({l, class_of_pod[cluster_.pod_of(n)], is_slow(n), 0, {}});
      ++nodes_[at->second].count;
    }
  }

  void make_links() {
    const auto both = [&](double capacity, std::uint64_t links) {
      const LinkId up = builder_.link_class(capacity, links);
      return Both{up, builder_.link_class(capacity, links)};
    };
    for (Places& leaf : leaves_)
      leaf.link = both(Cluster::leaf, leaf.count);
    for (Places& pod : pods_)
      pod.link = both(Cluster::pod, pod.count);
    for (Nodes& node : nodes_) {
      for (std::size_t g = 0; g < rails_.size(); ++g) {
        const bool slow = node.slow && g == 0;
        node.nic.push_back(both(slow ? Cluster::nic / 2 : Cluster::nic, node.count * rails_[g]));
      }
    }
  }

  [[nodiscard]] bool is_slow(std::uint32_t node) const {
    return cluster_.slow_nic && cluster_.slow_nic->node == node;
  }
  [[nodiscard]] std::uint64_t in_leaf(std::uint32_t a) const {
    return nodes_[a].count / leaves_[nodes_[a].leaf].count;
  }
  [[nodiscard]] std::uint64_t in_pod(std::uint32_t a) const {
    return nodes_[a].count / pods_[nodes_[a].pod].count;
  }

  /// How many nodes of class b a node of class a sees there.
  [[nodiscard]] std::uint64_t seen(std::uint32_t a, std::uint32_t b, Where where) const {
    const std::uint64_t leaf = nodes_[a].leaf == nodes_[b].leaf ? in_leaf(b) : 0;
    const std::uint64_t pod = nodes_[a].pod == nodes_[b].pod ? in_pod(b) : 0;
    switch (where) {
      case Where::leaf:
        return leaf - (a == b ? 1 : 0);
      case Where::pod:
        return pod - leaf;
      case Where::elsewhere:
        break;
    }
    return nodes_[b].count - pod;
  }

  void add(std::uint32_t a, std::uint32_t from, std::uint32_t b, std::uint32_t to, Where where) {
    const std::uint64_t out = seen(a, b, where) * rails_[to];   // flows of a source
    const std::uint64_t in = seen(b, a, where) * rails_[from];  // flows to a target
    if (out == 0) return;
    const FlowId flow = builder_.flow_class(spec_, nodes_[a].count * rails_[from] * out);
    builder_.use(flow, nodes_[a].nic[from][0], out);
    if (where != Where::leaf) {
      builder_.use(flow, leaves_[nodes_[a].leaf].link[0], in_leaf(a) * rails_[from] * out);
      if (where == Where::elsewhere) {
        builder_.use(flow, pods_[nodes_[a].pod].link[0], in_pod(a) * rails_[from] * out);
        builder_.use(flow, pods_[nodes_[b].pod].link[1], in_pod(b) * rails_[to] * in);
      }
      builder_.use(flow, leaves_[nodes_[b].leaf].link[1], in_leaf(b) * rails_[to] * in);
    }
    builder_.use(flow, nodes_[b].nic[to][1], in);
  }

  const Cluster& cluster_;
  FlowSpec spec_;
  std::vector<std::uint32_t> rails_;
  QuotientBuilder builder_;
  std::vector<Places> leaves_, pods_;
  std::vector<Nodes> nodes_;
};

inline Quotient count_all_to_all(const Cluster& cluster, const FlowSpec& spec) {
  return AllToAllCounter(cluster, spec)();
}

}  // namespace flowplan::flow
