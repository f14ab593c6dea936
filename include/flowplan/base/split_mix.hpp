#pragma once

#include <cstdint>
#include <limits>

namespace flowplan {

/// SplitMix64 (Steele, Lea, Flood 2014): numbers that are the same on every platform, unlike those
/// of the standard library's distributions.
class SplitMix64 {
 public:
  explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
  }

  /// Uniform in [0, count); `count` > 0.
  std::uint64_t below(std::uint64_t count) {
    constexpr std::uint64_t top = std::numeric_limits<std::uint64_t>::max();
    const std::uint64_t whole = top - top % count;  // of values that fill all remainders alike
    std::uint64_t x = next();
    while (x >= whole)
      x = next();
    return x % count;
  }

  /// Uniform in [0, 1).
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace flowplan
