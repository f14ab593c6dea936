#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace flowplan::topology {

/// How things numbered from 0 are divided into groups: equal ones in order (the last may be
/// smaller), by arithmetic, or as a list says.
class Grouping {
 public:
  Grouping() = default;
  /// `size` >= 1.
  [[nodiscard]] static Grouping even(std::uint32_t things, std::uint32_t size);
  /// The group of every thing; groups are numbered from 0, none is empty.
  [[nodiscard]] static Grouping listed(std::span<const std::uint32_t> group_of);

  [[nodiscard]] std::uint32_t groups() const { return groups_; }
  [[nodiscard]] std::uint32_t largest() const { return largest_; }  ///< size of the largest group
  [[nodiscard]] std::uint32_t of(std::uint32_t thing) const {
    return group_.empty() ? thing / largest_ : group_[thing];
  }
  /// Of a thing within its group.
  [[nodiscard]] std::uint32_t position(std::uint32_t thing) const {
    return group_.empty() ? thing % largest_ : position_[thing];
  }
  /// Things in all groups before this one; `group` may be `groups()`.
  [[nodiscard]] std::uint32_t before(std::uint32_t group) const {
    if (group_.empty()) return group == groups_ ? things_ : group * largest_;
    return before_[group];
  }
  [[nodiscard]] std::uint32_t size(std::uint32_t group) const {
    return before(group + 1) - before(group);
  }
  /// The thing at a position of a group.
  [[nodiscard]] std::uint32_t member(std::uint32_t group, std::uint32_t position) const {
    const std::uint32_t at = before(group) + position;
    return group_.empty() ? at : member_[at];
  }
  /// The group for which `start(group) <= value < start(group + 1)`; `start` ascends from 0.
  template <class Start>
  [[nodiscard]] std::uint32_t find(std::uint32_t value, const Start& start) const {
    if (group_.empty()) return value / start(1);  // all but the last are alike
    std::uint32_t low = 0, high = groups_;
    while (high - low > 1) {
      const std::uint32_t middle = low + (high - low) / 2;
      (start(middle) <= value ? low : high) = middle;
    }
    return low;
  }

 private:
  std::uint32_t things_ = 0, groups_ = 0, largest_ = 1;
  std::vector<std::uint32_t> group_, position_;  ///< by thing; empty: even
  std::vector<std::uint32_t> before_;            ///< by group, and one more
  std::vector<std::uint32_t> member_;            ///< by group, then position
};

}  // namespace flowplan::topology
