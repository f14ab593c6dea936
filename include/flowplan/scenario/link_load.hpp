#pragma once

#include <optional>
#include <string>
#include <vector>

namespace flowplan::scenario {

/// What loads the links of a tier, and how far, as the mean over the links that it may use.
struct LinkLoad {
  std::string tier;  ///< "nvlink", "efa", ...
  std::string what;  ///< "weights to the engines"
  /// Share of their capacity over a step or a run, 0..1; nothing: not known.
  std::optional<double> over_all;
  std::optional<double> while_it_is;  ///< the same while it lasts
};

/// What is known of the links' use, and what loads them by amounts that are not.
struct LinkLoads {
  std::vector<LinkLoad> known;
  std::vector<std::string> unknown;  ///< each a sentence
};

}  // namespace flowplan::scenario
