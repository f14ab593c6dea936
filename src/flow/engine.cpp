#include "engine.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "flowplan/base/assert.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {

Engine::Engine(const Network& network, const FlowSet& flows)
    : flows_(flows),
      sharing_(network, flows, Redundant::drop),
      ends_(flows.size()),
      levels_are_rates_(sharing_.layout().cap_level.empty() && flows.weight.is_usual()),
      progress_(flows.size()),
      held_since_s_(flows.size(), 0.0) {}

void Engine::start(std::uint32_t flow) {
  FLOWPLAN_ASSERT(flows_.bytes[flow] > 0.0);
  Progress& progress = progress_[flow];
  if (progress.holder != nobody) keep_history();
  progress = {flows_.bytes[flow], now_, 0.0, nobody};
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
    settle_bytes(progress_[flow]);
    if (!held_s_.empty()) settle_held(flow, now_);
    sharing_.stop(flow);
    ends_.defer(flow, MinimumTree::none);
  }
  ends_.restore();
  return ended_;
}

LinkId Engine::bottleneck(std::uint32_t flow) const {
  const Layout& layout = sharing_.layout();
  std::uint32_t holder = progress_[flow].holder;
  if (!held_s_.empty()) {
    const double* begin = &held_s_[held_slot(flow, nobody)];
    const double* cap = &held_s_[held_slot(flow, Sharing::by_cap)];
    const double* longest = std::max_element(begin, cap + 1);
    holder = longest == cap
                 ? Sharing::by_cap
                 : layout.row[layout.first_hop[flow] + static_cast<std::size_t>(longest - begin)];
  }
  return holder == Sharing::by_cap ? no_link : layout.links[holder].id;
}

/// Where `held_s_` counts for this holder; for `nobody`, where the flow's part begins.
std::size_t Engine::held_slot(std::uint32_t flow, std::uint32_t holder) const {
  const Layout& layout = sharing_.layout();
  // Each earlier flow has a slot for its cap besides those of its hops.
  const std::size_t first = std::size_t{flow} + layout.first_hop[flow];
  const std::span<const std::uint32_t> path = layout.path(flow);
  if (holder == nobody) return first;
  if (holder == Sharing::by_cap) return first + path.size();
  return first +
         static_cast<std::size_t>(std::find(path.begin(), path.end(), holder) - path.begin());
}

/// Settles what the flow moved since its rate changed.
void Engine::settle_bytes(Progress& progress) const {
  progress.left = std::max(0.0, progress.left - progress.rate * (now_ - progress.since_s));
  progress.since_s = now_;
}

void Engine::settle_held(std::uint32_t flow, double until_s) {
  held_s_[held_slot(flow, progress_[flow].holder)] += until_s - held_since_s_[flow];
  held_since_s_[flow] = until_s;
}

/// Begins to count how long each holder held.
void Engine::keep_history() {
  if (!held_s_.empty()) return;
  const Layout& layout = sharing_.layout();
  held_s_.assign(layout.row.size() + flows_.size(), 0.0);
  for (std::uint32_t f = 0; f < flows_.size(); ++f) {
    const bool ended = progress_[f].holder != nobody && !sharing_.runs(f);
    if (ended) settle_held(f, progress_[f].since_s);
  }
}

void Engine::change_holder(std::uint32_t flow, std::uint32_t holder) {
  std::uint32_t& current = progress_[flow].holder;
  if (current != nobody) {
    keep_history();
    settle_held(flow, now_);
  }
  held_since_s_[flow] = now_;
  current = holder;
}

double Engine::rate_of(std::uint32_t flow) const {
  const double level = sharing_.level(flow);
  return levels_are_rates_ ? level : std::min(level * flows_.weight[flow], flows_.cap_per_s[flow]);
}

/// Solves again what changed at this instant.
void Engine::renew() {
  const std::vector<std::uint32_t>& solved = sharing_.update();
  if (solved.empty()) return;
  ++solves_;
  for (const std::uint32_t flow : solved) {
    Progress& progress = progress_[flow];
    const double rate = rate_of(flow);
    const std::uint32_t holder = sharing_.holder(flow);
    if (holder != progress.holder) change_holder(flow, holder);
    if (std::abs(rate - progress.rate) <= rate_unchanged * rate) continue;
    settle_bytes(progress);
    progress.rate = rate;
    ends_.defer(flow, now_ + progress.left / rate);
  }
  ends_.restore();
}

std::vector<double> amounts(const Network& network, const FlowSet& flows, const Column& times) {
  std::vector<double> amount(network.size(), 0.0);
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    for (std::uint32_t u = flows.first_use[f]; u < flows.first_use[f + 1]; ++u) {
      amount[index(flows.link[u])] += flows.coefficient[u] * flows.bytes[f] * times[f];
    }
  }
  return amount;
}

}  // namespace flowplan::flow
