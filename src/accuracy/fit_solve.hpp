#pragma once

#include <vector>

#include "fit_model.hpp"
#include "flowplan/accuracy/fit.hpp"

namespace flowplan::accuracy {

using FitVector = std::vector<double>;
/// One a parameter: a number for each point.
using FitColumns = std::vector<FitVector>;
using FitPoints = std::vector<const FitPoint*>;

/// Figures that fit points best.
struct FitSolution {
  std::vector<FitParameter> parameters;  ///< that the points tell
  FitVector theta;                       ///< logarithms of their changes
  FitVector errors;                      ///< log(predicted / measured) of each point
  FitColumns columns;                    ///< d errors / d theta

  /// Points whose times change with parameter k.
  [[nodiscard]] std::size_t points_telling(std::size_t k) const;
  /// Standard error of each parameter, as a fraction of it.
  [[nodiscard]] FitVector spreads() const;
};

/// Solves a symmetric positive system by Cholesky.
[[nodiscard]] FitVector solve_positive(FitColumns matrix, FitVector right);

/// Which points at least one of the parameters changes.
[[nodiscard]] Result<std::vector<bool>> told_points(const catalog::Constants& set,
                                                    const std::vector<FitParameter>& parameters,
                                                    const FitPoints& points);

/// Robust least squares over those of the parameters that the points tell. Errors of predict.
[[nodiscard]] Result<FitSolution> solve_fit(const catalog::Constants& set,
                                            const std::vector<FitParameter>& parameters,
                                            const FitPoints& points);

}  // namespace flowplan::accuracy
