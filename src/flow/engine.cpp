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
      held_(sharing_.layout().rows() + 1, flows.size()),
      holder_(flows.size(), nobody),
      held_since_s_(flows.size(), 0.0) {
  held_.set_level(clock_of(Sharing::by_cap), 1.0, 0.0);
}

void Engine::start(std::uint32_t flow) {
  FLOWPLAN_ASSERT(flows_.bytes[flow] > 0.0);
  if (holder_[flow] != nobody) keep_history();
  holder_[flow] = nobody;
  sharing_.start(flow);
}

double Engine::next_end() {
  renew();
  return held_.next_end();
}

const std::vector<std::uint32_t>& Engine::advance(double time) {
  renew();
  FLOWPLAN_ASSERT(now_ <= time && time <= held_.next_end());
  now_ = time;
  ended_.clear();
  held_.take_ended(end_of_instant(now_), ended_);
  std::sort(ended_.begin(), ended_.end());
  for (const std::uint32_t flow : ended_) {
    if (held_s_.empty()) {
      held_since_s_[flow] = now_ - held_since_s_[flow];
    } else {
      settle_held(flow, now_);
    }
    sharing_.stop(flow);
  }
  return ended_;
}

LinkId Engine::bottleneck(std::uint32_t flow) const {
  const Layout& layout = sharing_.layout();
  std::uint32_t holder = holder_[flow];
  if (!held_s_.empty()) {
    const float* begin = &held_s_[held_slot(flow, nobody)];
    const float* cap = &held_s_[held_slot(flow, Sharing::by_cap)];
    const float* longest = std::max_element(begin, cap + 1);
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

void Engine::settle_held(std::uint32_t flow, double until_s) {
  held_s_[held_slot(flow, holder_[flow])] += static_cast<float>(until_s - held_since_s_[flow]);
  held_since_s_[flow] = until_s;
}

/// Begins to count how long each holder held.
void Engine::keep_history() {
  if (!held_s_.empty()) return;
  const Layout& layout = sharing_.layout();
  held_s_.assign(layout.row.size() + flows_.size(), 0.0F);
  for (std::uint32_t f = 0; f < flows_.size(); ++f) {
    const bool ended = holder_[f] != nobody && !sharing_.runs(f);
    if (ended) held_s_[held_slot(f, holder_[f])] = static_cast<float>(held_since_s_[f]);
  }
}

std::uint32_t Engine::clock_of(std::uint32_t holder) const {
  return holder == Sharing::by_cap ? sharing_.layout().rows() : holder;
}

/// A link serves levels, a cap serves seconds.
double Engine::bytes_per_service(std::uint32_t flow, std::uint32_t holder) const {
  return holder == Sharing::by_cap ? flows_.cap_per_s[flow] : flows_.weight[flow];
}

void Engine::move(std::uint32_t flow, std::uint32_t holder) {
  const std::uint32_t before = holder_[flow];
  double left = flows_.bytes[flow];
  if (before != nobody) {
    const std::uint32_t clock = clock_of(before);
    left = (held_.due(flow) - held_.service(clock, now_)) * bytes_per_service(flow, before);
    held_.remove(clock, flow);
    keep_history();
    settle_held(flow, now_);
  }
  held_since_s_[flow] = now_;
  holder_[flow] = holder;
  const std::uint32_t clock = clock_of(holder);
  held_.add(clock, flow,
            held_.service(clock, now_) + std::max(0.0, left) / bytes_per_service(flow, holder));
}

/// Solves again what changed at this instant.
void Engine::renew() {
  if (sharing_.update().empty()) return;
  ++solves_;
  // Flows come after the clocks: what is added to a service counted at another speed is rounded to
  // its size.
  for (const auto& [row, level] : sharing_.filled()) {
    const double before = held_.level(row);
    if (std::abs(level - before) > rate_unchanged * level) held_.set_level(row, level, now_);
    if (held_.service(row, now_) > longest_service * level * now_) rebase(row);
  }
  for (const std::uint32_t flow : sharing_.moved())
    move(flow, sharing_.holder(flow));
}

/// Bounds the rounding of a service that was counted while the link served much faster.
void Engine::rebase(std::uint32_t row) {
  rebased_.clear();
  for (const std::uint32_t flow : sharing_.members(row))
    if (holder_[flow] == row) rebased_.push_back(flow);
  held_.rebase(row, now_, rebased_);
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
