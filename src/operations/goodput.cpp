#include "flowplan/operations/goodput.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "flowplan/operations/spares.hpp"

namespace flowplan::operations {

namespace {

/// Failures for short: their rate, and how a restart goes.
struct Chances {
  double rate = 0.0;           ///< failures a second
  double from_disk = 1.0;      ///< that a restart from disk comes through without a failure
  double from_memory = 1.0;    ///< the same from memory
  double disk_restarts = 0.0;  ///< expected time from a failure until restored from disk, s
};

double comes_through(const RunModel& run, double rate, Seconds read) {
  return run.node_loss * std::exp(-rate * (run.restart_swap + read).value()) +
         (1.0 - run.node_loss) * std::exp(-rate * (run.restart_in_place + read).value());
}

Chances chances(const RunModel& run) {
  Chances c;
  c.rate = 1.0 / run.mttf->value();
  c.from_disk = comes_through(run, c.rate, run.read);
  if (run.memory) c.from_memory = comes_through(run, c.rate, run.memory->read);
  c.disk_restarts = (1.0 - c.from_disk) / (c.rate * c.from_disk);
  return c;
}

Goodput without_failures(const RunModel& run) {
  const int saves = run.saves_per_disk_save();
  Goodput g;
  g.productive = run.interval * static_cast<double>(saves) / run.period();
  g.saving = 1.0 - g.productive;
  return g;
}

/// One tier: from one durable save to the next takes a period, or after a failure a period and the
/// time until the save can be restored.
Goodput one_tier(const RunModel& run, const Chances& c) {
  const double period = run.period().value();
  const double through = std::exp(-c.rate * (period + run.persist.value()));
  const double after_failure = (c.disk_restarts + (1.0 - through) / c.rate) / through;
  const double cycle = -std::expm1(-c.rate * period) * (1.0 / c.rate + after_failure);
  Goodput g;
  g.productive = run.interval.value() / cycle;
  g.saving = run.stall.value() / cycle;
  g.down = 1.0 - c.from_disk;
  return g;
}

/// Expected time from the start of a disk period to its end. `up` counts the time in which the job
/// runs, 0 leaves only restarts. Each position is linear in the time from the period's start:
/// V_j = a_j + b_j V_0, solved from the last backwards.
double period_time(const RunModel& run, const Chances& c, double up) {
  const MemoryTier& memory = *run.memory;
  const double q = memory.defeated;
  const double restart_again = 1.0 - c.from_memory;
  const double leaves = c.from_memory + q * restart_again;
  const double constant = (restart_again / c.rate + restart_again * q * c.disk_restarts) / leaves;
  const double to_start = restart_again * q / leaves;
  const double to_here = c.from_memory / leaves;
  double a = 0.0, b = 0.0;
  for (int j = memory.saves_per_disk_save - 1; j >= 0; --j) {
    Seconds segment = run.interval + memory.stall;
    if (j == memory.saves_per_disk_save - 1) segment += run.stall;
    const double fails = -std::expm1(-c.rate * segment.value());
    const double here = 1.0 - fails * (1.0 - q) * to_here;
    a = (fails * (up / c.rate + (1.0 - q) * constant + q * c.disk_restarts) + (1.0 - fails) * a) /
        here;
    b = (fails * ((1.0 - q) * to_start + q) + (1.0 - fails) * b) / here;
  }
  return a / (1.0 - b);
}

Goodput two_tiers(const RunModel& run, const Chances& c) {
  const double cycle = period_time(run, c, 1.0);
  const double saves = run.memory->saves_per_disk_save;
  const double kept = std::max(0.0, 1.0 - c.rate * run.memory->defeated * run.persist.value());
  Goodput g;
  g.productive = kept * saves * run.interval.value() / cycle;
  g.saving = kept * (saves * run.memory->stall + run.stall).value() / cycle;
  g.down = period_time(run, c, 0.0) / cycle;
  return g;
}

/// The maximum of a function with one peak on [low, high], by golden section on the logarithm.
template <class Function>
double peak(double low, double high, const Function& value) {
  constexpr double golden = 0.6180339887498949;
  constexpr int steps = 60;  // narrows the bracket to 3e-13 of its width
  double a = std::log(low), b = std::log(high);
  double x = b - golden * (b - a), y = a + golden * (b - a);
  double at_x = value(std::exp(x)), at_y = value(std::exp(y));
  for (int i = 0; i < steps; ++i) {
    if (at_x >= at_y) {
      b = y;
      y = x;
      at_y = at_x;
      x = b - golden * (b - a);
      at_x = value(std::exp(x));
    } else {
      a = x;
      x = y;
      at_x = at_y;
      y = a + golden * (b - a);
      at_y = value(std::exp(y));
    }
  }
  return std::exp(0.5 * (a + b));
}

constexpr double shortest_interval = 1e-3;  // s

RunModel at_best_interval(RunModel run) {
  const int saves = run.saves_per_disk_save();
  const Seconds own = run.memory ? run.memory->stall : Seconds();
  const double low =
      std::max(shortest_interval, (run.persist / static_cast<double>(saves) - own).value());
  const double high = 2.0 * std::max(low, run.mttf->value());
  run.interval = Seconds(peak(low, high, [&](double interval) {
    run.interval = Seconds(interval);
    return expected_goodput(run).productive;
  }));
  return run;
}

}  // namespace

Seconds RunModel::period() const {
  const Seconds own = memory ? memory->stall : Seconds();
  return (interval + own) * static_cast<double>(saves_per_disk_save()) + stall;
}

Goodput expected_goodput(const RunModel& run) {
  FLOWPLAN_ASSERT(run.interval.value() > 0.0);
  if (!run.mttf) return without_failures(run);
  FLOWPLAN_ASSERT(run.mttf->value() > 0.0);
  const Chances c = chances(run);
  Goodput g = run.memory ? two_tiers(run, c) : one_tier(run, c);
  g.recomputed = std::max(0.0, 1.0 - g.productive - g.saving - g.down);

  const double lost_nodes = run.node_loss * (run.repair / *run.mttf);
  g.waiting = erlang_loss(run.spares + 1, lost_nodes);
  for (double* share : {&g.productive, &g.saving, &g.recomputed, &g.down})
    *share *= 1.0 - g.waiting;
  return g;
}

RunModel with_best_interval(RunModel run, bool fixed_saves) {
  FLOWPLAN_ASSERT(run.mttf.has_value());
  if (!run.memory || fixed_saves) return at_best_interval(std::move(run));
  constexpr int most_saves = 4096;
  // The best number of saves has one peak: doubled until it is passed, then narrowed.
  const auto best_with = [&](int saves) {
    run.memory->saves_per_disk_save = saves;
    return at_best_interval(run);
  };
  const auto value = [&](int saves) { return expected_goodput(best_with(saves)).productive; };
  int low = 1, high = 2;
  while (high < most_saves && value(high) > value(high / 2))
    high *= 2;
  low = std::max(1, high / 4);
  while (high - low > 2) {
    const int x = low + (high - low) / 3, y = high - (high - low) / 3;
    if (value(x) >= value(y)) {
      high = y;
    } else {
      low = x;
    }
  }
  int best = low;
  for (int saves = low + 1; saves <= high; ++saves) {
    if (value(saves) > value(best)) best = saves;
  }
  return best_with(best);
}

}  // namespace flowplan::operations
