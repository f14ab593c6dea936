#include "flowplan/operations/interval.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

Seconds young_interval(Seconds stall, Seconds mttf) {
  FLOWPLAN_ASSERT(stall.value() >= 0.0 && mttf.value() > 0.0);
  return Seconds(std::sqrt(2.0 * stall.value() * mttf.value()));
}

Seconds daly_interval(Seconds stall, Seconds mttf) {
  return std::max(Seconds(), young_interval(stall, mttf) - stall);
}

Seconds daly_higher_order_interval(Seconds stall, Seconds mttf) {
  const double x = stall / (2.0 * mttf);
  if (x >= 1.0) return mttf;
  return young_interval(stall, mttf) * (1.0 + std::sqrt(x) / 3.0 + x / 9.0) - stall;
}

double exponential_efficiency(Seconds interval, Seconds stall, Seconds restart, Seconds mttf) {
  FLOWPLAN_ASSERT(interval.value() > 0.0 && mttf.value() > 0.0);
  return (interval / mttf) / (std::exp(restart / mttf) * std::expm1((interval + stall) / mttf));
}

std::optional<double> small_loss_ettr(Seconds interval, Seconds stall, Seconds restart,
                                      Seconds mttf) {
  FLOWPLAN_ASSERT(interval.value() > 0.0 && mttf.value() > 0.0);
  const double kept = 1.0 - (restart + 0.5 * interval) / mttf;
  if (kept < 0.0) return std::nullopt;
  return kept / (1.0 + stall / interval);
}

}  // namespace flowplan::operations
