#include "grouping.hpp"

#include <algorithm>

#include "flowplan/base/assert.hpp"

namespace flowplan::topology {

Grouping Grouping::even(std::uint32_t things, std::uint32_t size) {
  FLOWPLAN_ASSERT(size >= 1);
  Grouping result;
  result.things_ = things;
  result.largest_ = size;
  result.groups_ = things / size + (things % size > 0 ? 1 : 0);
  return result;
}

Grouping Grouping::listed(std::span<const std::uint32_t> group_of) {
  Grouping result;
  result.things_ = static_cast<std::uint32_t>(group_of.size());
  result.group_.assign(group_of.begin(), group_of.end());
  for (const std::uint32_t group : group_of)
    result.groups_ = std::max(result.groups_, group + 1);
  std::vector<std::uint32_t> size(result.groups_, 0);
  for (const std::uint32_t group : group_of)
    result.position_.push_back(size[group]++);
  result.before_.push_back(0);
  for (const std::uint32_t things : size) {
    FLOWPLAN_ASSERT(things > 0);
    result.largest_ = std::max(result.largest_, things);
    result.before_.push_back(result.before_.back() + things);
  }
  result.member_.resize(group_of.size());
  for (std::uint32_t thing = 0; thing < result.things_; ++thing)
    result.member_[result.before_[group_of[thing]] + result.position_[thing]] = thing;
  return result;
}

}  // namespace flowplan::topology
