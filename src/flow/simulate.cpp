#include "flowplan/flow/simulate.hpp"

#include <algorithm>
#include <numeric>

#include "engine.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {

Completion simulate(const Network& network, const FlowSet& flows) {
  Completion completion;
  completion.end_s = flows.start_s;
  completion.bottleneck.assign(flows.size(), no_link);

  std::vector<std::uint32_t> arrivals(flows.size());
  std::iota(arrivals.begin(), arrivals.end(), 0U);
  std::erase_if(arrivals, [&](std::uint32_t f) { return flows.bytes[f] == 0.0; });
  std::stable_sort(arrivals.begin(), arrivals.end(), [&](std::uint32_t a, std::uint32_t b) {
    return flows.start_s[a] < flows.start_s[b];
  });

  Engine engine(network, flows);
  auto next = arrivals.begin();
  while (true) {
    const double arrival = next == arrivals.end() ? unlimited : flows.start_s[*next];
    const double time = std::min(engine.next_end(), std::max(arrival, engine.now()));
    if (time == unlimited) break;
    for (const std::uint32_t f : engine.advance(time)) {
      completion.end_s[f] = time;
      completion.bottleneck[f] = engine.bottleneck(f);
    }
    while (next != arrivals.end() && flows.start_s[*next] <= end_of_instant(time)) {
      engine.start(*next++);
    }
  }
  completion.link_amount = amounts(network, flows, std::vector<double>(flows.size(), 1.0));
  for (const double end : completion.end_s) {
    completion.makespan_s = std::max(completion.makespan_s, end);
  }
  completion.events = engine.solves();
  return completion;
}

}  // namespace flowplan::flow
