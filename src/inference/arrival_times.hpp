#pragma once

#include <cstdint>

#include "flowplan/inference/load.hpp"

namespace flowplan::inference {

/// The times at which tasks are sent, one after another.
class ArrivalTimes {
 public:
  ArrivalTimes(const Arrivals& arrivals, std::uint64_t seed);
  double next();

 private:
  [[nodiscard]] double gap();
  void move_on(double tasks);

  const Arrivals& arrivals_;
  std::uint64_t seed_, number_ = 0;
  std::size_t segment_ = 0;  // of the profile: from point segment_ - 1 to point segment_
  double round_s_ = 0.0;     // when this repetition of the profile began
  double at_s_ = 0.0;
};

}  // namespace flowplan::inference
