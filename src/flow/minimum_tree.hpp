#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace flowplan::flow {

/// The smallest of many keys, any of which may change. Keys stand in blocks, and each level above
/// holds the minima of its blocks: nothing is ever stale, unlike in a heap with lazy deletion, and
/// finding or changing a key takes a scan of one block a level.
class MinimumTree {
 public:
  static constexpr double none = std::numeric_limits<double>::infinity();
  static constexpr std::uint32_t block = 16;

  /// `size` keys, all `none`.
  explicit MinimumTree(std::size_t size) {
    std::size_t count = std::max<std::size_t>(size, 1);
    std::size_t offset = 0;
    do {
      count = (count + block - 1) / block;
      levels_.push_back(offset);
      offset += count * block;
    } while (count > 1);
    keys_.assign(offset, none);
    dirty_.assign((std::max<std::size_t>(size, 1) + block - 1) / block, 0);
  }

  [[nodiscard]] double key(std::uint32_t i) const { return keys_[i]; }

  void set(std::uint32_t i, double key) {
    keys_[i] = key;
    lift(i / block);
  }

  /// Changes a key without looking at the levels above, for many changes at once; `restore()` must
  /// follow before the next query.
  void defer(std::uint32_t i, double key) {
    keys_[i] = key;
    const std::uint32_t b = i / block;
    if (dirty_[b] == 0) {
      dirty_[b] = 1;
      deferred_.push_back(b);
    }
  }
  void restore() {
    for (const std::uint32_t b : deferred_) {
      dirty_[b] = 0;
      lift(b);
    }
    deferred_.clear();
  }

  /// The smallest key.
  [[nodiscard]] double minimum() const { return least(&keys_[levels_.back()]); }

  /// The first index that has the smallest key.
  [[nodiscard]] std::uint32_t top() const {
    const double least_key = minimum();
    std::uint32_t i = 0;
    for (std::size_t level = levels_.size(); level-- > 0;) {
      const double* keys = &keys_[levels_[level] + std::size_t{i} * block];
      std::uint32_t equal = 0;
      for (std::uint32_t k = 0; k < block; ++k) {
        equal |= static_cast<std::uint32_t>(keys[k] == least_key) << k;
      }
      i = i * block + static_cast<std::uint32_t>(std::countr_zero(equal));
    }
    return i;
  }

  /// Appends the indices whose key is at most `limit`, in ascending order.
  void collect(double limit, std::vector<std::uint32_t>& out) const {
    collect(levels_.size() - 1, 0, limit, out);
  }

  /// The keys of block `b`, to be changed together; `lift(b)` must follow before the next query.
  [[nodiscard]] double* keys_of(std::uint32_t b) { return &keys_[std::size_t{b} * block]; }

  /// Renews the minimum of block `b` of the keys, and those above it as far as they change.
  void lift(std::uint32_t b) {
    for (std::size_t level = 1; level < levels_.size(); ++level) {
      const double m = least(&keys_[levels_[level - 1] + std::size_t{b} * block]);
      double& above = keys_[levels_[level] + b];
      if (above == m) return;
      above = m;
      b /= block;
    }
  }

 private:
  static double least(const double* k) {
    std::array<double, 4> m{k[0], k[1], k[2], k[3]};
    for (std::size_t i = 4; i < block; i += 4) {
      for (std::size_t j = 0; j < 4; ++j)
        m[j] = k[i + j] < m[j] ? k[i + j] : m[j];
    }
    return std::min(std::min(m[0], m[1]), std::min(m[2], m[3]));
  }

  void collect(std::size_t level, std::uint32_t b, double limit,
               std::vector<std::uint32_t>& out) const {
    const double* keys = &keys_[levels_[level] + std::size_t{b} * block];
    for (std::uint32_t k = 0; k < block; ++k) {
      if (!(keys[k] <= limit)) continue;
      const std::uint32_t i = b * block + k;
      if (level == 0) {
        out.push_back(i);
      } else {
        collect(level - 1, i, limit, out);
      }
    }
  }

  std::vector<std::size_t> levels_;  // where each level starts in keys_
  std::vector<double> keys_;
  std::vector<std::uint8_t> dirty_;  // per block of the lowest level
  std::vector<std::uint32_t> deferred_;
};

}  // namespace flowplan::flow
