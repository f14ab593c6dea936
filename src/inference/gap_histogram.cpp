#include "flowplan/inference/gap_histogram.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace flowplan::inference {

namespace {

constexpr double shortest_gap = 0x1p-30;  // a nanosecond; what is shorter counts as that
constexpr int mantissa_bits = 10;
constexpr int dropped_bits = 52 - mantissa_bits;

std::uint64_t raw_bucket(double seconds) {
  return std::bit_cast<std::uint64_t>(seconds) >> dropped_bits;
}

std::size_t bucket(double seconds) {
  return raw_bucket(std::max(seconds, shortest_gap)) - raw_bucket(shortest_gap);
}

double lower_end(std::size_t bucket_number) {
  return std::bit_cast<double>((bucket_number + raw_bucket(shortest_gap)) << dropped_bits);
}

}  // namespace

void GapHistogram::add(double seconds, double count) {
  const std::size_t b = bucket(seconds);
  if (b >= buckets_.size()) buckets_.resize(b + 1, 0.0);
  buckets_[b] += count;
  count_ += count;
  sum_ += seconds * count;
}

void GapHistogram::add_line(double first, double slope, std::uint64_t steps, double count) {
  std::uint64_t done = 0;
  while (done < steps) {
    const double at = first + slope * static_cast<double>(done);
    const std::size_t b = bucket(at);
    std::uint64_t here = steps - done;
    const double last = first + slope * static_cast<double>(steps - 1);
    if (bucket(last) != b) {
      // As many as stay in this bucket; at least one, whatever the rounding.
      const double edge = slope > 0.0 ? lower_end(b + 1) : lower_end(b);
      const double steps_here = std::max(1.0, std::ceil((edge - at) / slope));
      if (steps_here < static_cast<double>(here)) here = static_cast<std::uint64_t>(steps_here);
    }
    const double n = static_cast<double>(here);
    if (b >= buckets_.size()) buckets_.resize(b + 1, 0.0);
    buckets_[b] += n * count;
    count_ += n * count;
    sum_ += count * (n * at + slope * n * (n - 1.0) / 2.0);
    done += here;
  }
}

double GapHistogram::percentile(double p) const {
  double below = 0.0;
  for (std::size_t b = 0; b < buckets_.size(); ++b) {
    below += buckets_[b];
    if (buckets_[b] > 0.0 && below >= p * count_) return (lower_end(b) + lower_end(b + 1)) / 2.0;
  }
  return 0.0;
}

}  // namespace flowplan::inference
