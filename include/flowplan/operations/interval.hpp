#pragma once

#include <optional>

#include "flowplan/base/quantity.hpp"

namespace flowplan::operations {

/// How much computing lies between two saves. `stall`: for how long a save blocks, >= 0. `mttf`:
/// mean time between failures of the job, > 0. All return >= 0.

/// Young 1974: sqrt(2 d M).
[[nodiscard]] Seconds young_interval(Seconds stall, Seconds mttf);
/// Daly 2006, first order: sqrt(2 d M) - d.
[[nodiscard]] Seconds daly_interval(Seconds stall, Seconds mttf);
/// Daly 2006, higher order; M where d >= 2 M.
[[nodiscard]] Seconds daly_higher_order_interval(Seconds stall, Seconds mttf);

/// Share of the time that is kept as progress when failures come as a Poisson process and restarts
/// may fail too (Daly 2006, exact): t / (M exp(R/M) (exp((t+d)/M) - 1)). `restart`: u0, >= 0.
[[nodiscard]] double exponential_efficiency(Seconds interval, Seconds stall, Seconds restart,
                                            Seconds mttf);

/// Kokolis et al. 2025, for small losses: (1 - (u0 + t/2) / M) / (1 + d/t). Nothing where it would
/// be negative: it says nothing there.
[[nodiscard]] std::optional<double> small_loss_ettr(Seconds interval, Seconds stall,
                                                    Seconds restart, Seconds mttf);

}  // namespace flowplan::operations
