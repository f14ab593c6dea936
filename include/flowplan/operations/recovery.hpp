#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::operations {

/// A time as it may be: at best, as a rule, at worst.
struct TimeRange {
  Seconds low{}, typical{}, high{};
};
enum class Pace { low, typical, high };

/// How a job comes back after a failure, term by term: a set of kind "recovery".
struct Recovery {
  std::string id;  ///< without "recovery-": "slurm-requeue"
  std::string about;
  TimeRange detect;
  TimeRange reboot;      ///< of the node that stays
  TimeRange spare_swap;  ///< a node that stands ready takes over
  TimeRange replace;     ///< until a new node has joined the pool
  TimeRange scheduler, process_start, communicator_init, warm_up;
};
/// The profile of that name ("slurm-requeue" or "recovery-slurm-requeue"). Errors: FP030 with the
/// known ones, FP032 for a figure that it lacks.
[[nodiscard]] Result<Recovery> recovery(const catalog::Catalog& catalog, std::string_view name);
/// Names of all profiles, without the prefix, in alphabetical order.
[[nodiscard]] std::vector<std::string> recovery_names(const catalog::Catalog& catalog);

/// What happens to the node. `none`: processes restart where they are.
enum class Remedy { none, reboot, spare_swap, replace };

/// One term of a restart, in the order in which they follow each other.
struct RestartTerm {
  std::string_view id;  ///< "communicator_init"
  Seconds time{};
};
/// u0 = detect + remedy + scheduler + process start + communicator init + checkpoint read +
/// warm-up, one after the other; `read` is the checkpoint's. Terms of no time are there too.
[[nodiscard]] std::vector<RestartTerm> restart_terms(const Recovery& recovery, Remedy remedy,
                                                     Seconds read, Pace pace = Pace::typical);
/// Their sum.
[[nodiscard]] Seconds restart_time(const Recovery& recovery, Remedy remedy, Seconds read,
                                   Pace pace = Pace::typical);

}  // namespace flowplan::operations
