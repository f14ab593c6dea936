#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "flowplan/accuracy/fit.hpp"

namespace flowplan::accuracy {

/// A number of a constants set that may be fitted.
struct FitParameter {
  std::string name;
  std::size_t index = 0;
  double value = 0.0;  ///< of the set
  double most = 0.0;   ///< line rate; 0: no limit
};

/// The efficiencies and latencies of a set of kind "collectives", those of value 0 left out; of
/// `only`, where that names any.
[[nodiscard]] std::vector<FitParameter> fit_parameters(const catalog::Constants& set,
                                                       const std::vector<std::string>& only);

/// Parameters multiplied by exp(theta), none above its limit.
struct FitChange {
  std::vector<FitParameter> parameters;
  std::vector<double> theta;
};

/// log(predicted / measured) of each point, by the stack that it ran on, in which the figures that
/// are those of `set` are changed. Errors of read_stack and predict.
[[nodiscard]] Result<std::vector<double>> log_errors(const catalog::Constants& set,
                                                     const FitChange& change,
                                                     const std::vector<const FitPoint*>& points);

}  // namespace flowplan::accuracy
