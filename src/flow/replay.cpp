#include "flowplan/flow/replay.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "flowplan/flow/max_min.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {

Result<Replay> replay(const Case& flow_case, Folding folding) {
  Replay result;
  result.flow_start_s = flow_case.flows.start_s.list();
  if (flow_case.tasks.empty()) {
    result.flows = simulate(flow_case.network, flow_case.flows, folding, &result.folding);
    return result;
  }
  auto timeline = simulate(flow_case.network, flow_case.task_graph(), folding, &result.folding);
  if (!timeline) return fail(std::move(timeline.error()));
  for (std::size_t t = 0; t < flow_case.tasks.size(); ++t) {
    const TaskGraph::Task& task = flow_case.tasks[t];
    for (std::uint32_t f = task.flow_begin; f < task.flow_end; ++f) {
      result.flow_start_s[f] += timeline->start_s[t] + task.delay_s;
    }
  }
  result.flows = {std::move(timeline->flow_end_s), std::move(timeline->bottleneck),
                  std::move(timeline->link_amount), timeline->makespan_s, timeline->events};
  result.task_start_s = std::move(timeline->start_s);
  result.task_end_s = std::move(timeline->end_s);
  return result;
}

std::optional<std::string> refute_first_rates(const Case& flow_case, const Replay& replay,
                                              Folding folding) {
  const FlowSet& all = flow_case.flows;
  double first = unlimited;
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (all.bytes[f] > 0.0) first = std::min(first, replay.flow_start_s[f]);
  }
  FlowSet flows;
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (all.bytes[f] == 0.0 || replay.flow_start_s[f] > end_of_instant(first)) continue;
    FlowSpec spec = all.spec(f);
    spec.start_s = 0.0;
    flows.add(all.uses(f), spec);
  }
  return refute(flow_case.network, flows, solve(flow_case.network, flows, folding).rate);
}

}  // namespace flowplan::flow
