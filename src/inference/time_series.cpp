#include "flowplan/inference/time_series.hpp"

#include <algorithm>
#include <cmath>

namespace flowplan::inference {

void TimeSeries::add(double from_s, double to_s, double from_value, double to_value) {
  if (to_s <= from_s) return;
  const double area = (to_s - from_s) * (from_value + to_value) / 2.0;
  integral_ += area;
  while (to_s > width_ * static_cast<double>(most_intervals)) {
    const std::size_t half = (areas_.size() + 1) / 2;
    for (std::size_t i = 0; i < half; ++i)
      areas_[i] = areas_[2 * i] + (2 * i + 1 < areas_.size() ? areas_[2 * i + 1] : 0.0);
    areas_.resize(half);
    width_ *= 2.0;
  }
  const auto first = static_cast<std::size_t>(from_s / width_);
  const auto last = std::max(first, static_cast<std::size_t>(std::ceil(to_s / width_)) - 1);
  if (last >= areas_.size()) areas_.resize(last + 1, 0.0);
  if (first == last) {
    areas_[first] += area;
    return;
  }
  const double slope = (to_value - from_value) / (to_s - from_s);
  for (std::size_t i = first; i <= last; ++i) {
    const double a = std::max(from_s, static_cast<double>(i) * width_);
    const double b = std::min(to_s, static_cast<double>(i + 1) * width_);
    const double middle = from_value + slope * ((a + b) / 2.0 - from_s);
    areas_[i] += (b - a) * middle;
  }
}

std::vector<double> TimeSeries::means() const {
  std::vector<double> means = areas_;
  for (double& mean : means)
    mean /= width_;
  return means;
}

}  // namespace flowplan::inference
