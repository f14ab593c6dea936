#pragma once

#include <cstdint>
#include <optional>

#include "flowplan/base/quantity.hpp"

namespace flowplan::operations {

/// Saves into host memory (of peers, so that a lost node loses none) between those to disk.
struct MemoryTier {
  int saves_per_disk_save = 1;  ///< >= 1; the last of them goes to disk as well
  Seconds stall{};              ///< for which such a save blocks
  Seconds read{};               ///< to restore from it
  double defeated = 0.0;  ///< share of failures after which only the disk's save is left, 0..1
};

/// A long run on machines that fail.
struct RunModel {
  std::optional<Seconds> mttf;  ///< of the job; nothing: it never fails
  double node_loss = 1.0;       ///< share of failures that take a node out, 0..1

  Seconds interval{};  ///< of computing between two saves, > 0
  Seconds stall{};     ///< for which a save to disk blocks
  Seconds persist{};   ///< after the stall, until it can be restored; 0: a blocking save
  Seconds read{};      ///< to restore from disk
  std::optional<MemoryTier> memory;

  Seconds restart_swap{};      ///< u0 without the read, when a node that stands ready takes over
  Seconds restart_in_place{};  ///< the same on the same nodes
  int spares = 0;              ///< nodes that stand ready
  Seconds repair{};            ///< until a lost node, or a new one, is ready again

  /// Saves of both kinds to one save to disk.
  [[nodiscard]] int saves_per_disk_save() const { return memory ? memory->saves_per_disk_save : 1; }
  /// From one save to disk to the next without failures.
  [[nodiscard]] Seconds period() const;
  /// A save must have reached the disk before the next one starts.
  [[nodiscard]] bool saves_overlap() const { return persist > period() - stall; }
};

/// Where the time of a run goes, as shares of the wall time that add up to 1.
struct Goodput {
  double productive = 0.0;  ///< computing that counts
  double saving = 0.0;      ///< stalls of saves that count
  double recomputed = 0.0;  ///< computing and stalls thrown away by failures
  double down = 0.0;        ///< from failures to the job computing again
  double waiting = 0.0;     ///< for a node, because no spare stood ready

  /// Effective training time ratio: productive over wall time.
  [[nodiscard]] double ettr() const { return productive; }
  /// Share of the time in which the job runs, whether or not what it computes is kept.
  [[nodiscard]] double uptime() const { return productive + saving + recomputed; }
};

/// Long-run shares in closed form, for failures as a Poisson process that restarts do not escape.
/// Exact for one tier (blocking: Daly's form; asynchronous: a save counts `persist` after its
/// stall) and for two tiers with blocking saves; `persist` beside a memory tier enters to first
/// order. Waiting is Erlang's loss formula with spares + 1 places, exact for any distribution of
/// the repair time. Needs interval > 0 and saves that do not overlap.
[[nodiscard]] Goodput expected_goodput(const RunModel& run);

/// The interval (and the number of saves to memory a save to disk) with the largest ETTR, found on
/// `expected_goodput`; at least `persist`. Needs `mttf`. `fixed_saves`: keeps
/// memory.saves_per_disk_save.
[[nodiscard]] RunModel with_best_interval(RunModel run, bool fixed_saves = false);

}  // namespace flowplan::operations
