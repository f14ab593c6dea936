#include "flowplan/storage/transfer.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/flow/quotient.hpp"
#include "flowplan/flow/simulate.hpp"

namespace flowplan::storage {

namespace {

/// A limit that several movements may use.
struct SharedLink {
  flow::LinkId link = flow::no_link;
  std::uint64_t links = 1;
  double capacity = 0.0;
};

/// The movements as a folded flow problem; `lifted` has no limit of that id in it.
struct Problem {
  flow::QuotientBuilder builder;
  std::vector<std::string> link_name;
  std::map<std::string, SharedLink> shared;

  SharedLink& link_of(const Limit& limit, std::uint32_t nodes) {
    // Nodes of movements that differ in their number are different nodes.
    const std::string key = limit.shared ? limit.id : fmt::format("{}/{}", limit.id, nodes);
    auto [found, fresh] = shared.try_emplace(key);
    if (fresh) {
      found->second.links = limit.shared ? 1 : nodes;
      found->second.capacity = limit.capacity;
      found->second.link = builder.link_class(limit.capacity, found->second.links);
      link_name.push_back(limit.name);
    }
    FLOWPLAN_ASSERT(found->second.capacity == limit.capacity);
    return found->second;
  }

  void add(const Movement& movement, std::string_view lifted) {
    flow::FlowSpec spec;
    spec.bytes = movement.per_node.value();
    spec.start_s = movement.path.latency.value();
    const std::uint64_t nodes = movement.nodes;
    std::size_t used = 0;
    std::vector<const Limit*> limits;
    for (const Limit& limit : movement.path.limits) {
      if (limit.name != lifted) limits.push_back(&limit);
    }
    used = limits.size();
    if (used == 0) spec.cap_per_s = std::numeric_limits<double>::max();
    const flow::FlowId flow = builder.flow_class(spec, nodes);
    for (const Limit* limit : limits) {
      const SharedLink& link = link_of(*limit, movement.nodes);
      builder.use(flow, link.link, nodes / link.links, 1, limit->per_byte);
    }
  }
};

struct Solved {
  flow::Completion completion;
  std::vector<std::string> link_name;
};

Solved solve_movements(std::span<const Movement> movements, std::string_view lifted = {}) {
  Problem problem;
  for (const Movement& movement : movements)
    problem.add(movement, lifted);
  const flow::Quotient quotient = problem.builder.build();
  return {flow::simulate(quotient.network, quotient.flows), std::move(problem.link_name)};
}

std::string binding(const Solved& solved, std::size_t flow) {
  const flow::LinkId link = solved.completion.bottleneck[flow];
  return link == flow::no_link ? std::string("latency") : solved.link_name[flow::index(link)];
}

std::vector<LimitUse> uses(const Movement& movement, BytesPerSecond rate) {
  std::vector<LimitUse> all;
  for (const Limit& limit : movement.path.limits) {
    const double links = limit.shared ? 1.0 : static_cast<double>(movement.nodes);
    const BytesPerSecond ceiling(limit.capacity * links / limit.per_byte);
    all.push_back({limit, ceiling, std::min(1.0, rate / ceiling)});
  }
  return all;
}

}  // namespace

std::vector<Transfer> run_together(std::span<const Movement> movements) {
  std::vector<Transfer> results;
  if (movements.empty()) return results;
  const Solved solved = solve_movements(movements);
  for (std::size_t i = 0; i < movements.size(); ++i) {
    const Movement& movement = movements[i];
    Transfer result;
    result.time = std::max(Seconds(solved.completion.end_s[i]), movement.path.latency);
    const Bytes all = movement.per_node * static_cast<double>(movement.nodes);
    const Seconds moving = result.time - movement.path.latency;
    if (all.value() > 0.0) result.rate = all / result.time;
    result.limits = uses(movement, moving.value() > 0.0 ? all / moving : BytesPerSecond(0.0));
    result.limit = binding(solved, i);
    result.next_time = result.time;
    if (result.limit != "latency") {
      const Solved without = solve_movements(movements, result.limit);
      result.next = binding(without, i);
      result.next_time = std::max(Seconds(without.completion.end_s[i]), movement.path.latency);
      if (result.next == "latency") result.next.clear();
    }
    results.push_back(std::move(result));
  }
  return results;
}

Transfer run_alone(const Movement& movement) {
  return run_together(std::span(&movement, 1)).front();
}

Breakdown leaf(std::string id, std::string label, const Transfer& transfer) {
  Breakdown part{
      std::move(id), std::move(label), transfer.time, transfer.limit, transfer.next, {}, {}};
  for (const LimitUse& use : transfer.limits) {
    if (use.limit.name != transfer.limit) continue;
    part.formula = fmt::format("{:.4g} GB/s by {} ({})", use.ceiling.value() / 1e9, use.limit.name,
                               use.limit.how);
  }
  return part;
}

}  // namespace flowplan::storage
