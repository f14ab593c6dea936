#include "flowplan/collective/law.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::collective {
namespace {

/// Times in us, as the constants are.
struct Parts {
  double launch = 0.0, latency = 0.0, total = 0.0;
};

double norm(double a, double b, double p) {
  const double larger = std::max(a, b);
  if (larger <= 0.0) return 0.0;
  // Scaled by the larger one so that small powers of huge ratios stay exact.
  return larger * std::pow(1.0 + std::pow(std::min(a, b) / larger, p), 1.0 / p);
}

double log2_of(int value) {
  return std::log2(static_cast<double>(value));
}

/// Rises from 0 at `from` to 1 at `to`, linearly in log2(size).
double ramp(double size, double from, double to) {
  return std::clamp(std::log2(size / from) / std::log2(to / from), 0.0, 1.0);
}

Parts ring_inside(const Stack& stack, const Schedule& s, double transfer) {
  const NodeLaw& law = stack.node;
  const std::size_t p = index(s.protocol);
  Parts t;
  t.launch = law.launch_us + law.growth_us * log2_of(s.shape.ranks) *
                                 ramp(s.size.value(), law.growth_from_bytes, law.growth_to_bytes);
  t.latency = ring_steps(s.operation, s.shape.ranks) * law.step_us[p];
  t.total = t.launch + (s.protocol == Protocol::ll
                            ? t.latency + std::max(0.0, transfer - law.ll_hidden * t.latency)
                            : norm(t.latency, transfer, law.overlap));
  return t;
}

Parts ring_across(const Stack& stack, const Schedule& s, double transfer) {
  const NetworkLaw& law = stack.network;
  const std::size_t p = index(s.protocol);
  const double steps = ring_steps(s.operation, s.shape.ranks);
  const double crossings = ring_network_steps(s.operation, s.shape.nodes);
  Parts t;
  t.launch = stack.node.launch_us + law.launch_us;
  t.latency = s.protocol == Protocol::simple ? steps * law.ring_step_us[p]
                                             : (steps - crossings) * law.ring_inner_step_us[p] +
                                                   crossings * law.ring_step_us[p];
  t.total = t.launch + norm(t.latency, transfer, law.ring_overlap[p]);
  return t;
}

/// Broadcast and reduce: a chain over all ranks, chunk after chunk.
Parts chain(const Stack& stack, const Schedule& s, double transfer) {
  const NetworkLaw& network = stack.network;
  const std::size_t p = index(s.protocol);
  const double hops = s.shape.ranks - 1;
  const double crossings = s.shape.nodes - 1;
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = (hops - crossings) * stack.node.step_us[p] + crossings * network.p2p_us;
  t.total = t.launch + norm(t.latency, transfer, network.tree_overlap);
  return t;
}

/// Phases that double what each has gathered; every rank's part is handled one by one.
Parts aggregated_trees(const Stack& stack, const Schedule& s, double transfer) {
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = std::ceil(log2_of(s.shape.nodes)) * stack.network.p2p_us +
              s.shape.ranks * stack.model.pat_rank_us;
  t.total = t.launch + norm(t.latency, transfer, stack.network.ring_overlap[index(s.protocol)]);
  return t;
}

Parts collnet(const Stack& stack, double transfer) {
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = stack.network.collnet_us;
  t.total = t.launch + t.latency + transfer;
  return t;
}

Parts tree(const Stack& stack, const Schedule& s, double transfer) {
  const NetworkLaw& law = stack.network;
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = 2.0 * (s.shape.per_node - 1) * law.tree_step_us +
              2.0 * log2_of(s.shape.nodes) * law.tree_network_step_us;
  t.total = t.launch + norm(t.latency, transfer, law.tree_overlap);
  return t;
}

Parts nvls(const Stack& stack, const Schedule& s, double transfer) {
  const NvlsLaw& law = stack.nvls;
  const double operations = law.channels * s.channel_share * s.shape.ranks;
  const double chunk_bytes = chunk(law.chunk, operations, s.size).value();
  const double loop = operations * chunk_bytes;
  const double step = law.step_us * std::min(1.0, s.shape.ranks / law.step_full_ranks) *
                      std::sqrt(chunk_bytes / law.step_chunk_bytes);
  const double loops = nvls_loops(law, operations, s.size) + law.extra_loops;
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = loops * step;
  t.total = t.launch + loops * norm(step, transfer * loop / s.size.value(), law.overlap);
  return t;
}

Parts nvls_tree(const Stack& stack, const Schedule& s, double transfer) {
  const NetworkLaw& law = stack.network;
  const double operations = law.nvls_tree_channels * s.channel_share * s.shape.per_node;
  const double loop = operations * chunk(law.nvls_tree_chunk, operations, s.size).value();
  const double loops = std::max(1.0, s.size.value() / loop);
  const double one =
      norm(law.nvls_tree_loop_us, transfer * loop / s.size.value(), law.nvls_tree_overlap);
  const double fill = 2.0 * log2_of(s.shape.nodes);  // loops until the pipe is full
  Parts t;
  t.launch = stack.node.launch_us;
  t.latency = fill * (law.nvls_tree_step_us + one) + loops * law.nvls_tree_loop_us;
  t.total = t.launch + fill * (law.nvls_tree_step_us + one) + loops * one;
  return t;
}

/// What a message costs beside its bytes, as a share of the transfer. As latency it grows with the
/// root of the size, until the message fills its buffers; then it stays.
double lost_share(const NetworkLaw& law, double message) {
  const double full = law.p2p_message_full_bytes;
  return law.p2p_message_factor *
         std::sqrt(law.p2p_message_reference_bytes / std::min(message, full)) *
         std::min(1.0, full / message);
}

/// Rises from 0 to 1 while more channels start.
double channels_started(const NodeLaw& law, double message) {
  return ramp(message, law.p2p_growth_from_bytes, law.p2p_growth_to_bytes);
}

Parts send_recv(const Stack& stack, const Schedule& s, double transfer) {
  const NodeLaw& node = stack.node;
  const double message = s.size.value();
  Parts t;
  if (s.shape.nodes == 1) {
    t.launch = node.launch_us + node.p2p_extra_us;
    t.latency = node.p2p_peer_us + node.p2p_growth_us * channels_started(node, message);
  } else {
    t.launch = node.launch_us;
    t.latency = stack.network.p2p_us + transfer * lost_share(stack.network, message);
  }
  t.total = t.launch + t.latency + transfer;
  return t;
}

Parts exchange_inside(const NodeLaw& node, int ranks, double message, double transfer) {
  Parts t;
  t.launch = node.launch_us + node.exchange_extra_us;
  t.latency = node.exchange_peer_us * log2_of(ranks) +
              node.exchange_growth_us * channels_started(node, message);
  t.total = t.launch + norm(t.latency, transfer, node.exchange_overlap);
  return t;
}

Parts exchange_across(const NetworkLaw& network, int nodes, double message, double transfer) {
  Parts t;
  t.launch = network.all_to_all_us;
  t.latency =
      network.all_to_all_doubling_us * log2_of(nodes) + transfer * lost_share(network, message);
  t.total = t.launch + t.latency + transfer;
  return t;
}

Parts all_to_all(const Stack& stack, const Schedule& s, double transfer) {
  const double message = s.size.value() / s.shape.ranks;
  return s.shape.nodes == 1 ? exchange_inside(stack.node, s.shape.ranks, message, transfer)
                            : exchange_across(stack.network, s.shape.nodes, message, transfer);
}

/// Two all-to-alls, one after the other: inside the node a message for each rail of all nodes, then
/// on each rail a message for each node.
Parts hierarchical(const Stack& stack, const Schedule& s, double inside, double across) {
  const double message = s.size.value() / s.shape.ranks;
  const Parts first =
      exchange_inside(stack.node, s.shape.per_node, message * s.shape.nodes, inside);
  const Parts second =
      exchange_across(stack.network, s.shape.nodes, message * s.shape.per_node, across);
  return {first.launch + second.launch, first.latency + second.latency, first.total + second.total};
}

Parts parts(const Stack& stack, const Schedule& s, double transfer, double inside) {
  if (s.operation == Operation::send_recv) return send_recv(stack, s, transfer);
  switch (s.algorithm) {
    case Algorithm::ring:
      if (s.operation == Operation::broadcast || s.operation == Operation::reduce)
        return chain(stack, s, transfer);
      return s.shape.nodes == 1 ? ring_inside(stack, s, transfer) : ring_across(stack, s, transfer);
    case Algorithm::tree:
      return tree(stack, s, transfer);
    case Algorithm::nvls:
      return nvls(stack, s, transfer);
    case Algorithm::nvls_tree:
      return nvls_tree(stack, s, transfer);
    case Algorithm::pairwise:
    case Algorithm::pxn:
      return all_to_all(stack, s, transfer);
    case Algorithm::hierarchical:
      return hierarchical(stack, s, inside, transfer);
    case Algorithm::pat:
      return aggregated_trees(stack, s, transfer);
    case Algorithm::collnet:
      return collnet(stack, transfer);
  }
  return {};
}

}  // namespace

Bytes chunk(const ChunkRule& rule, double operations, Bytes size) {
  double bytes = rule.start_bytes;
  for (std::size_t i = 0; i < rule.loops.size(); ++i) {
    if (size.value() < rule.loops[i] * operations * bytes && bytes > rule.bytes[i]) {
      bytes = rule.bytes[i];
    }
  }
  return Bytes(bytes);
}

double nvls_loops(const NvlsLaw& law, double operations, Bytes size) {
  const double loops = size.value() / (operations * chunk(law.chunk, operations, size).value());
  return loops < law.whole_loops_below ? std::ceil(loops) : loops;
}

double nvls_rate(const NvlsLaw& law, int ranks) {
  FLOWPLAN_ASSERT(!law.rate.empty());
  const auto after = std::lower_bound(law.rate_ranks.begin(), law.rate_ranks.end(), ranks);
  if (after == law.rate_ranks.begin()) return law.rate.front();
  if (after == law.rate_ranks.end()) return law.rate.back();
  const auto i = static_cast<std::size_t>(after - law.rate_ranks.begin());
  const double share = std::log2(ranks / law.rate_ranks[i - 1]) /
                       std::log2(law.rate_ranks[i] / law.rate_ranks[i - 1]);
  return law.rate[i - 1] + share * (law.rate[i] - law.rate[i - 1]);
}

Timing apply_law(const Stack& stack, const Schedule& schedule, Seconds transfer, Seconds inside) {
  Parts t = parts(stack, schedule, transfer.value() * 1e6, inside.value() * 1e6);
  // Where the host launches too slowly to keep ahead, the device waits for it.
  if (stack.node.host_us > 0.0)
    t.total = norm(stack.node.host_us, t.total, stack.node.host_overlap);
  return {microseconds(t.launch), microseconds(t.latency), transfer + inside,
          microseconds(t.total)};
}

}  // namespace flowplan::collective
