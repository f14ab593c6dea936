#include "communication.hpp"

#include <algorithm>
#include <functional>

#include "flowplan/base/assert.hpp"

namespace flowplan::training {

Span tp_span(const Layout& l) {
  return {1, l.tp};
}
Span cp_span(const Layout& l) {
  return {l.tp, l.cp};
}
Span replica_span(const Layout& l) {
  return {l.tp, static_cast<std::int64_t>(l.cp) * l.dp};
}
Span pp_span(const Layout& l) {
  return {static_cast<std::int64_t>(l.tp) * l.cp * l.dp, l.pp};
}
Span ep_span(const Layout& l) {
  return {l.etp, l.ep};
}
Span expert_replica_span(const Layout& l) {
  const std::int64_t one = static_cast<std::int64_t>(l.etp) * l.ep;
  return {one, static_cast<std::int64_t>(l.tp) * l.cp * l.dp / one};
}

std::size_t Communication::Hash::operator()(const Key& key) const {
  std::size_t seed = std::hash<double>{}(key.bytes);
  const auto mix = [&](std::size_t value) { seed = seed * 1099511628211u ^ value; };
  mix(static_cast<std::size_t>(key.span.stride));
  mix(static_cast<std::size_t>(key.span.size));
  mix(static_cast<std::size_t>(key.operation));
  return seed;
}

Result<Communication> Communication::on(const catalog::Catalog& catalog,
                                        const topology::Cluster& cluster, const Job& job) {
  auto placement = topology::place(cluster, ranks(cluster, job), job.placement);
  if (!placement) return fail(placement.error());
  Communication result(catalog, cluster, std::move(*placement));
  const std::uint32_t of_each = job.placement.gpus_per_domain;
  const std::uint32_t in_domain = of_each > 0 ? of_each : cluster.gpus_per_domain();
  result.ranks_per_domain_ = std::min(in_domain, result.placement_.ranks());
  return result;
}

collective::Request& Communication::request(Span span) {
  const auto [entry, fresh] = requests_.try_emplace(span);
  if (fresh) {
    const std::uint32_t all = placement_.ranks();
    FLOWPLAN_ASSERT(span.stride * span.size > 0 && all % (span.stride * span.size) == 0);
    topology::Degrees degrees;
    degrees.tp = static_cast<int>(span.stride);
    degrees.cp = static_cast<int>(span.size);
    degrees.dp = static_cast<int>(all / (span.stride * span.size));
    entry->second.groups = topology::groups(placement_, degrees, topology::Axis::cp);
  }
  return entry->second;
}

const collective::Outcome& Communication::predict(Span span, collective::Operation operation,
                                                  Bytes size) {
  const Key key{span, operation, size.value()};
  if (const auto known = outcomes_.find(key); known != outcomes_.end()) return known->second;
  collective::Request& asked = request(span);
  asked.operation = operation;
  asked.size = size;
  auto outcome = collective::predict(*catalog_, *cluster_, asked);
  if (!outcome) {
    errors_.insert(errors_.end(), outcome.error().begin(), outcome.error().end());
    return outcomes_[key];
  }
  stack_ = outcome->stack;
  if (!outcome->calibrated) note(outcome->note);
  return outcomes_[key] = std::move(*outcome);
}

void Communication::note(const std::string& text) {
  const bool is_new = std::find(notes_.begin(), notes_.end(), text) == notes_.end();
  if (is_new) notes_.push_back(text);
}

Seconds Communication::exchange(const Job& job, Span span, double tokens) {
  FLOWPLAN_ASSERT(job.routing.backend && job.model.experts);
  const ExchangeKey key{*job.routing.backend, span, tokens};
  if (const auto known = exchanges_.find(key); known != exchanges_.end()) return known->second;
  const auto inside = static_cast<int>(
      std::max<std::int64_t>(1, std::min(span.size, ranks_per_domain_ / span.stride)));
  const auto nodes = static_cast<int>((span.size + inside - 1) / inside);
  const auto group = collective::expert_group(*catalog_, *cluster_->spec().instance, nodes, inside);
  collective::ExpertTraffic traffic;
  traffic.tokens = tokens;
  traffic.hidden = static_cast<double>(job.model.expert_hidden());
  traffic.top_k = static_cast<int>(job.model.experts->per_token);
  traffic.experts = static_cast<int>(job.model.experts->count);
  traffic.max_nodes = job.routing.nodes_per_token;
  const auto outcome = collective::expert_parallel(*catalog_, key.backend,
                                                   collective::ExpertMode::normal, group, traffic);
  if (!outcome) {
    errors_.insert(errors_.end(), outcome.error().begin(), outcome.error().end());
    return Seconds(0);
  }
  if (!outcome->calibrated) note(outcome->note);
  return exchanges_[key] = outcome->dispatch.time + outcome->combine.time;
}

void Communication::count(const collective::Outcome& outcome, double times) {
  for (const auto& [tier, bytes] : outcome.carried)
    carried_[tier] += bytes * times;
}

std::uint32_t ranks(const topology::Cluster& cluster, const Job& job) {
  return job.gpus == 0 ? cluster.gpus() : job.gpus;
}

std::string resource(const std::string& limit) {
  return limit.substr(0, limit.find(' '));
}

}  // namespace flowplan::training
