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

/// With more flows on a link, the rounding of one subtraction a flow would add up.
constexpr std::uint32_t many_flows = 1000;

constexpr std::uint32_t hop_group = Layout::hop_group;
static_assert(Layout::row_block == MinimumTree::block);

}  // namespace

Sharing::Sharing(const Network& network, const FlowSet& flows, Redundant redundant)
    : layout_(lay_out(network, flows, redundant)),
      links_(layout_.rows()),
      water_(layout_.no_row() + 1),
      members_(layout_.members),
      places_(layout_.row.size()),
      level_(flows.size(), 0.0),
      holder_(flows.size(), by_cap),
      where_(flows.size(), nowhere),
      unfrozen_(flows.size(), 0),
      shares_(layout_.rows()) {
  for (std::uint32_t r = 0; r < layout_.rows(); ++r) {
    links_[r].capacity = water_[r].room = network.capacity[index(layout_.links[r].id)];
    links_[r].first_member = layout_.links[r].first_member;
  }
  running_.reserve(flows.size());
  fresh_.reserve(flows.size());
}

void Sharing::start(std::uint32_t flow) {
  FLOWPLAN_ASSERT(!runs(flow));
  where_[flow] = static_cast<std::uint32_t>(running_.size());
  running_.push_back(flow);
  std::uint32_t hop = layout_.first_hop[flow];
  for (const std::uint32_t r : layout_.path(flow)) {
    if (r == layout_.no_row()) break;
    Link& link = links_[r];
    if (link.running == 0) {
      link.place = static_cast<std::uint32_t>(busy_.size());
      busy_.push_back(r);
    }
    places_[hop++] = link.running;
    members_[link.first_member + link.running++] = flow;
    ++running_hops_;
  }
  level_[flow] = unsolved;
  holder_[flow] = nobody;
  fresh_.push_back(flow);
}

void Sharing::stop(std::uint32_t flow) {
  FLOWPLAN_ASSERT(runs(flow) && level_[flow] != unsolved);
  running_[where_[flow]] = running_.back();
  where_[running_.back()] = where_[flow];
  running_.pop_back();
  where_[flow] = nowhere;
  std::uint32_t hop = layout_.first_hop[flow];
  for (const std::uint32_t r : layout_.path(flow)) {
    if (r == layout_.no_row()) break;
    Link& link = links_[r];
    const std::uint32_t moved = members_[link.first_member + --link.running];
    members_[link.first_member + places_[hop]] = moved;
    places_[find_hop(moved, r)] = places_[hop];
    if (link.running == 0) {
      water_[r].room = link.capacity;
      busy_[link.place] = busy_.back();
      links_[busy_.back()].place = link.place;
      busy_.pop_back();
    } else {
      water_[r].room += pull(hop) * level_[flow];
    }
    if (!std::exchange(link.left, true)) left_links_.push_back(r);
    ++hop;
    --running_hops_;
  }
  left_level_ = std::min(left_level_, level_[flow]);
}

std::uint32_t Sharing::find_hop(std::uint32_t flow, std::uint32_t row) const {
  std::uint32_t hop = layout_.first_hop[flow];
  while (layout_.row[hop] != row)
    ++hop;
  return hop;
}

const std::vector<std::uint32_t>& Sharing::update() {
  reached_.clear();
  moved_.clear();
  filled_.clear();
  if (fresh_.empty() && left_links_.empty()) return reached_;
  collect(restart_level() * (1.0 - restart_margin));
  switch (choose_mode()) {
    case Mode::unit:
      solve<Mode::unit>();
      break;
    case Mode::weighted:
      solve<Mode::weighted>();
      break;
    case Mode::batched:
      solve<Mode::batched>();
      break;
  }
  fresh_.clear();
  for (const std::uint32_t r : left_links_)
    links_[r].left = false;
  left_links_.clear();
  left_level_ = unsolved;
  return reached_;
}

Sharing::Mode Sharing::choose_mode() {
  const bool batched = std::any_of(touched_links_.begin(), touched_links_.end(),
                                   [&](std::uint32_t r) { return links_[r].running > many_flows; });
  if (!batched && layout_.pull.empty()) return Mode::unit;
  if (details_.empty()) details_.resize(water_.size());
  return batched ? Mode::batched : Mode::weighted;
}

template <Sharing::Mode mode>
double Sharing::pull_in(std::size_t hop) const {
  if constexpr (mode == Mode::unit) return 1.0;
  if constexpr (mode == Mode::weighted) return layout_.pull[hop];
  return pull(hop);
}

template <Sharing::Mode mode>
void Sharing::solve() {
  reopen<mode>();
  for (const std::uint32_t r : touched_links_) {
    if (water_[r].open == 0.0) continue;
    settle_room<mode>(r);
    if constexpr (mode != Mode::unit) details_[r].open_summed = water_[r].open;
    shares_.defer(r, water_[r].room / water_[r].open);
  }
  shares_.restore();
  caps_.clear();
  if (!layout_.cap_level.empty()) {
    for (const std::uint32_t flow : reached_) {
      const double cap = layout_.cap_level[flow];
      if (cap != unlimited) caps_.emplace_back(cap, flow);
    }
    std::make_heap(caps_.begin(), caps_.end(), std::greater<>());
  }
  fill<mode>();
  for (const std::uint32_t r : touched_links_) {
    if constexpr (mode == Mode::batched) take_pending(r);
    if (shares_.key(r) != MinimumTree::none) shares_.defer(r, MinimumTree::none);
  }
}

/// Takes the reached flows off their links, as if they had not been frozen.
template <Sharing::Mode mode>
void Sharing::reopen() {
  const std::uint32_t* first_hop = layout_.first_hop.data();
  const std::uint32_t* row = layout_.row.data();
  std::uint8_t* unfrozen = unfrozen_.data();
  Water* water = water_.data();
  for (const std::uint32_t flow : reached_) {
    const double old_level = level_[flow] == unsolved ? 0.0 : level_[flow];
    unfrozen[flow] = 1;
    for (std::size_t h = first_hop[flow], end = first_hop[flow + 1]; h < end; h += hop_group) {
      for (std::size_t i = h; i < h + hop_group; ++i) {
        const double part = pull_in<mode>(i);
        water[row[i]].room += part * old_level;
        water[row[i]].open += part;
        if constexpr (mode != Mode::unit) ++details_[row[i]].unfrozen;
      }
    }
  }
}

/// Removes rounding from a link's room where that is cheap or due.
template <Sharing::Mode mode>
void Sharing::settle_room(std::uint32_t row) {
  Link& link = links_[row];
  bool all_unfrozen = false;
  if constexpr (mode == Mode::unit) {
    all_unfrozen = water_[row].open == static_cast<double>(link.running);
  } else {
    all_unfrozen = details_[row].unfrozen == link.running;
  }
  if (all_unfrozen) {
    water_[row].room = link.capacity;
    link.solves = 0;
  } else if (++link.solves == solves_between_sums) {
    double taken = 0.0;
    for (const std::uint32_t flow : members(row)) {
      if (unfrozen_[flow] == 0) taken += pull(find_hop(flow, row)) * level_[flow];
    }
    water_[row].room = link.capacity - taken;
    link.solves = 0;
  }
}

/// Progressive filling of the reached flows. Shares only grow while others are frozen, so the keys
/// are lower bounds: they are renewed, a block at a time, when one of them comes to the top.
template <Sharing::Mode mode>
void Sharing::fill() {
  double last = 0.0;  // level of the flows that were frozen last
  std::size_t left = reached_.size();
  while (left > 0) {
    const std::uint32_t r = shares_.top();
    double level = shares_.key(r);
    if (level != MinimumTree::none) {
      level = share<mode>(r);
      if (last > 0.0 && full_at(r, last)) {
        level = last;
      } else if (level > shares_.key(r)) {
        renew_shares<mode>(r / MinimumTree::block);
        continue;
      }
    }
    while (!caps_.empty() && unfrozen_[caps_.front().second] == 0) {
      std::pop_heap(caps_.begin(), caps_.end(), std::greater<>());
      caps_.pop_back();
    }
    if (!caps_.empty() && caps_.front().first < level) {
      last = std::max(last, caps_.front().first);
      freeze<mode>(caps_.front().second, caps_.front().first, by_cap);
      --left;
      continue;
    }
    FLOWPLAN_ASSERT(level != MinimumTree::none);
    last = std::max(last, level);
    filled_.push_back({r, level});
    left -= freeze_all<mode>(r, level);
    renew_shares<mode>(r / MinimumTree::block);
  }
}

template <Sharing::Mode mode>
void Sharing::renew_shares(std::uint32_t block) {
  const std::uint32_t first = block * MinimumTree::block;
  double* keys = shares_.keys_of(block);
  for (std::uint32_t i = 0; i < MinimumTree::block; ++i)
    keys[i] = share<mode>(first + i);
  shares_.lift(block);
}

/// The level at which the link fills, as far as is known.
template <Sharing::Mode mode>
double Sharing::share(std::uint32_t row) {
  const Water& water = water_[row];
  if constexpr (mode != Mode::unit) {
    if (water.open == 0.0) return MinimumTree::none;
    if constexpr (mode == Mode::batched) take_pending(row);
    if (!layout_.integral && water.open < cancellation * details_[row].open_summed) sum_open(row);
  }
  const double level = water.room / water.open;
  return water.open > 0.0 ? level : MinimumTree::none;
}

/// Whether the link fills together with flows that were frozen at `level`.
bool Sharing::full_at(std::uint32_t row, double level) const {
  const Water& water = water_[row];
  return water.open > 0.0 &&
         water.room <= level * water.open + full_together * links_[row].capacity;
}

void Sharing::sum_open(std::uint32_t row) {
  double open = 0.0;
  for (const std::uint32_t flow : members(row)) {
    if (unfrozen_[flow] != 0) open += pull(find_hop(flow, row));
  }
  water_[row].open = details_[row].open_summed = open;
}

template <Sharing::Mode mode>
std::size_t Sharing::freeze_all(std::uint32_t row, double level) {
  const std::span<const std::uint32_t> flows = members(row);
  if (frozen_.size() <= flows.size()) frozen_.resize(flows.size() + 1);
  std::uint32_t* frozen = frozen_.data();
  const std::uint8_t* unfrozen = unfrozen_.data();
  std::size_t count = 0;
  for (const std::uint32_t flow : flows) {
    frozen[count] = flow;
    count += unfrozen[flow];
  }
  for (std::size_t i = 0; i < count; ++i)
    freeze<mode>(frozen[i], level, row);
  return count;
}

template <Sharing::Mode mode>
void Sharing::freeze(std::uint32_t flow, double level, std::uint32_t holder) {
  level_[flow] = level;
  if (holder_[flow] != holder) {
    holder_[flow] = holder;
    moved_.push_back(flow);
  }
  unfrozen_[flow] = 0;
  const std::uint32_t* row = layout_.row.data();
  Water* water = water_.data();
  for (std::size_t h = layout_.first_hop[flow], end = layout_.first_hop[flow + 1]; h < end;
       h += hop_group) {
    for (std::size_t i = h; i < h + hop_group; ++i) {
      const double part = pull_in<mode>(i);
      Water& left = water[row[i]];
      if constexpr (mode == Mode::unit) {
        left.room -= level;
        left.open -= part;
      } else {
        Detail& detail = details_[row[i]];
        if constexpr (mode == Mode::weighted) {
          left.room -= part * level;
        } else {
          if (detail.pending_level != level) {
            take_pending(row[i]);
            detail.pending_level = level;
          }
          detail.pending_pull += part;
        }
        left.open = --detail.unfrozen == 0 ? 0.0 : left.open - part;
      }
    }
  }
}

/// One subtraction a level instead of one a flow keeps rounding small on links with many flows.
void Sharing::take_pending(std::uint32_t row) {
  Detail& detail = details_[row];
  water_[row].room -= detail.pending_level * detail.pending_pull;
  detail.pending_pull = 0.0;
}

}  // namespace flowplan::flow
