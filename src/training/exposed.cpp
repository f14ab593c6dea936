#include "exposed.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "flowplan/topology/tier_name.hpp"
#include "states.hpp"

namespace flowplan::training {

namespace {

using collective::Operation;
using collective::Outcome;

constexpr double element_bytes = 2.0;  // of what travels between ranks, bf16

/// Asks for an operation and adds `times` of it.
void add_operation(const Traffic& traffic, Exposed& sum, Span span, Operation operation,
                   double bytes, double times) {
  if (times == 0.0 || bytes <= 0.0 || span.size <= 1) return;
  const Outcome& outcome = traffic.communication.predict(span, operation, Bytes(bytes));
  traffic.communication.count(outcome, times * traffic.runs);
  sum.whole += outcome.time * times;
  sum.bytes = bytes;
  sum.limit = resource(outcome.limit);
  sum.next = resource(outcome.next);
}

double forward_passes(const Job& job) {
  return job.recompute == Recompute::full ? 2.0 : 1.0;
}

double tokens_of(const Job& job) {
  return static_cast<double>(job.micro_batch * job.seq_len) / job.layout.cp;
}

void ring(const Traffic& traffic, Exposed& sum, Span span, double block, double passes) {
  add_operation(traffic, sum, span, Operation::send_recv, block,
                passes * static_cast<double>(span.size - 1));
}

/// Queries, keys, values and outputs cross between ranks of heads and ranks of tokens.
void all_to_all(const Traffic& traffic, Exposed& sum, Span span, const Share& s, double tokens,
                double passes) {
  const double inputs = element_bytes * tokens * static_cast<double>(s.qkv());
  const double outputs = element_bytes * tokens * static_cast<double>(s.values());
  add_operation(traffic, sum, span, Operation::all_to_all, inputs, passes);
  add_operation(traffic, sum, span, Operation::all_to_all, outputs, passes);
}

/// Of `places` places that `k` random experts of a token are in, how many differ.
double distinct(double places, double k) {
  return places * (1.0 - std::pow(1.0 - 1.0 / places, k));
}

}  // namespace

void Exposed::add(const Exposed& other) {
  if (other.whole > whole || limit.empty()) {
    limit = other.limit;
    next = other.next;
    bytes = other.bytes;
  }
  time += other.time;
  whole += other.whole;
}

Exposed Exposed::times(double factor) const {
  Exposed scaled = *this;
  scaled.time *= factor;
  scaled.whole *= factor;
  return scaled;
}

Exposed tp_exposed(const Traffic& traffic, LayerKind kind) {
  const Job& job = traffic.job;
  Exposed result;
  if (job.layout.tp == 1) return result;
  const double bytes = element_bytes * tokens_of(job) * static_cast<double>(job.model.hidden);
  // Attention and MLP each gather and scatter; routed experts alone get tokens by the exchange.
  const bool experts_only = kind == LayerKind::experts && job.model.experts->shared == 0;
  const double mixers = job.model.full_share() + job.model.linear_share();
  const double blocks = mixers + (experts_only && job.layout.etp == 1 ? 0.0 : 1.0);
  const double forwards = forward_passes(job);
  const Span span = tp_span(job.layout);
  if (job.layout.sequence_parallel) {
    // Backward gathers a saved input once more.
    add_operation(traffic, result, span, Operation::all_gather, bytes,
                  blocks * forwards + 1.5 * blocks);
    add_operation(traffic, result, span, Operation::reduce_scatter, bytes,
                  blocks * forwards + blocks);
  } else {
    add_operation(traffic, result, span, Operation::all_reduce, bytes, blocks * forwards + blocks);
  }
  result.time = result.whole *
                (job.async_tp ? traffic.framework.tp_async_exposed : traffic.framework.tp_exposed);
  return result;
}

Exposed cp_exposed(const Traffic& traffic, const LayerWork& layer) {
  const Job& job = traffic.job;
  Exposed result;
  if (job.layout.cp == 1) return result;
  const Share s = share_of(job, LayerKind::dense);
  const Span span = cp_span(job.layout);
  const double tokens = tokens_of(job);
  const double block =
      element_bytes * tokens * static_cast<double>(s.kv_heads * (s.query_dim + s.value_dim));
  const double forwards = forward_passes(job);
  constexpr double backward = 2.0;  // keys and values, and their gradients
  switch (job.context_parallel) {
    case ContextParallel::ring:
      ring(traffic, result, span, block, forwards + backward);
      result.time = std::max(result.whole * traffic.framework.cp_exposed,
                             result.whole - layer.attention.forward - layer.attention.backward);
      return result;
    case ContextParallel::all_gather: {
      const double all = block * static_cast<double>(span.size);
      add_operation(traffic, result, span, Operation::all_gather, all, forwards + 1.0);
      add_operation(traffic, result, span, Operation::reduce_scatter, all, 1.0);
      break;
    }
    case ContextParallel::all_to_all:
      all_to_all(traffic, result, span, s, tokens, forwards + 1.0);
      break;
    case ContextParallel::hybrid: {
      const std::int64_t inside = std::gcd(
          span.size,
          std::max<std::int64_t>(1, traffic.communication.ranks_per_domain() / span.stride));
      const Span inner{span.stride, inside}, outer{span.stride * inside, span.size / inside};
      all_to_all(traffic, result, inner, s, tokens, forwards + 1.0);
      Exposed rings;
      ring(traffic, rings, outer, block, forwards + backward);
      rings.time = std::max(rings.whole * traffic.framework.cp_exposed,
                            rings.whole - layer.attention.forward - layer.attention.backward);
      result.time = result.whole;
      result.add(rings);
      return result;
    }
  }
  result.time = result.whole;
  return result;
}

Exposed ep_exposed(const Traffic& traffic) {
  const Job& job = traffic.job;
  const Layout& l = job.layout;
  Exposed result;
  if (l.ep == 1) return result;
  const Span span = ep_span(l);
  const double copies = routed_copies(job);
  const double token = element_bytes * static_cast<double>(job.model.expert_hidden()) *
                       tokens_of(job) / l.tp;  // one copy of every token of a rank
  const std::int64_t inside = std::max<std::int64_t>(
      1, std::min(span.size, traffic.communication.ranks_per_domain() / span.stride));
  const double domains = std::ceil(static_cast<double>(span.size) / static_cast<double>(inside));
  const double reached = job.routing.nodes_per_token > 0
                             ? std::min<double>(job.routing.nodes_per_token, domains)
                             : domains;
  // Without de-duplication every copy travels; with it one a domain, then one a rank inside.
  const double across = job.routing.deduplicated && domains > 1.0
                            ? std::min(copies, distinct(reached, copies))
                            : copies;
  const double exchanges =
      2.0 * forward_passes(job) + 2.0 +
      (job.recompute == Recompute::selective && job.modules.experts ? 2.0 : 0.0);
  if (job.routing.backend) {
    const double tokens = tokens_of(job) / l.tp;
    // The library's time is of a dispatch and a combination.
    result.whole = traffic.communication.exchange(job, span, tokens) * (exchanges / 2.0);
    result.bytes = token * copies;
    result.limit = topology::tier_name(domains > 1.0 ? topology::Tier::efa : topology::Tier::nvlink,
                                       *traffic.communication.cluster().spec().instance);
    result.time = result.whole * (job.routing.overlapped ? traffic.framework.ep_overlapped_exposed
                                                         : traffic.framework.ep_exposed);
    return result;
  }
  if (domains > 1.0) {
    add_operation(traffic, result, span, Operation::all_to_all, token * across, exchanges);
  }
  if (inside > 1 && (job.routing.deduplicated || domains == 1.0)) {
    // Inside a domain, whatever crossed to it is handed on to the experts' ranks.
    const double here = job.routing.deduplicated
                            ? std::min(copies, distinct(static_cast<double>(span.size), copies))
                            : copies;
    Exposed within;
    add_operation(traffic, within, {span.stride, inside}, Operation::all_to_all, token * here,
                  exchanges);
    if (within.whole > result.whole) result = within;
  }
  result.time = result.whole * (job.routing.overlapped ? traffic.framework.ep_overlapped_exposed
                                                       : traffic.framework.ep_exposed);
  return result;
}

bool travels_every_micro_batch(const Job& job) {
  if (job.adapters || job.layout.pp > 1) return shards_weights(job.sharding) && job.layout.pp == 1;
  return job.sharding == Sharding::zero2 || shards_weights(job.sharding);
}

StateShards state_shards(const Job& job) {
  const auto replicas = static_cast<double>(replica_span(job.layout).size);
  const auto expert_replicas = static_cast<double>(expert_replica_span(job.layout).size);
  if (job.sharding == Sharding::none) return {};
  const double group = job.shard_group > 0 ? job.shard_group : replicas;
  return {std::min(group, replicas), std::min(group, expert_replicas)};
}

Exposed shard_exposed(const Traffic& traffic, const LayerWork& layer, LayerKind kind) {
  const Job& job = traffic.job;
  Exposed result;
  if (!travels_every_micro_batch(job)) return result;
  const LayerParameters parameters = layer_parameters_per_rank(job, kind);
  const StateShards shards = state_shards(job);
  const bool weights = shards_weights(job.sharding);
  const double weight_bytes = gather_bytes(traffic.framework, job);
  const bool gradients = !job.adapters.has_value();
  Exposed forward, backward;
  const auto add = [&](Span all, double ranks, double count) {
    const Span group{all.stride, static_cast<std::int64_t>(ranks)};
    const double gradient = gradient_bytes(traffic.framework, job) * count;
    if (weights) {
      add_operation(traffic, forward, group, Operation::all_gather, weight_bytes * count, 1.0);
    }
    if (job.sharding == Sharding::fsdp) {
      add_operation(traffic, backward, group, Operation::all_gather, weight_bytes * count, 1.0);
    }
    if (!gradients) return;
    add_operation(traffic, backward, group, Operation::reduce_scatter, gradient, 1.0);
    const Span groups{group.stride * group.size, all.size / group.size};
    add_operation(traffic, backward, groups, Operation::all_reduce, gradient / ranks, 1.0);
  };
  add(replica_span(job.layout), shards.common, parameters.common);
  add(expert_replica_span(job.layout), shards.experts, parameters.experts);
  // Behind the neighbouring layers' work it costs the contention share; beyond that, all of it.
  const auto exposed = [&](Exposed& one, Seconds work) {
    const Seconds hidden = std::min(one.whole, work);
    one.time = one.whole - hidden + hidden * traffic.framework.fsdp_contention;
  };
  exposed(forward, layer.forward());
  exposed(backward, layer.backward() + layer.recomputed);
  result.add(forward);
  result.add(backward);
  return result;
}

Exposed pp_transfer(const Traffic& traffic, double transfers) {
  const Job& job = traffic.job;
  Exposed result;
  if (job.layout.pp == 1) return result;
  const double split = job.layout.sequence_parallel ? job.layout.tp : 1.0;
  const double bytes =
      element_bytes * tokens_of(job) * static_cast<double>(job.model.hidden) / split;
  const Traffic once{traffic.framework, job, traffic.communication, transfers};
  add_operation(once, result, pp_span(job.layout), Operation::send_recv, bytes, 1.0);
  result.time = result.whole * traffic.framework.pp_exposed;
  return result;
}

Exposed dp_exposed(const Traffic& traffic, const LayerParameters& parameters) {
  const Job& job = traffic.job;
  const Framework& framework = traffic.framework;
  Exposed result;
  if (job.sharding != Sharding::zero2 && travels_every_micro_batch(job)) return result;
  const double weight_bytes = gather_bytes(framework, job);
  const auto add = [&](Span span, double count) {
    if (span.size == 1 || count <= 0.0) return;
    const double gradient = gradient_bytes(framework, job) * count;
    if (job.sharding == Sharding::none) {
      add_operation(traffic, result, span, Operation::all_reduce, gradient, 1.0);
      return;
    }
    if (!travels_every_micro_batch(job)) {
      add_operation(traffic, result, span, Operation::reduce_scatter, gradient, 1.0);
    }
    add_operation(traffic, result, span, Operation::all_gather, weight_bytes * count, 1.0);
  };
  add(replica_span(job.layout), parameters.common);
  add(expert_replica_span(job.layout), parameters.experts);
  result.bytes = gradient_bytes(framework, job) * parameters.total();
  result.time = result.whole * framework.dp_exposed;
  return result;
}

}  // namespace flowplan::training
