#include "sharing.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "flowplan/base/assert.hpp"
#include "tolerances.hpp"

namespace flowplan::flow {
namespace {

/// Adding and subtracting the same parts for ever drifts: after so many solves a link's room is
/// summed afresh.
constexpr std::uint32_t solves_between_sums = 64;

/// When the open pull of a link has shrunk by this factor, what cancelled in it matters and it is
/// summed afresh.
constexpr double cancellation = 1.0 / 16;

/// A flood that has walked this part of all running hops is given up for a sweep...
constexpr std::size_t flood_part = 2;
/// ...and then up to so many solves in a row do not try to flood.
constexpr std::uint32_t longest_skip = 64;

/// Passes after which the water level is close enough; each one only raises a lower bound.
constexpr int water_level_passes = 16;

}  // namespace

Sharing::Sharing(const Network& network, const FlowSet& flows, Redundant redundant)
    : layout_(lay_out(network, flows, redundant)),
      links_(layout_.links.size()),
      members_(layout_.hops.size()),
      level_(flows.size(), 0.0),
      holder_(flows.size(), by_cap),
      where_(flows.size(), nowhere),
      seen_(flows.size(), 0),
      unfrozen_(flows.size(), 0),
      shares_(layout_.links.size()) {
  for (std::size_t l = 0; l < links_.size(); ++l) {
    links_[l].capacity = links_[l].room = network.capacity[index(layout_.links[l].id)];
    links_[l].first_member = layout_.links[l].first_member;
  }
}

void Sharing::start(std::uint32_t flow) {
  FLOWPLAN_ASSERT(!runs(flow));
  where_[flow] = static_cast<std::uint32_t>(running_.size());
  running_.push_back(flow);
  for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
    Hop& hop = layout_.hops[h];
    Link& link = links_[hop.link];
    hop.place = link.running++;
    members_[link.first_member + hop.place] = {flow, h};
    ++running_hops_;
  }
  level_[flow] = unsolved;
  fresh_.push_back(flow);
}

void Sharing::stop(std::uint32_t flow) {
  FLOWPLAN_ASSERT(runs(flow) && level_[flow] != unsolved);
  running_[where_[flow]] = running_.back();
  where_[running_.back()] = where_[flow];
  running_.pop_back();
  where_[flow] = nowhere;
  for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
    const Hop& hop = layout_.hops[h];
    Link& link = links_[hop.link];
    const Member moved = members_[link.first_member + --link.running];
    members_[link.first_member + hop.place] = moved;
    layout_.hops[moved.hop].place = hop.place;
    link.room = link.running == 0 ? link.capacity : link.room + hop.pull * level_[flow];
    left_links_.push_back(hop.link);
    --running_hops_;
  }
  left_level_ = std::min(left_level_, level_[flow]);
}

const std::vector<std::uint32_t>& Sharing::update() {
  reached_.clear();
  if (fresh_.empty() && left_links_.empty()) return reached_;
  const double floor = restart_level() * (1.0 - restart_margin);
  collect(floor);
  reopen();
  fill();
  fresh_.clear();
  left_links_.clear();
  left_level_ = unsolved;
  return reached_;
}

/// The level below which the changes touch nothing.
double Sharing::restart_level() {
  if (fresh_.size() == running_.size()) return 0.0;
  double level = left_level_;
  ++flood_;
  for (const std::uint32_t flow : fresh_) {
    for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
      Link& link = links_[layout_.hops[h].link];
      if (std::exchange(link.seen, flood_) != flood_) level = std::min(level, water_level(link));
    }
  }
  return level == unsolved ? 0.0 : level;
}

/// The x at which the link is full when its flows run at their old levels, but no faster than x,
/// and the new ones at x; or a little less.
double Sharing::water_level(const Link& link) const {
  double level = 0.0;
  for (int pass = 0; pass < water_level_passes; ++pass) {
    double slower = 0.0;
    double open = 0.0;
    for (const Member* m = begin(link); m != end(link); ++m) {
      const double pull = layout_.hops[m->hop].pull;
      if (level_[m->flow] <= level) {
        slower += pull * level_[m->flow];
      } else {
        open += pull;
      }
    }
    const double next = (link.capacity - slower) / open;
    if (!(next > level)) break;
    level = next;
  }
  return level;
}

/// Fills `reached_` with the flows to solve again: from the changed links through all flows that
/// are not slower than `floor`, or simply all such flows.
void Sharing::collect(double floor) {
  if (fresh_.size() == running_.size()) {
    sweep(floor);
  } else if (floods_to_skip_ > 0) {
    --floods_to_skip_;
    sweep(floor);
  } else if (flood(floor)) {
    next_skip_ = 1;
  } else {
    floods_to_skip_ = next_skip_;
    next_skip_ = std::min(2 * next_skip_, longest_skip);
    sweep(floor);
  }
}

bool Sharing::flood(double floor) {
  ++flood_;
  flood_budget_ = running_hops_ / flood_part;
  for (const std::uint32_t flow : fresh_) {
    seen_[flow] = flood_;
    reached_.push_back(flow);
  }
  for (const std::uint32_t l : left_links_) {
    if (!reach_from(links_[l], floor)) return false;
  }
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    const std::uint32_t flow = reached_[i];
    for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
      if (!reach_from(links_[layout_.hops[h].link], floor)) return false;
    }
  }
  return true;
}

/// False when the budget ran out.
bool Sharing::reach_from(Link& link, double floor) {
  if (std::exchange(link.seen, flood_) == flood_) return true;
  if (link.running > flood_budget_) return false;
  flood_budget_ -= link.running;
  for (const Member* m = begin(link); m != end(link); ++m) {
    if (level_[m->flow] < floor || std::exchange(seen_[m->flow], flood_) == flood_) continue;
    reached_.push_back(m->flow);
  }
  return true;
}

void Sharing::sweep(double floor) {
  reached_.resize(running_.size());
  std::size_t count = 0;
  for (const std::uint32_t flow : running_) {
    reached_[count] = flow;
    count += level_[flow] >= floor ? 1 : 0;
  }
  reached_.resize(count);
}

/// Takes the reached flows off their links, as if they had not been frozen.
void Sharing::reopen() {
  touched_links_.clear();
  caps_.clear();
  for (const std::uint32_t flow : reached_) {
    const double old_level = level_[flow] == unsolved ? 0.0 : level_[flow];
    unfrozen_[flow] = 1;
    for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
      const Hop& hop = layout_.hops[h];
      Link& link = links_[hop.link];
      if (link.unfrozen++ == 0) {
        touched_links_.push_back(hop.link);
        link.open = 0.0;
      }
      link.open += hop.pull;
      link.room += hop.pull * old_level;
    }
    if (layout_.cap_level[flow] != unlimited) caps_.emplace_back(layout_.cap_level[flow], flow);
  }
  for (const std::uint32_t l : touched_links_) {
    Link& link = links_[l];
    settle_room(link);
    link.open_summed = link.open;
    shares_.defer(l, link.room / link.open);
  }
  shares_.restore();
  std::make_heap(caps_.begin(), caps_.end(), std::greater<>());
}

/// Removes rounding from a link's room where that is cheap or due.
void Sharing::settle_room(Link& link) {
  if (link.unfrozen == link.running) {
    link.room = link.capacity;
    link.solves = 0;
  } else if (++link.solves == solves_between_sums) {
    double taken = 0.0;
    for (const Member* m = begin(link); m != end(link); ++m) {
      if (unfrozen_[m->flow] == 0) taken += layout_.hops[m->hop].pull * level_[m->flow];
    }
    link.room = link.capacity - taken;
    link.solves = 0;
  }
}

/// Progressive filling of the reached flows. Shares only grow while others are frozen, so the keys
/// are lower bounds: one is renewed when it comes to the top.
void Sharing::fill() {
  double last = 0.0;
  std::size_t left = reached_.size();
  while (left > 0) {
    const std::uint32_t l = shares_.top();
    double level = shares_.key(l);
    if (level != MinimumTree::none) {
      Link& link = links_[l];
      level = link.unfrozen == 0 ? MinimumTree::none : share(link, last);
      if (level > shares_.key(l)) {
        shares_.set(l, level);
        continue;
      }
    }
    while (!caps_.empty() && unfrozen_[caps_.front().second] == 0) {
      std::pop_heap(caps_.begin(), caps_.end(), std::greater<>());
      caps_.pop_back();
    }
    if (!caps_.empty() && caps_.front().first < level) {
      last = std::max(last, caps_.front().first);
      freeze(caps_.front().second, caps_.front().first, by_cap);
      --left;
      continue;
    }
    FLOWPLAN_ASSERT(level != MinimumTree::none);
    last = std::max(last, level);
    left -= links_[l].unfrozen;
    freeze_all(links_[l], level);
    shares_.set(l, MinimumTree::none);
  }
  for (const std::uint32_t l : touched_links_) {
    take_pending(links_[l]);
    if (shares_.key(l) != MinimumTree::none) shares_.defer(l, MinimumTree::none);
  }
  shares_.restore();
}

/// The level at which the link fills: `last`, the level of the flows that were frozen last (0
/// before any), when it fills together with them.
double Sharing::share(Link& link, double last) {
  take_pending(link);
  if (!layout_.integral && link.open < cancellation * link.open_summed) {
    link.open = 0.0;
    for (const Member* m = begin(link); m != end(link); ++m) {
      if (unfrozen_[m->flow] != 0) link.open += layout_.hops[m->hop].pull;
    }
    link.open_summed = link.open;
  }
  const bool together = last > 0.0 && link.room <= last * link.open + full_together * link.capacity;
  return together ? last : link.room / link.open;
}

void Sharing::freeze_all(const Link& link, double level) {
  for (const Member* m = begin(link); m != end(link); ++m) {
    if (unfrozen_[m->flow] != 0) freeze(m->flow, level, m->hop - layout_.first_hop[m->flow]);
  }
}

void Sharing::freeze(std::uint32_t flow, double level, std::uint32_t holder) {
  level_[flow] = level;
  holder_[flow] = holder;
  unfrozen_[flow] = 0;
  for (std::uint32_t h = layout_.first_hop[flow]; h < layout_.first_hop[flow + 1]; ++h) {
    const Hop& hop = layout_.hops[h];
    Link& link = links_[hop.link];
    if (link.pending_level != level) {
      take_pending(link);
      link.pending_level = level;
    }
    link.pending_pull += hop.pull;
    link.open -= hop.pull;
    --link.unfrozen;
  }
}

/// One subtraction a level instead of one a flow keeps rounding small on links with many flows.
void Sharing::take_pending(Link& link) {
  link.room -= link.pending_level * link.pending_pull;
  link.pending_pull = 0.0;
}

}  // namespace flowplan::flow
