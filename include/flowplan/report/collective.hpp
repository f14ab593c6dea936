#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/together.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// One that NCCL could have run.
struct CollectiveCandidate {
  collective::Candidate candidate;
  std::optional<Seconds> time;  ///< predicted, when it is forced
};

struct CollectiveLine {
  Bytes size{};
  collective::Outcome outcome;
  std::vector<CollectiveCandidate> candidates;  ///< when they were asked for
  std::optional<Seconds> other_time;            ///< at the sweep's other ratio
};

/// A size sweep of one collective.
struct CollectiveSweep {
  collective::Operation operation{};
  std::string instance;
  int nodes = 0;
  int ranks = 0;
  std::string profile;                  ///< the software stack
  std::vector<std::string> conditions;  ///< what differs from the cluster as built
  /// Leaf oversubscription of `CollectiveLine::other_time`: 2 for a cluster at 1:1, else 1. AWS
  /// publishes none, so both answers stand beside each other.
  double other_ratio = 0.0;
  std::vector<CollectiveLine> lines;
};

/// Elements (floats) of `size` as nccl-tests counts them: of one rank's part where the operation
/// scatters or gathers. 0 where it holds none.
[[nodiscard]] std::int64_t collective_elements(collective::Operation operation, int ranks,
                                               Bytes size);

/// nccl-tests' columns and what decided them: algorithm, protocol, limit. Lines of nccl-tests' own
/// layout, so that what reads its logs reads this.
[[nodiscard]] std::string collective_text(const CollectiveSweep& sweep);
[[nodiscard]] Document collective(const CollectiveSweep& sweep);
[[nodiscard]] std::string collective_json(const CollectiveSweep& sweep);

/// Groups of collectives that run at once.
struct CollectiveGroups {
  std::string instance, profile;
  int nodes = 0;
  std::vector<std::string> conditions;
  std::vector<collective::Part> parts;
  std::vector<collective::PartOutcome> outcomes;  ///< one a part
};
[[nodiscard]] Document collective_groups(const CollectiveGroups& groups);
[[nodiscard]] std::string collective_groups_json(const CollectiveGroups& groups);

}  // namespace flowplan::report
