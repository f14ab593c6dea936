#include "flowplan/flow/fold.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "flowplan/base/assert.hpp"
#include "refinement.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {
namespace {

using Outcome = FoldSummary::Outcome;

/// Folding pays when there are at most half as many classes as flows.
constexpr std::size_t flows_per_class = 2;

/// A try costs about a round, and each instant another half. It pays with this many flows a class
/// or more, after rounds of these numbers, and up to so many instants.
constexpr std::size_t flows_per_class_to_try = 16;
constexpr bool worth_a_try(std::uint32_t round) {
  return (round & (round - 1)) == 0;
}
constexpr std::size_t most_instants = 8;

/// Relative to the capacity of a link and the rate of a flow: more than the rounding of a solve,
/// and less than the error that folding may bring.
constexpr double certificate = 1e-11;

/// The path's first link of a class, `no_link` when it has none.
LinkId first_of(const FlowSet& flows, const Partition& partition, std::uint32_t f, LinkId of) {
  for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
    if (partition.link_class[index(flows.link[u])] == index(of)) return flows.link[u];
  }
  return no_link;
}

/// Checks rates of classes against the flows themselves. That no link is over capacity needs no
/// check: all links of a class carry what the one in the quotient does.
class Check {
 public:
  Check(const FlowSet& flows, const Partition& partition, const Quotient& quotient)
      : flows_(flows), partition_(partition), quotient_(quotient) {}

  /// `rate` is per class of flows; 0: does not run. True when each running flow is held.
  [[nodiscard]] bool passes(const std::vector<double>& rate) {
    look_at(rate);
    for (std::uint32_t f = 0; f < flows_.size(); ++f) {
      if (needs_link(f) && held_by(f) == no_link) return false;
    }
    return true;
  }

  /// A link that holds the flow at the rates checked last, `no_link` when none does.
  [[nodiscard]] LinkId held_by(std::uint32_t f) const {
    const double level = level_[partition_.flow_class[f]];
    for (std::uint32_t u = flows_.first_use[f]; u < flows_.first_use[f + 1]; ++u) {
      if (level >= least_held_[partition_.link_class[index(flows_.link[u])]]) {
        return flows_.link[u];
      }
    }
    return no_link;
  }

 private:
  [[nodiscard]] bool needs_link(std::uint32_t f) const {
    return level_[partition_.flow_class[f]] > 0.0;
  }

  void look_at(const std::vector<double>& rate) {
    const FlowSet& classes = quotient_.flows;
    const Network& network = quotient_.network;
    level_.assign(classes.size(), 0.0);
    least_held_.assign(network.size(), 0.0);
    std::vector<double> load(network.size(), 0.0);
    for (std::uint32_t c = 0; c < classes.size(); ++c) {
      const double level = rate[c] / classes.weight[c];
      for (std::uint32_t u = classes.first_use[c]; u < classes.first_use[c + 1]; ++u) {
        const std::size_t l = index(classes.link[u]);
        load[l] += classes.coefficient[u] * rate[c];
        least_held_[l] = std::max(least_held_[l], level * (1.0 - certificate));
      }
      const bool by_cap = rate[c] >= classes.cap_per_s[c] * (1.0 - certificate);
      if (!by_cap) level_[c] = level;
    }
    for (std::size_t l = 0; l < network.size(); ++l) {
      if (load[l] < network.capacity[l] * (1.0 - certificate)) least_held_[l] = unlimited;
    }
  }

  const FlowSet& flows_;
  const Partition& partition_;
  const Quotient& quotient_;
  std::vector<double> level_;       // per class of flows; 0: does not run, or at its cap
  std::vector<double> least_held_;  // per class of links: the level from which it holds a flow
};

/// Refines until `take(partition)` is content with the classes, which it must be once they are
/// equitable. Returns those classes, and in `summary` how it went.
template <class Take>
std::optional<Partition> find_classes(const Network& network, const FlowSet& flows,
                                      const Distinction& distinction, FoldSummary& summary,
                                      Take&& take) {
  summary = {};
  if (flows.size() < flows_per_class) return std::nullopt;
  Refinement refinement(network, flows, distinction, flows.size() / flows_per_class);
  summary.outcome = Outcome::too_many;
  while (summary.rounds < most_rounds) {
    ++summary.rounds;
    if (refinement.round() == Refinement::Step::too_many) return std::nullopt;
    const Partition& partition = refinement.partition();
    const bool few = partition.flow_classes <= flows.size() / flows_per_class_to_try;
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

std::vector<double> expand_flows(const Partition& partition, const std::vector<double>& classes) {
  std::vector<double> values;
  values.reserve(partition.flow_class.size());
  for (const std::uint32_t c : partition.flow_class)
    values.push_back(classes[c]);
  return values;
}

std::vector<double> expand_amounts(const Partition& partition, const std::vector<double>& classes) {
  std::vector<double> amount;
  amount.reserve(partition.link_class.size());
  for (const std::uint32_t c : partition.link_class) {
    amount.push_back(c == no_class ? 0.0 : classes[c]);
  }
  return amount;
}

Completion expand(const FlowSet& flows, const Partition& partition, const Completion& classes) {
  return {.end_s = expand_flows(partition, classes.end_s),
          .bottleneck = expand_bottlenecks(flows, partition, classes.bottleneck),
          .link_amount = expand_amounts(partition, classes.link_amount),
          .makespan_s = classes.makespan_s,
          .events = classes.events};
}

/// The instants at which a flow of more than 0 bytes starts or ends, in order.
std::vector<double> instants(const FlowSet& flows, const std::vector<double>& end_s) {
  std::vector<double> times;
  for (std::size_t f = 0; f < flows.size(); ++f) {
    if (flows.bytes[f] == 0.0) continue;
    times.push_back(flows.start_s[f]);
    times.push_back(end_s[f]);
  }
  std::sort(times.begin(), times.end());
  const auto same = [](double a, double b) { return b <= end_of_instant(a); };
  times.erase(std::unique(times.begin(), times.end(), same), times.end());
  return times;
}

/// The flows that run from `time` on, and which they are among all.
struct Running {
  FlowSet flows;
  std::vector<std::uint32_t> id;
};

Running running_from(double time, const FlowSet& flows, const std::vector<double>& end_s) {
  Running running;
  std::vector<Use> uses;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (flows.bytes[f] == 0.0 || flows.start_s[f] > end_of_instant(time)) continue;
    if (end_s[f] <= end_of_instant(time)) continue;
    uses.clear();
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      uses.push_back({flows.link[u], flows.coefficient[u]});
    }
    running.flows.add(uses, {.bytes = flows.bytes[f],
                             .start_s = flows.start_s[f],
                             .cap_per_s = flows.cap_per_s[f],
                             .weight = flows.weight[f]});
    running.id.push_back(f);
  }
  return running;
}

/// Whether the rates of the classes are those of the flows at each instant of a simulation of the
/// quotient. Then so are the ends, one after the other.
bool passes(const FlowSet& flows, const Partition& partition, const Quotient& quotient,
            const Completion& classes) {
  const std::vector<double> times = instants(quotient.flows, classes.end_s);
  if (times.size() > most_instants) return false;
  Check check(flows, partition, quotient);
  std::vector<double> rate;
  for (const double time : times) {
    const Running running = running_from(time, quotient.flows, classes.end_s);
    if (running.id.empty()) continue;
    const Allocation allocation = solve(quotient.network, running.flows);
    rate.assign(quotient.flows.size(), 0.0);
    for (std::size_t i = 0; i < running.id.size(); ++i)
      rate[running.id[i]] = allocation.rate[i];
    if (!check.passes(rate)) return false;
  }
  return true;
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
    Check check(flows, partition, quotient);
    if (!partition.equitable && !check.passes(classes.rate)) return false;
    allocation = {.rate = expand_flows(partition, classes.rate),
                  .bottleneck = expand_bottlenecks(flows, partition, classes.bottleneck)};
    for (std::uint32_t f = 0; f < flows.size() && !partition.equitable; ++f) {
      LinkId& holder = allocation->bottleneck[f];
      const bool by_cap = classes.bottleneck[partition.flow_class[f]] == no_link;
      if (holder == no_link && !by_cap) holder = check.held_by(f);
    }
    return true;
  };
  if (folding == Folding::automatic) {
    find_classes(network, flows, {.over_time = false, .label = {}}, found, solve_classes);
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
    if (!partition.equitable && !passes(flows, partition, quotient, classes)) return false;
    Completion expanded = expand(flows, partition, classes);
    if (!all_named(flows, partition, classes.bottleneck, expanded.bottleneck)) return false;
    completion = std::move(expanded);
    return true;
  };
  if (folding == Folding::automatic) find_classes(network, flows, {}, found, simulate_classes);
  if (summary != nullptr) *summary = found;
  return completion ? *std::move(completion) : simulate(network, flows);
}

Result<Timeline> simulate(const Network& network, const TaskGraph& graph, Folding folding,
                          FoldSummary* summary) {
  FoldSummary found;
  std::optional<Partition> partition;
  if (folding == Folding::automatic) {
    const std::vector<std::uint32_t> task = tasks_of_flows(graph);
    partition = find_classes(network, graph.flows, {.over_time = true, .label = task}, found,
                             [](const Partition& classes) { return classes.equitable; });
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
