#include "arrival_times.hpp"

#include <algorithm>
#include <cmath>

#include "random.hpp"

namespace flowplan::inference {

namespace {
constexpr std::uint64_t arrival_stream = 1;
}

ArrivalTimes::ArrivalTimes(const Arrivals& arrivals, std::uint64_t seed)
    : arrivals_(arrivals), seed_(seed) {}

double ArrivalTimes::gap() {
  Draws draws(seed_, arrival_stream, number_);
  switch (arrivals_.kind) {
    case Arrivals::Kind::poisson:
      return draws.exponential();
    case Arrivals::Kind::gamma:
      return draws.gamma(1.0 / (arrivals_.cv * arrivals_.cv));
    case Arrivals::Kind::constant:
    case Arrivals::Kind::closed_loop:
      break;
  }
  return 1.0;
}

double ArrivalTimes::next() {
  if (arrivals_.kind == Arrivals::Kind::closed_loop) {
    const double place = static_cast<double>(number_++) / arrivals_.concurrency;
    return arrivals_.start_spread_s * std::min(place, 1.0);
  }
  const double tasks = gap();
  ++number_;
  move_on(tasks);
  return at_s_;
}

// On to where the integral of the rate has grown by `tasks`.
void ArrivalTimes::move_on(double tasks) {
  const std::vector<RatePoint>& profile = arrivals_.rate;
  while (true) {
    if (segment_ == profile.size()) {
      if (!arrivals_.repeat || profile.size() < 2) {
        at_s_ += tasks / profile.back().per_s;
        return;
      }
      round_s_ = at_s_;
      segment_ = 0;
    }
    // Before its first point the profile has that point's rate.
    const RatePoint end = profile[segment_];
    const RatePoint begin = segment_ == 0 ? RatePoint{0.0, end.per_s} : profile[segment_ - 1];
    const double length_s = end.at_s - begin.at_s;
    const double slope = length_s > 0.0 ? (end.per_s - begin.per_s) / length_s : 0.0;
    const double rate_now = begin.per_s + slope * (at_s_ - round_s_ - begin.at_s);
    const double left_s = std::max(0.0, round_s_ + end.at_s - at_s_);
    const double tasks_left = (rate_now + slope * left_s / 2.0) * left_s;
    if (tasks < tasks_left) {
      const double root = std::sqrt(std::max(0.0, rate_now * rate_now + 2.0 * slope * tasks));
      at_s_ += 2.0 * tasks / (rate_now + root);
      return;
    }
    tasks -= tasks_left;
    at_s_ = round_s_ + end.at_s;
    ++segment_;
  }
}

}  // namespace flowplan::inference
