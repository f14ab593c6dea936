#pragma once

#include <cstddef>
#include <vector>

namespace flowplan::inference {

/// A quantity over time as means over equal intervals, which double in length when there would be
/// too many: any length of time in constant memory.
class TimeSeries {
 public:
  static constexpr std::size_t most_intervals = 256;

  /// Adds a part that has `from_value` at `from_s` and `to_value` at `to_s`, straight between;
  /// parts of several instances add up.
  void add(double from_s, double to_s, double from_value, double to_value);

  [[nodiscard]] double interval_s() const { return width_; }
  /// Mean over each interval from 0 on; the last one as if it were whole.
  [[nodiscard]] std::vector<double> means() const;
  /// Integral over all time.
  [[nodiscard]] double integral() const { return integral_; }

 private:
  std::vector<double> areas_;
  double width_ = 0x1p-10, integral_ = 0.0;
};

}  // namespace flowplan::inference
