#include "flowplan/flow/fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "certificate.hpp"
#include "flowplan/base/assert.hpp"
#include "refinement.hpp"

namespace flowplan::flow {
namespace {

using Outcome = FoldSummary::Outcome;

/// Folding pays when there are at most half as many classes as flows.
constexpr std::size_t flows_per_class = 2;

/// A try costs about a round. It pays with this many flows a class or more, after rounds of these
/// numbers.
constexpr std::size_t flows_per_class_to_try = 16;
constexpr bool worth_a_try(std::uint32_t round) {
  return (round & (round - 1)) == 0;
}
/// Classes that are too many to try, more than these and still more than double in a round will go
/// on to split. What that leaves to gain pays for more rounds only where the classes are solved
/// again and again.
constexpr std::size_t few_classes = 32;
enum class Solves { few, many };

/// The path's first link of a class, `no_link` when it has none.
LinkId first_of(const FlowSet& flows, const Partition& partition, std::uint32_t f, LinkId of) {
  for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
    if (partition.link_class[index(flows.link[u])] == index(of)) return flows.link[u];
  }
  return no_link;
}

/// Refines until `take(partition)` is content with the classes, which it must be once they are
/// equitable. Returns those classes, and in `summary` how it went.
template <class Take>
std::optional<Partition> find_classes(const Network& network, const FlowSet& flows,
                                      const Distinction& distinction, Solves solves,
                                      FoldSummary& summary, Take&& take) {
  summary = {};
  if (flows.size() < flows_per_class) return std::nullopt;
  Refinement refinement(network, flows, distinction, flows.size() / flows_per_class);
  summary.outcome = Outcome::too_many;
  const Partition& partition = refinement.partition();
  while (summary.rounds < most_rounds) {
    const std::uint32_t before = partition.flow_classes;
    ++summary.rounds;
    if (refinement.round() == Refinement::Step::too_many) return std::nullopt;
    const bool few = std::max(partition.flow_classes, partition.link_classes) <=
                     flows.size() / flows_per_class_to_try;
    const bool soon_too_many =
        solves == Solves::few && !few &&
        partition.flow_classes > std::max<std::size_t>(few_classes, 2 * before);
    if (soon_too_many) return std::nullopt;
    const bool worth_it = partition.equitable || (few && worth_a_try(summary.rounds));
    if (!worth_it || !take(partition)) continue;
    summary.outcome = partition.equitable ? Outcome::equitable : Outcome::certified;
    summary.flow_classes = partition.flow_classes;
    summary.link_classes = partition.link_classes;
    return refinement.take();
  }
  return std::nullopt;
}

/// The bottlenecks of flows from those of their classes; `no_link` where the path has no link of
/// that class.
std::vector<LinkId> expand_bottlenecks(const FlowSet& flows, const Partition& partition,
                                       const std::vector<LinkId>& classes) {
  std::vector<LinkId> bottleneck;
  bottleneck.reserve(flows.size());
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    const LinkId holder = classes[partition.flow_class[f]];
    bottleneck.push_back(holder == no_link ? no_link : first_of(flows, partition, f, holder));
  }
  return bottleneck;
}

/// The values of members from those of their classes; 0 for links that no flow uses.
std::vector<double> expand(const std::vector<std::uint32_t>& classes,
                           const std::vector<double>& of_class) {
  std::vector<double> values;
  values.reserve(classes.size());
  for (const std::uint32_t c : classes)
    values.push_back(c == no_class ? 0.0 : of_class[c]);
  return values;
}

Completion expand(const FlowSet& flows, const Partition& partition, const Completion& classes) {
  return {.end_s = expand(partition.flow_class, classes.end_s),
          .bottleneck = expand_bottlenecks(flows, partition, classes.bottleneck),
          .link_amount = expand(partition.link_class, classes.link_amount),
          .makespan_s = classes.makespan_s,
          .events = classes.events};
}

/// Whether each flow crosses a link of the class that is named for its class.
bool all_named(const FlowSet& flows, const Partition& partition,
               const std::vector<LinkId>& of_class, const std::vector<LinkId>& of_flow) {
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (of_flow[f] == no_link && of_class[partition.flow_class[f]] != no_link) return false;
  }
  return true;
}

/// The label that keeps the flows of different tasks apart.
std::vector<std::uint32_t> tasks_of_flows(const TaskGraph& graph) {
  std::vector<std::uint32_t> task(graph.flows.size(), no_class);
  for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
    FLOWPLAN_ASSERT(graph.tasks[t].flow_begin <= graph.tasks[t].flow_end);
    FLOWPLAN_ASSERT(graph.tasks[t].flow_end <= task.size());
    for (std::uint32_t f = graph.tasks[t].flow_begin; f < graph.tasks[t].flow_end; ++f)
      task[f] = t;
  }
  return task;
}

/// Classes are numbered as they come, so those of a task's flows stand together like the flows.
TaskGraph fold(const TaskGraph& graph, const Partition& partition, FlowSet classes) {
  TaskGraph folded;
  folded.tasks = graph.tasks;
  folded.dependencies = graph.dependencies;
  folded.flows = std::move(classes);
  for (TaskGraph::Task& task : folded.tasks) {
    std::uint32_t begin = no_class;
    std::uint32_t end = 0;
    for (std::uint32_t f = task.flow_begin; f < task.flow_end; ++f) {
      begin = std::min(begin, partition.flow_class[f]);
      end = std::max(end, partition.flow_class[f] + 1);
    }
    task.flow_begin = std::min(begin, end);
    task.flow_end = end;
  }
  return folded;
}

}  // namespace

Allocation solve(const Network& network, const FlowSet& flows, Folding folding,
                 FoldSummary* summary) {
  FoldSummary found;
  std::optional<Allocation> allocation;
  const auto solve_classes = [&](const Partition& partition) {
    const Quotient quotient = fold(network, flows, partition);
    const Allocation classes = solve(quotient.network, quotient.flows);
    Certificate check(flows, partition, quotient);
    if (!partition.equitable && !check.passes(classes.rate)) return false;
    allocation = {.rate = expand(partition.flow_class, classes.rate),
                  .bottleneck = expand_bottlenecks(flows, partition, classes.bottleneck)};
    for (std::uint32_t f = 0; f < flows.size() && !partition.equitable; ++f) {
      LinkId& holder = allocation->bottleneck[f];
      const bool by_cap = classes.bottleneck[partition.flow_class[f]] == no_link;
      if (holder == no_link && !by_cap) holder = check.held_by(f);
    }
    return true;
  };
  if (folding == Folding::automatic) {
    find_classes(network, flows, {.over_time = false, .label = {}}, Solves::few, found,
                 solve_classes);
  }
  if (summary != nullptr) *summary = found;
  return allocation ? *std::move(allocation) : solve(network, flows);
}

Completion simulate(const Network& network, const FlowSet& flows, Folding folding,
                    FoldSummary* summary) {
  FoldSummary found;
  std::optional<Completion> completion;
  const auto simulate_classes = [&](const Partition& partition) {
    const Quotient quotient = fold(network, flows, partition);
    const Completion classes = simulate(quotient.network, quotient.flows);
    if (!partition.equitable && !passes_over_time(flows, partition, quotient, classes)) {
      return false;
    }
    Completion expanded = expand(flows, partition, classes);
    if (!all_named(flows, partition, classes.bottleneck, expanded.bottleneck)) return false;
    completion = std::move(expanded);
    return true;
  };
  if (folding == Folding::automatic) {
    const Solves solves = flows.start_s.is_usual() ? Solves::few : Solves::many;
    find_classes(network, flows, {}, solves, found, simulate_classes);
  }
  if (summary != nullptr) *summary = found;
  return completion ? *std::move(completion) : simulate(network, flows);
}

Result<Timeline> simulate(const Network& network, const TaskGraph& graph, Folding folding,
                          FoldSummary* summary) {
  FoldSummary found;
  std::optional<Partition> partition;
  if (folding == Folding::automatic) {
    const std::vector<std::uint32_t> task = tasks_of_flows(graph);
    const Solves solves = graph.tasks.size() <= 1 ? Solves::few : Solves::many;
    partition = find_classes(network, graph.flows, {.over_time = true, .label = task}, solves,
                             found, [](const Partition& classes) { return classes.equitable; });
  }
  if (summary != nullptr) *summary = found;
  if (!partition) return simulate(network, graph);
  Quotient quotient = fold(network, graph.flows, *partition);
  const TaskGraph folded = fold(graph, *partition, std::move(quotient.flows));
  Result<Timeline> timeline = simulate(quotient.network, folded);
  if (timeline) {
    Completion flows = expand(graph.flows, *partition,
                              {timeline->flow_end_s, timeline->bottleneck, timeline->link_amount});
    timeline->flow_end_s = std::move(flows.end_s);
    timeline->bottleneck = std::move(flows.bottleneck);
    timeline->link_amount = std::move(flows.link_amount);
  }
  return timeline;
}

}  // namespace flowplan::flow
