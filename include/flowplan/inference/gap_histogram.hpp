#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace flowplan::inference {

/// Durations, counted in buckets a thousandth wide (a double's exponent and first ten bits): any
/// number of them in constant memory.
class GapHistogram {
 public:
  static constexpr double resolution = 1.0 / 1024;  ///< relative width of a bucket

  /// Adds `count` gaps of `seconds` >= 0.
  void add(double seconds, double count);
  /// Adds `steps` gaps first, first + slope, ... each `count` times.
  void add_line(double first, double slope, std::uint64_t steps, double count);

  [[nodiscard]] double count() const { return count_; }
  [[nodiscard]] double mean() const { return count_ > 0.0 ? sum_ / count_ : 0.0; }
  /// The least gap that a share `p` of all (0 .. 1) do not exceed, to within `resolution`; 0 when
  /// there are none.
  [[nodiscard]] double percentile(double p) const;

 private:
  std::vector<double> buckets_;
  double count_ = 0.0, sum_ = 0.0;
};

}  // namespace flowplan::inference
