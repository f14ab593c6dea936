#include "flowplan/operations/spares.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

namespace {

/// Waiting below this share of the time is none: more spares only cost.
constexpr double no_waiting = 1e-6;
constexpr int most_spares = 100000;

}  // namespace

double poisson_at_most(int count, double mean) {
  FLOWPLAN_ASSERT(mean >= 0.0);
  // In logarithms, as exp(-mean) alone may be below the smallest number.
  double sum = 0.0;
  for (int k = 0; k <= count; ++k)
    sum += std::exp((mean > 0.0 ? k * std::log(mean) : (k == 0 ? 0.0 : -HUGE_VAL)) - mean -
                    std::lgamma(k + 1.0));
  return std::min(1.0, sum);
}

int spares_for(double failures_in_window, double target) {
  FLOWPLAN_ASSERT(target < 1.0);
  int count = 0;
  while (count < most_spares && poisson_at_most(count, failures_in_window) < target)
    ++count;
  return count;
}

double erlang_loss(int places, double load) {
  FLOWPLAN_ASSERT(places >= 1 && load >= 0.0);
  double blocked = 1.0;
  for (int n = 1; n <= places; ++n)
    blocked = load * blocked / (n + load * blocked);
  return blocked;
}

std::vector<SpareOption> spare_options(const RunModel& run, double nodes) {
  FLOWPLAN_ASSERT(nodes > 0.0);
  std::vector<SpareOption> options;
  RunModel with = run;
  for (with.spares = 0; with.spares <= most_spares; ++with.spares) {
    const Goodput g = expected_goodput(with);
    options.push_back(
        {with.spares, g.ettr(), g.waiting, (nodes + with.spares) / (nodes * g.ettr())});
    if (g.waiting < no_waiting) break;
  }
  return options;
}

const SpareOption& cheapest(const std::vector<SpareOption>& options) {
  FLOWPLAN_ASSERT(!options.empty());
  return *std::min_element(options.begin(), options.end(),
                           [](const SpareOption& a, const SpareOption& b) {
                             return a.paid_over_productive < b.paid_over_productive;
                           });
}

}  // namespace flowplan::operations
