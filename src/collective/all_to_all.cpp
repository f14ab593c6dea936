#include "all_to_all.hpp"

#include <optional>
#include <unordered_map>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

using topology::Cluster;
using topology::GpuId;

/// Whether what goes to another node leaves by the GPU at the receiver's place.
bool by_rails(Algorithm algorithm) {
  return algorithm == Algorithm::pxn || algorithm == Algorithm::hierarchical;
}

/// The rank of a node that stands at the same place as a rank of another.
std::optional<GpuId> relay(const Cluster& cluster, const Group& node, GpuId receiver) {
  const std::uint32_t place = topology::index(receiver) % cluster.gpus_per_domain();
  const auto at_place = [&](GpuId gpu) {
    return topology::index(gpu) % cluster.gpus_per_domain() == place;
  };
  // Most groups have whole nodes in order: then it is where it is expected.
  if (place < node.size() && at_place(node[place])) return node[place];
  for (const GpuId gpu : node) {
    if (at_place(gpu)) return gpu;
  }
  return std::nullopt;
}

/// Some of the messages from, or to, a node.
struct NodePart {
  GpuId gpu;      ///< by whose NICs they go
  double amount;  ///< ranks that send them, or receive them
};

/// Amounts at few places (leaves, or pods).
class Places {
 public:
  struct Entry {
    std::uint32_t place;
    double amount;
  };

  void clear() { entries_.clear(); }
  void add(std::uint32_t place, double amount) {
    for (Entry& entry : entries_) {
      if (entry.place != place) continue;
      entry.amount += amount;
      return;
    }
    entries_.push_back({place, amount});
  }
  [[nodiscard]] double at(std::uint32_t place) const {
    for (const Entry& entry : entries_) {
      if (entry.place == place) return entry.amount;
    }
    return 0.0;
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

/// Messages that cross the uplinks of one layer of switches. On a rail, a message goes from any of
/// the senders to any of the receivers; those between ranks of one node stay inside it.
class Layer {
 public:
  Layer(std::uint32_t places, std::uint32_t rails)
      : places_(places),
        senders_(std::size_t{places} * rails),
        receivers_(std::size_t{places} * rails),
        inside_up_(places),
        inside_down_(places) {}

  /// One node's senders and receivers on a rail, by place.
  void add(std::uint32_t rail, const Places& senders, const Places& receivers) {
    double from = 0.0, to = 0.0;
    for (const Places::Entry& entry : senders.entries()) {
      senders_[at(rail, entry.place)] += entry.amount;
      from += entry.amount;
    }
    for (const Places::Entry& entry : receivers.entries()) {
      receivers_[at(rail, entry.place)] += entry.amount;
      to += entry.amount;
    }
    for (const Places::Entry& entry : senders.entries())
      inside_up_[entry.place] += entry.amount * (to - receivers.at(entry.place));
    for (const Places::Entry& entry : receivers.entries())
      inside_down_[entry.place] += entry.amount * (from - senders.at(entry.place));
  }

  [[nodiscard]] double up(std::uint32_t place, const std::vector<double>& receivers) const {
    double messages = -inside_up_[place];
    for (std::uint32_t rail = 0; rail < receivers.size(); ++rail)
      messages += senders_[at(rail, place)] * (receivers[rail] - receivers_[at(rail, place)]);
    return messages;
  }
  [[nodiscard]] double down(std::uint32_t place, double senders, std::size_t rails) const {
    double messages = -inside_down_[place];
    for (std::uint32_t rail = 0; rail < rails; ++rail)
      messages += receivers_[at(rail, place)] * (senders - senders_[at(rail, place)]);
    return messages;
  }

 private:
  [[nodiscard]] std::size_t at(std::uint32_t rail, std::uint32_t place) const {
    return std::size_t{rail} * places_ + place;
  }

  std::uint32_t places_;
  std::vector<double> senders_, receivers_;      // by rail and place
  std::vector<double> inside_up_, inside_down_;  // between ranks of one node, by place
};

/// Counts the messages of one group by the links that they cross.
class Counter {
 public:
  Counter(FlowWriter& writer, const Schedule& schedule, const Members& members)
      : writer_(writer),
        cluster_(writer.cluster()),
        members_(members),
        by_rail_(by_rails(schedule.algorithm)),
        message_(schedule.size.value() / schedule.shape.ranks),
        rails_(by_rail_ ? cluster_.gpus_per_domain() : 1),
        receivers_(rails_, 0.0),
        leaves_(cluster_.leaves(), rails_),
        pods_(cluster_.pods(), rails_) {
    for (const Group& node : members_) {
      ranks_ += static_cast<double>(node.size());
      for (const GpuId gpu : node)
        receivers_[rail(gpu)] += 1.0;
    }
  }

  void show() {
    for (const Group& node : members_) {
      ports(node);
      if (members_.size() == 1) return;
      own_.assign(rails_, 0.0);
      for (const GpuId gpu : node)
        own_[rail(gpu)] += 1.0;
      for (std::uint32_t r = 0; r < rails_; ++r) {
        if (receivers_[r] > 0.0) network(node, r);
      }
    }
    uplinks();
  }

 private:
  [[nodiscard]] std::uint32_t rail(GpuId gpu) const {
    FLOWPLAN_ASSERT(rails_ > 0);
    return topology::index(gpu) % rails_;
  }

  /// NVLink: to each rank of the node its own message and those that it passes on.
  void ports(const Group& node) {
    if (node.size() < 2) return;
    const auto passes = [&](GpuId gpu) { return by_rail_ ? receivers_[rail(gpu)] : 1.0; };
    double all = 0.0;
    for (const GpuId gpu : node)
      all += passes(gpu);
    const auto others = static_cast<double>(node.size() - 1);
    for (const GpuId gpu : node) {
      writer_.port_out(gpu, message_ * (all - passes(gpu)));
      writer_.port_in(gpu, message_ * others * passes(gpu));
    }
  }

  /// What the node sends and receives on a rail.
  void network(const Group& node, std::uint32_t r) {
    senders_of(node, r);
    sent_at_leaves_.clear(), sent_at_pods_.clear();
    const double others = receivers_[r] - own_[r];
    for (const NodePart& part : parts_) {
      const std::vector<GpuId> exits = cluster_.exits(part.gpu);
      const double share = part.amount / static_cast<double>(exits.size());
      for (const GpuId exit : exits) {
        const double bytes = message_ * share * others;
        if (exit != part.gpu) writer_.port_out(part.gpu, bytes), writer_.port_in(exit, bytes);
        writer_.leave(exit, bytes);
        sent_at_leaves_.add(cluster_.leaf_of(exit), share);
        sent_at_pods_.add(cluster_.pod_of(exit), share);
      }
    }
    received_at_leaves_.clear(), received_at_pods_.clear();
    const double senders = ranks_ - static_cast<double>(node.size());
    for (const GpuId gpu : node) {
      if (rail(gpu) != r) continue;
      const std::vector<GpuId> entries = cluster_.entries(gpu);
      const double share = 1.0 / static_cast<double>(entries.size());
      for (const GpuId entry : entries) {
        const double bytes = message_ * share * senders;
        if (entry != gpu) writer_.port_out(entry, bytes), writer_.port_in(gpu, bytes);
        writer_.enter(entry, bytes);
        received_at_leaves_.add(cluster_.leaf_of(entry), share);
        received_at_pods_.add(cluster_.pod_of(entry), share);
      }
    }
    leaves_.add(r, sent_at_leaves_, received_at_leaves_);
    pods_.add(r, sent_at_pods_, received_at_pods_);
  }

  /// Who sends to the receivers of a rail: the rank on it for all of the node, else each rank.
  void senders_of(const Group& node, std::uint32_t r) {
    parts_.clear();
    if (by_rail_ && own_[r] > 0.0) {
      for (const GpuId gpu : node) {
        if (rail(gpu) == r) parts_.push_back({gpu, static_cast<double>(node.size())});
      }
      return;
    }
    for (const GpuId gpu : node)
      parts_.push_back({gpu, 1.0});
  }

  void uplinks() {
    for (std::uint32_t leaf = 0; leaf < cluster_.leaves(); ++leaf) {
      layer(cluster_.uplinks_of_leaf(leaf), leaves_.up(leaf, receivers_),
            leaves_.down(leaf, ranks_, rails_));
    }
    for (std::uint32_t pod = 0; pod < cluster_.pods(); ++pod) {
      layer(cluster_.uplinks_of_pod(pod), pods_.up(pod, receivers_),
            pods_.down(pod, ranks_, rails_));
    }
  }

  /// Loads the planes of a switch alike: links up and down in turn.
  void layer(const std::vector<flow::LinkId>& links, double up, double down) {
    for (const std::size_t first : {0u, 1u}) {
      const double messages = first == 0 ? up : down;
      double working = 0.0;
      for (std::size_t i = first; i < links.size(); i += 2) {
        if (cluster_.capacity(links[i]) > 0.0) working += 1.0;
      }
      for (std::size_t i = first; i < links.size(); i += 2) {
        if (working > 0.0 && !(cluster_.capacity(links[i]) > 0.0)) continue;
        const double planes = working > 0.0 ? working : static_cast<double>(links.size()) / 2.0;
        // Rounding of what cancels out must not load a switch that nothing crosses.
        if (messages > ranks_ * rounding) writer_.cross(links[i], message_ * messages / planes);
      }
    }
  }

  static constexpr double rounding = 1e-9;

  FlowWriter& writer_;
  const Cluster& cluster_;
  const Members& members_;
  bool by_rail_;
  double message_;  // bytes from one rank to another
  std::uint32_t rails_;
  double ranks_ = 0.0;
  std::vector<double> receivers_;  // by rail
  Layer leaves_, pods_;

  // Of the node at hand; kept for their memory.
  std::vector<double> own_;  // its receivers by rail
  std::vector<NodePart> parts_;
  Places sent_at_leaves_, sent_at_pods_, received_at_leaves_, received_at_pods_;
};

/// Ordered pairs that `list_all_to_all` would show between nodes.
double pairs_between_nodes(const Schedule& schedule, const Members& members) {
  const double ranks = schedule.shape.ranks;
  const double senders = by_rails(schedule.algorithm) ? static_cast<double>(members.size()) : ranks;
  return senders * ranks;
}

}  // namespace

void list_all_to_all(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const Cluster& cluster = writer.cluster();
  const double message = schedule.size.value() / schedule.shape.ranks;
  const bool by_rail = by_rails(schedule.algorithm);
  std::unordered_map<std::uint32_t, double> passed_on;  // messages, by who passes them on
  for (const Group& from : members) {
    passed_on.clear();
    const auto ranks = static_cast<double>(from.size());
    for (const Group& to : members) {
      for (const GpuId receiver : to) {
        const std::optional<GpuId> by =
            by_rail && &from != &to ? relay(cluster, from, receiver) : std::nullopt;
        if (by) {
          writer.send(*by, receiver, message * ranks);
          passed_on[topology::index(*by)] += 1.0;
          continue;
        }
        for (const GpuId sender : from) {
          if (sender != receiver) writer.send(sender, receiver, message);
        }
      }
    }
    for (const GpuId by : from) {
      const auto found = passed_on.find(topology::index(by));
      if (found == passed_on.end()) continue;
      for (const GpuId sender : from) {
        if (sender != by) writer.send(sender, by, message * found->second);
      }
    }
  }
}

void count_all_to_all(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const Cluster& cluster = writer.cluster();
  const bool hashed = cluster.spec().fabric.routing == topology::Routing::ecmp;
  if (hashed && members.size() > 1 && pairs_between_nodes(schedule, members) <= most_hashed_pairs) {
    return list_all_to_all(writer, schedule, members);
  }
  Counter(writer, schedule, members).show();
}

}  // namespace flowplan::collective
