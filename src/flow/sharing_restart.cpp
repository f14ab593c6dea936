// What of a sharing has to be solved again after a change: from which level, and which flows.
#include <algorithm>
#include <utility>

#include "sharing.hpp"

namespace flowplan::flow {
namespace {

/// A flood that has walked this part of all running hops is given up for a sweep...
constexpr std::size_t flood_part = 2;
/// ...and then up to so many solves in a row do not try to flood.
constexpr std::uint32_t longest_skip = 64;

/// Passes after which the water level is close enough; each one only raises a lower bound.
constexpr int water_level_passes = 16;

}  // namespace

/// The level below which the changes touch nothing.
double Sharing::restart_level() {
  if (fresh_.size() == running_.size()) return 0.0;
  double level = left_level_;
  ++flood_;
  for (const std::uint32_t flow : fresh_) {
    for (const std::uint32_t r : layout_.path(flow)) {
      if (r == layout_.no_row()) break;
      if (std::exchange(links_[r].seen, flood_) != flood_) level = std::min(level, water_level(r));
    }
  }
  return level == unsolved ? 0.0 : level;
}

/// The x at which the link is full when its flows run at their old levels, but no faster than x,
/// and the new ones at x; or a little less.
double Sharing::water_level(std::uint32_t row) const {
  double level = 0.0;
  for (int pass = 0; pass < water_level_passes; ++pass) {
    double slower = 0.0;
    double open = 0.0;
    for (const std::uint32_t flow : members(row)) {
      const double part = layout_.pull.empty() ? 1.0 : layout_.pull[find_hop(flow, row)];
      if (level_[flow] <= level) {
        slower += part * level_[flow];
      } else {
        open += part;
      }
    }
    const double next = (links_[row].capacity - slower) / open;
    if (!(next > level)) break;
    level = next;
  }
  return level;
}

/// Fills `reached_` with the flows to solve again: from the changed links through all flows that
/// are not slower than `floor`, or simply all such flows.
void Sharing::collect(double floor) {
  if (fresh_.size() == running_.size()) {
    touched_links_ = busy_;
    reached_.swap(fresh_);
    moved_.reserve(reached_.size());
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
  touched_links_.clear();
  for (const std::uint32_t flow : fresh_) {
    unfrozen_[flow] = 1;
    reached_.push_back(flow);
  }
  for (const std::uint32_t r : left_links_) {
    if (!reach_from(r, floor)) return false;
  }
  for (std::size_t i = 0; i < reached_.size(); ++i) {
    for (const std::uint32_t r : layout_.path(reached_[i])) {
      if (r == layout_.no_row()) break;
      if (!reach_from(r, floor)) return false;
    }
  }
  return true;
}

/// False when the budget ran out; the flows that are marked by then are among those of a sweep.
bool Sharing::reach_from(std::uint32_t row, double floor) {
  Link& link = links_[row];
  if (std::exchange(link.seen, flood_) == flood_) return true;
  if (link.running > flood_budget_) return false;
  flood_budget_ -= link.running;
  touched_links_.push_back(row);
  for (const std::uint32_t flow : members(row)) {
    if (level_[flow] < floor || std::exchange(unfrozen_[flow], std::uint8_t{1}) == 1) continue;
    reached_.push_back(flow);
  }
  return true;
}

void Sharing::sweep(double floor) {
  touched_links_ = busy_;
  reached_.resize(running_.size());
  std::uint32_t* reached = reached_.data();
  for (const std::uint32_t flow : running_) {
    *reached = flow;
    reached += level_[flow] >= floor ? 1 : 0;
  }
  reached_.resize(static_cast<std::size_t>(reached - reached_.data()));
}

}  // namespace flowplan::flow
