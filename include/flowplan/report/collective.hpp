#pragma once

#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

struct CollectiveLine {
  Bytes size{};
  collective::Outcome outcome;
};

/// A size sweep of one collective.
struct CollectiveSweep {
  collective::Operation operation{};
  std::string instance;
  int nodes = 0;
  int ranks = 0;
  std::string profile;                  ///< the software stack
  std::vector<std::string> conditions;  ///< what differs from the cluster as built
  std::vector<CollectiveLine> lines;
};

/// nccl-tests' columns and what decided them: algorithm, protocol, limit. Lines of nccl-tests' own
/// layout, so that what reads its logs reads this.
[[nodiscard]] std::string collective_text(const CollectiveSweep& sweep);
[[nodiscard]] Document collective(const CollectiveSweep& sweep);
[[nodiscard]] std::string collective_json(const CollectiveSweep& sweep);

}  // namespace flowplan::report
