#include "flowplan/flow/simulate.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

#include "engine.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {

namespace {

/// The flows of more than 0 bytes in the order in which they start.
class Arrivals {
 public:
  explicit Arrivals(const FlowSet& flows) : flows_(flows) {
    const auto earlier = [&](std::uint32_t a, std::uint32_t b) {
      return flows.start_s[a] < flows.start_s[b];
    };
    for (std::uint32_t f = 1; f < flows.size(); ++f) {
      if (!earlier(f, f - 1)) continue;
      order_.resize(flows.size());
      std::iota(order_.begin(), order_.end(), 0U);
      std::stable_sort(order_.begin(), order_.end(), earlier);
      break;
    }
    skip_empty();
  }

  /// When the next flow starts; `unlimited` when none is left.
  [[nodiscard]] double due() const {
    return next_ == flows_.size() ? unlimited : flows_.start_s[flow()];
  }
  std::uint32_t take() {
    const std::uint32_t taken = flow();
    ++next_;
    skip_empty();
    return taken;
  }

 private:
  [[nodiscard]] std::uint32_t flow() const { return order_.empty() ? next_ : order_[next_]; }
  void skip_empty() {
    while (next_ < flows_.size() && flows_.bytes[flow()] == 0.0)
      ++next_;
  }

  const FlowSet& flows_;
  std::vector<std::uint32_t> order_;  // empty when the flows stand in it already
  std::uint32_t next_ = 0;
};

/// Runs the flows and notes when each ends, what held it and what the links carried.
void run_flows(const Network& network, const FlowSet& flows, Completion& completion) {
  Arrivals arrivals(flows);
  Engine engine(network, flows);
  while (true) {
    const double time = std::min(engine.next_end(), std::max(arrivals.due(), engine.now()));
    if (time == unlimited) break;
    for (const std::uint32_t f : engine.advance(time)) {
      completion.end_s[f] = time;
      completion.bottleneck[f] = engine.bottleneck(f);
    }
    while (arrivals.due() <= end_of_instant(time))
      engine.start(arrivals.take());
  }
  completion.events = engine.solves();
  Column once(1.0);
  once.push_usual(flows.size());
  completion.link_amount = amounts(network, flows, once);
}

}  // namespace

Completion simulate(const Network& network, const FlowSet& flows) {
  Completion completion;
  completion.end_s = flows.start_s.list();
  completion.bottleneck.assign(flows.size(), no_link);
  run_flows(network, flows, completion);
  for (const double end : completion.end_s) {
    completion.makespan_s = std::max(completion.makespan_s, end);
  }
  return completion;
}

}  // namespace flowplan::flow
