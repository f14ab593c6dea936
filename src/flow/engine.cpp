#include "engine.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {

Engine::Engine(const Network& network, const FlowSet& flows)
    : flows_(flows),
      sharing_(network, flows, Redundant::drop),
      ends_(flows.size()),
      left_(flows.size(), 0.0),
      since_(flows.size(), 0.0),
      rate_(flows.size(), 0.0),
      holder_(flows.size(), Sharing::by_cap),
      held_s_(sharing_.layout().hops.size() + flows.size(), 0.0) {}

void Engine::start(std::uint32_t flow) {
  FLOWPLAN_ASSERT(flows_.bytes[flow] > 0.0);
  left_[flow] = flows_.bytes[flow];
  since_[flow] = now_;
  rate_[flow] = 0.0;
  sharing_.start(flow);
}

double Engine::next_end() {
  renew();
  return ends_.minimum();
}

const std::vector<std::uint32_t>& Engine::advance(double time) {
  renew();
  FLOWPLAN_ASSERT(now_ <= time && time <= ends_.minimum());
  now_ = time;
  ended_.clear();
  ends_.collect(end_of_instant(now_), ended_);
  for (const std::uint32_t flow : ended_) {
    account(flow);
    sharing_.stop(flow);
    ends_.defer(flow, MinimumTree::none);
  }
  ends_.restore();
  return ended_;
}

LinkId Engine::bottleneck(std::uint32_t flow) const {
  const double* begin = &held_s_[held_slot(flow, 0)];
  const double* cap = &held_s_[held_slot(flow, Sharing::by_cap)];
  const double* longest = std::max_element(begin, cap + 1);
  return longest == cap ? no_link
                        : sharing_.link(flow, static_cast<std::uint32_t>(longest - begin));
}

std::size_t Engine::held_slot(std::uint32_t flow, std::uint32_t holder) const {
  const std::vector<std::uint32_t>& first = sharing_.layout().first_hop;
  // Each earlier flow has a slot for its cap besides those of its hops.
  return std::size_t{flow} + (holder == Sharing::by_cap ? first[flow + 1] : first[flow] + holder);
}

/// Settles what the flow did since it was last looked at.
void Engine::account(std::uint32_t flow) {
  const double passed = now_ - since_[flow];
  left_[flow] = std::max(0.0, left_[flow] - rate_[flow] * passed);
  held_s_[held_slot(flow, holder_[flow])] += passed;
  since_[flow] = now_;
}

/// Solves again what changed at this instant.
void Engine::renew() {
  const std::vector<std::uint32_t>& solved = sharing_.update();
  if (solved.empty()) return;
  ++solves_;
  for (const std::uint32_t flow : solved) {
    const double rate =
        std::min(sharing_.level(flow) * flows_.weight[flow], flows_.cap_per_s[flow]);
    const std::uint32_t holder = sharing_.holder(flow);
    const bool same_rate = std::abs(rate - rate_[flow]) <= rate_unchanged * rate;
    if (same_rate && holder == holder_[flow]) continue;
    account(flow);
    holder_[flow] = holder;
    if (same_rate) continue;
    rate_[flow] = rate;
    ends_.defer(flow, now_ + left_[flow] / rate);
  }
  ends_.restore();
}

std::vector<double> amounts(const Network& network, const FlowSet& flows,
                            const std::vector<double>& times) {
  std::vector<double> amount(network.size(), 0.0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      amount[index(flows.link[u])] += flows.coefficient[u] * flows.bytes[f] * times[f];
    }
  }
  return amount;
}

}  // namespace flowplan::flow
