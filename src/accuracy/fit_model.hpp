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

/// The efficiencies and latencies of a set of kind "collectives", those of value 0 left out.
[[nodiscard]] std::vector<FitParameter> fit_parameters(const catalog::Constants& profile);

/// The set with parameters multiplied by exp(theta), none above its limit.
[[nodiscard]] catalog::Constants with_parameters(const catalog::Constants& profile,
                                                 const std::vector<FitParameter>& parameters,
                                                 const std::vector<double>& theta);

/// log(predicted / measured) of each point. Errors of read_stack and predict.
[[nodiscard]] Result<std::vector<double>> log_errors(const catalog::Constants& profile,
                                                     const std::vector<const FitPoint*>& points);

}  // namespace flowplan::accuracy
