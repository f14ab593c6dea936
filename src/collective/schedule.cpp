#include "flowplan/collective/schedule.hpp"

#include <algorithm>

#include "all_to_all.hpp"
#include "flow_writer.hpp"
#include "flowplan/collective/law.hpp"

namespace flowplan::collective {
namespace {

using topology::Cluster;
using topology::GpuId;

/// What `bytes` between two nodes become when each side's ranks take equal shares of them, rail by
/// rail. Nodes of different sizes: the shares of both sides are laid beside each other, and each
/// pair of ranks moves what its shares have in common.
void between_nodes(FlowWriter& writer, const Group& from, const Group& to, double bytes) {
  // In parts of one over (from x to), so that ends of shares meet exactly.
  const std::size_t parts = from.size() * to.size();
  for (std::size_t sender = 0, receiver = 0, at = 0; at < parts;) {
    const std::size_t sent = (sender + 1) * to.size(), received = (receiver + 1) * from.size();
    const std::size_t end = std::min(sent, received);
    writer.send(from[sender], to[receiver],
                bytes * static_cast<double>(end - at) / static_cast<double>(parts));
    at = end;
    if (end == sent) ++sender;
    if (end == received) ++receiver;
  }
}

/// The hops of rings or chains inside a node: channels start at different ranks, so each port
/// carries the same.
void inside_node(FlowWriter& writer, const Group& node, double bytes_per_port) {
  if (node.size() < 2) return;
  for (std::size_t i = 0; i < node.size(); ++i) {
    writer.send(node[i], node[(i + 1) % node.size()], bytes_per_port);
  }
}

/// Share of a ring's or chain's edges that stay inside a node, per port.
double inner_share(const Group& node, bool across) {
  const auto g = static_cast<double>(node.size());
  return across ? (g - 1.0) / g : 1.0;
}

void ring(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const double bytes = ring_volume(schedule.operation, schedule.shape.ranks, schedule.size).value();
  const bool across = members.size() > 1;
  for (std::size_t i = 0; i < members.size(); ++i) {
    inside_node(writer, members[i], bytes * inner_share(members[i], across));
    if (across) between_nodes(writer, members[i], members[(i + 1) % members.size()], bytes);
  }
}

/// Each of the two trees sends half of the vector up every edge and half down.
void tree_edges(FlowWriter& writer, const Members& members, double size) {
  const DoubleTree trees = double_tree(static_cast<int>(members.size()));
  for (const std::vector<int>* tree : {&trees.first, &trees.second}) {
    for (std::size_t child = 0; child < tree->size(); ++child) {
      if ((*tree)[child] < 0) continue;
      const Group& parent = members[static_cast<std::size_t>((*tree)[child])];
      between_nodes(writer, members[child], parent, size / 2.0);
      between_nodes(writer, parent, members[child], size / 2.0);
    }
  }
}

/// Parallel aggregated trees: in phase k a node sends to the one 2^k further what it has gathered.
void aggregated_trees(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const std::size_t nodes = members.size();
  const double part = schedule.size.value() / static_cast<double>(nodes);
  for (std::size_t distance = 1; distance < nodes; distance *= 2) {
    const double bytes = part * static_cast<double>(std::min(distance, nodes - distance));
    for (std::size_t i = 0; i < nodes; ++i)
      between_nodes(writer, members[i], members[(i + distance) % nodes], bytes);
  }
}

/// Every node sends its sum up to the switches and gets theirs: each GPU by its own NICs.
void switches_reduce(FlowWriter& writer, const Members& members, double size) {
  for (const Group& node : members) {
    const auto g = static_cast<double>(node.size());
    inside_node(writer, node, 2.0 * size * (g - 1.0) / g);
    for (const GpuId gpu : node) {
      writer.leave(gpu, size / g);
      writer.enter(gpu, size / g);
    }
  }
}

void tree(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const double size = schedule.size.value();
  for (const Group& node : members) {
    const auto g = static_cast<double>(node.size());
    inside_node(writer, node, 2.0 * size * (g - 1.0) / g);
  }
  if (members.size() > 1) tree_edges(writer, members, size);
}

bool gathers(Operation operation) {
  return operation == Operation::all_gather || operation == Operation::reduce_scatter;
}

/// Reading the reduced shards sends size and receives size / n, the multicast the reverse;
/// gathering and scattering do one of the two.
void switch_reduction(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const double size = schedule.size.value();
  for (const Group& node : members) {
    const auto g = static_cast<double>(node.size());
    for (const GpuId gpu : node)
      writer.through_port(gpu, gathers(schedule.operation) ? size : size * (g + 1.0) / g);
  }
}

/// As nccl-tests sends: to the next rank, the last one to the first.
void send_recv(FlowWriter& writer, const Schedule& schedule, const Members& members) {
  const Group& ranks = members.front();
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    writer.send(ranks[i], ranks[(i + 1) % ranks.size()], schedule.size.value());
  }
}

Coefficients full_coefficients(const Stack& stack, const Schedule& schedule) {
  const NodeLaw& node = stack.node;
  const NetworkLaw& network = stack.network;
  const std::size_t p = index(schedule.protocol);
  Coefficients c;
  c.wire = stack.wire_factor[p];
  if (schedule.operation == Operation::all_to_all) {
    c.nvlink = node.line / node.exchange_rate;
    // One node: the kernel copies the rank's own shard too.
    if (schedule.shape.nodes == 1)
      c.nvlink *= 1.0 + node.exchange_own_shard / (schedule.shape.ranks - 1);
    c.network = network.line / network.p2p_rate;
    // Senders on other rails than their receivers crowd each other.
    if (schedule.algorithm == Algorithm::pairwise && schedule.shape.per_node > 1)
      c.network *= network.cross_rail_slowdown;
    return c;
  }
  if (schedule.operation == Operation::send_recv) {
    c.nvlink = node.line / node.p2p_rate;
    c.network = network.line / network.p2p_rate;
    return c;
  }
  const ByProtocol& ring_rate =
      gathers(schedule.operation) ? network.gather_rate : network.ring_rate;
  c.nvlink = node.line / node.rate[p];
  c.network = network.line / ring_rate[p];
  switch (schedule.algorithm) {
    case Algorithm::ring:
      if (schedule.shape.nodes == 1) {
        // The kernel moves the rank's own shard too, at the same rate.
        c.nvlink *= 1.0 + node.own_shard / ring_steps(schedule.operation, schedule.shape.ranks);
      }
      c.nvlink = std::max(c.nvlink, node.line / node.port_rate);
      break;
    case Algorithm::tree:
      c.nvlink = std::max(c.nvlink, node.line / node.port_rate);
      c.network = network.line / network.tree_rate;
      if (schedule.protocol == Protocol::ll) c.network /= network.tree_ll_fraction;
      break;
    case Algorithm::nvls:
      c.nvlink =
          node.line / (gathers(schedule.operation) ? stack.nvls.gather_rate
                                                   : nvls_rate(stack.nvls, schedule.shape.ranks));
      break;
    case Algorithm::collnet:
      c.nvlink = node.line / network.collnet_rate;
      break;
    case Algorithm::pat:
    case Algorithm::nvls_tree:
      c.nvlink = node.line / network.nvls_tree_rate;
      break;
    case Algorithm::pairwise:
    case Algorithm::pxn:
    case Algorithm::hierarchical:
      break;
  }
  return c;
}

Coefficients coefficients(const Stack& stack, const Schedule& schedule) {
  Coefficients c = full_coefficients(stack, schedule);
  c.nvlink /= schedule.channel_share;
  c.network /= schedule.channel_share;
  return c;
}

/// NCCL's tree over 0 .. nodes-1: a node's height is its lowest set bit, node 0 is the root.
int tree_parent(int node, int nodes) {
  if (node == 0) return -1;
  const int bit = node & -node;
  const int up = (node & ~bit) | (bit << 1);
  return up < nodes ? up : node & ~bit;
}

}  // namespace

int ring_steps(Operation operation, int ranks) {
  return operation == Operation::all_reduce ? 2 * (ranks - 1) : ranks - 1;
}

int ring_network_steps(Operation operation, int nodes) {
  return operation == Operation::all_reduce ? 2 * (nodes - 1) : nodes - 1;
}

Bytes ring_volume(Operation operation, int ranks, Bytes size) {
  if (operation == Operation::broadcast || operation == Operation::reduce) return size;
  return size * (static_cast<double>(ring_steps(operation, ranks)) / ranks);
}

DoubleTree double_tree(int nodes) {
  DoubleTree trees;
  const bool even = nodes % 2 == 0;
  for (int node = 0; node < nodes; ++node) {
    trees.first.push_back(tree_parent(node, nodes));
    const int image = even ? nodes - 1 - node : (node + nodes - 1) % nodes;
    const int up = tree_parent(image, nodes);
    trees.second.push_back(up < 0 ? -1 : even ? nodes - 1 - up : (up + 1) % nodes);
  }
  return trees;
}

void visit_flows(const Stack& stack, const Schedule& schedule, const Cluster& cluster,
                 const Members& members, const FlowVisitor& visit) {
  FlowWriter writer(cluster, coefficients(stack, schedule), visit);
  if (schedule.operation == Operation::send_recv) return send_recv(writer, schedule, members);
  switch (schedule.algorithm) {
    case Algorithm::ring:
      return ring(writer, schedule, members);
    case Algorithm::tree:
      return tree(writer, schedule, members);
    case Algorithm::nvls:
      return switch_reduction(writer, schedule, members);
    case Algorithm::nvls_tree:
      switch_reduction(writer, schedule, members);
      return tree_edges(writer, members, schedule.size.value());
    case Algorithm::pat:
      return aggregated_trees(writer, schedule, members);
    case Algorithm::collnet:
      return switches_reduce(writer, members, schedule.size.value());
    case Algorithm::pairwise:
    case Algorithm::pxn:
    case Algorithm::hierarchical:
      return list_all_to_all(writer, schedule, members);
  }
}

void visit_loads(const Stack& stack, const Schedule& schedule, const Cluster& cluster,
                 const Members& members, const FlowVisitor& visit) {
  if (schedule.operation != Operation::all_to_all) {
    return visit_flows(stack, schedule, cluster, members, visit);
  }
  FlowWriter writer(cluster, coefficients(stack, schedule), visit);
  count_all_to_all(writer, schedule, members);
}

void add_flows(const Stack& stack, const Schedule& schedule, const Cluster& cluster,
               const Members& members, flow::FlowSet& flows) {
  visit_flows(stack, schedule, cluster, members,
              [&](std::span<const flow::Use> uses, double bytes) {
                flows.add(uses, {.bytes = bytes, .weight = bytes});
              });
}

}  // namespace flowplan::collective
