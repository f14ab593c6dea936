#pragma once

#include <cstdint>

namespace flowplan::topology {

/// The finalizer of SplitMix64 (Steele, Lea, Flood 2014): every bit of the input moves every other,
/// alike on every platform.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

}  // namespace flowplan::topology
