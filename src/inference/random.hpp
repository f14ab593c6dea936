#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "flowplan/base/split_mix.hpp"

namespace flowplan::inference {

/// Numbers by position: draw (seed, stream, index) is the same whatever else was drawn, on every
/// platform.
class Draws {
 public:
  Draws(std::uint64_t seed, std::uint64_t stream, std::uint64_t index)
      : bits_(mixed(mixed(mixed(seed) ^ stream) ^ index)) {}

  /// Uniform in [0, 1).
  double unit() { return bits_.unit(); }
  /// Exponential of mean 1.
  double exponential() { return -std::log1p(-unit()); }
  /// Normal of mean 0 and variance 1 (Box and Muller 1958).
  double normal() {
    const double radius = std::sqrt(2.0 * exponential());
    return radius * std::cos(2.0 * std::numbers::pi * unit());
  }
  /// Gamma of mean 1 and that shape > 0 (Marsaglia and Tsang 2000).
  double gamma(double shape) {
    double scale = 1.0 / shape;
    if (shape < 1.0) {
      scale *= std::pow(1.0 - unit(), 1.0 / shape);
      shape += 1.0;
    }
    const double d = shape - 1.0 / 3.0, c = 1.0 / std::sqrt(9.0 * d);
    while (true) {
      const double x = normal();
      const double v = std::pow(1.0 + c * x, 3.0);
      if (v > 0.0 && std::log(1.0 - unit()) < 0.5 * x * x + d - d * v + d * std::log(v))
        return d * v * scale;
    }
  }

 private:
  static std::uint64_t mixed(std::uint64_t seed) { return SplitMix64(seed).next(); }

  SplitMix64 bits_;
};

}  // namespace flowplan::inference
