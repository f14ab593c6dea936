#include "fit_solve.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace flowplan::accuracy {
namespace {

// Of the logarithm of time: errors beyond this weigh less (soft L1).
constexpr double robust_scale = 0.05;
// A figure is thought to be right to a fourth before anything is measured: five times the scale at
// which a point's error begins to weigh less.
constexpr double prior_weight = 0.04;
constexpr double probe_step = 0.02;
// A point tells a figure when its time changes by so much of the figure's relative change.
constexpr double telling = 0.1;
constexpr std::size_t fewest_telling = 2;
// A figure whose effect the ones already taken explain to this part is not separable from them.
constexpr double separable_part = 0.15;
constexpr std::size_t points_a_figure = 2;
constexpr int most_rounds = 12;
constexpr double longest_step = 0.5;
constexpr double furthest = 1.6;  // about a factor of 5
constexpr double converged = 1e-4;

double dot(const FitVector& a, const FitVector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Columns of d log(time) / d log(parameter) around theta.
Result<FitColumns> sensitivities(const catalog::Constants& set,
                                 const std::vector<FitParameter>& parameters,
                                 const FitVector& theta, const FitPoints& points,
                                 const FitVector& errors) {
  FitColumns columns;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    FitVector moved = theta;
    // Downwards: a rate at its line cannot rise.
    moved[k] -= probe_step;
    const auto changed = log_errors(set, {parameters, moved}, points);
    if (!changed) return fail(changed.error());
    FitVector column(errors.size());
    for (std::size_t i = 0; i < errors.size(); ++i)
      column[i] = (errors[i] - (*changed)[i]) / probe_step;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::size_t count_telling(const FitVector& column) {
  return static_cast<std::size_t>(
      std::count_if(column.begin(), column.end(), [](double s) { return std::abs(s) >= telling; }));
}

/// Parameters that the points tell, the most telling first; each must do something that the ones
/// before it do not.
std::vector<std::size_t> told_by(const FitColumns& columns, std::size_t points) {
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return dot(columns[a], columns[a]) > dot(columns[b], columns[b]);
  });
  std::vector<std::size_t> told;
  FitColumns basis;
  for (const std::size_t k : order) {
    if (count_telling(columns[k]) < fewest_telling) continue;
    if (told.size() + 1 > std::max<std::size_t>(1, points / points_a_figure)) break;
    FitVector rest = columns[k];
    const double own = dot(rest, rest);
    for (const FitVector& direction : basis) {
      const double along = dot(rest, direction);
      for (std::size_t i = 0; i < rest.size(); ++i)
        rest[i] -= along * direction[i];
    }
    const double left = dot(rest, rest);
    if (left < separable_part * own) continue;
    for (double& value : rest)
      value /= std::sqrt(left);
    basis.push_back(std::move(rest));
    told.push_back(k);
  }
  return told;
}

double loss(const FitVector& errors, const FitVector& theta) {
  double sum = 0.0;
  for (const double e : errors)
    sum += 2.0 * robust_scale * robust_scale * (std::hypot(1.0, e / robust_scale) - 1.0);
  return sum + prior_weight * dot(theta, theta);
}

/// J^T W J with the prior on its diagonal.
FitColumns normal_matrix(const FitColumns& columns, const FitVector& weights) {
  FitColumns matrix(columns.size(), FitVector(columns.size()));
  for (std::size_t a = 0; a < columns.size(); ++a) {
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = a == b ? prior_weight : 0.0;
      for (std::size_t i = 0; i < weights.size(); ++i)
        sum += columns[a][i] * weights[i] * columns[b][i];
      matrix[a][b] = matrix[b][a] = sum;
    }
  }
  return matrix;
}

FitVector weights_of(const FitVector& errors) {
  FitVector weights;
  for (const double e : errors)
    weights.push_back(1.0 / std::hypot(1.0, e / robust_scale));
  return weights;
}

/// One step down from `solution`; false when no shorter step helps either.
Result<bool> descend(const catalog::Constants& set, const FitPoints& points,
                     FitSolution& solution) {
  const FitVector weights = weights_of(solution.errors);
  FitVector down(solution.theta.size());
  for (std::size_t k = 0; k < down.size(); ++k) {
    down[k] = -prior_weight * solution.theta[k];
    for (std::size_t i = 0; i < weights.size(); ++i)
      down[k] -= solution.columns[k][i] * weights[i] * solution.errors[i];
  }
  const FitVector step = solve_positive(normal_matrix(solution.columns, weights), down);
  const double now = loss(solution.errors, solution.theta);
  constexpr int most_halvings = 6;
  double scale = 1.0;
  for (int halving = 0; halving < most_halvings; ++halving, scale /= 2.0) {
    FitVector moved = solution.theta;
    for (std::size_t k = 0; k < moved.size(); ++k)
      moved[k] = std::clamp(moved[k] + std::clamp(scale * step[k], -longest_step, longest_step),
                            -furthest, furthest);
    auto errors = log_errors(set, {solution.parameters, moved}, points);
    if (!errors) return fail(errors.error());
    const double then = loss(*errors, moved);
    if (then >= now) continue;
    solution.theta = std::move(moved);
    solution.errors = std::move(*errors);
    return now - then > converged * now;
  }
  return false;
}

}  // namespace

FitVector solve_positive(FitColumns matrix, FitVector right) {
  const std::size_t n = right.size();
  for (std::size_t j = 0; j < n; ++j) {
    for (std::size_t k = 0; k < j; ++k)
      matrix[j][j] -= matrix[j][k] * matrix[j][k];
    matrix[j][j] = std::sqrt(matrix[j][j]);
    for (std::size_t i = j + 1; i < n; ++i) {
      for (std::size_t k = 0; k < j; ++k)
        matrix[i][j] -= matrix[i][k] * matrix[j][k];
      matrix[i][j] /= matrix[j][j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < i; ++k)
      right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k)
      right[i] -= matrix[k][i] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

std::size_t FitSolution::points_telling(std::size_t k) const {
  return count_telling(columns[k]);
}

FitVector FitSolution::spreads() const {
  const std::size_t n = parameters.size();
  const FitColumns matrix = normal_matrix(columns, weights_of(errors));
  const double freedom = std::max(1.0, static_cast<double>(errors.size()) - static_cast<double>(n));
  const double variance = dot(errors, errors) / freedom;
  FitVector spreads;
  for (std::size_t k = 0; k < n; ++k) {
    FitVector unit(n, 0.0);
    unit[k] = 1.0;
    spreads.push_back(std::sqrt(solve_positive(matrix, unit)[k] * variance));
  }
  return spreads;
}

Result<std::vector<bool>> told_points(const catalog::Constants& set,
                                      const std::vector<FitParameter>& parameters,
                                      const FitPoints& points) {
  const auto start = log_errors(set, {}, points);
  if (!start) return fail(start.error());
  const auto columns =
      sensitivities(set, parameters, FitVector(parameters.size(), 0.0), points, *start);
  if (!columns) return fail(columns.error());
  std::vector<bool> told(points.size(), false);
  for (const FitVector& column : *columns) {
    for (std::size_t i = 0; i < told.size(); ++i)
      told[i] = told[i] || std::abs(column[i]) >= telling;
  }
  return told;
}

Result<FitSolution> solve_fit(const catalog::Constants& set, const std::vector<FitParameter>& all,
                              const FitPoints& points) {
  FitSolution solution;
  const auto start = log_errors(set, {}, points);
  if (!start) return fail(start.error());
  const auto columns = sensitivities(set, all, FitVector(all.size(), 0.0), points, *start);
  if (!columns) return fail(columns.error());
  for (const std::size_t k : told_by(*columns, points.size())) {
    solution.parameters.push_back(all[k]);
    solution.columns.push_back((*columns)[k]);
  }
  solution.theta.assign(solution.parameters.size(), 0.0);
  solution.errors = *start;
  if (solution.parameters.empty()) return solution;
  for (int round = 0; round < most_rounds; ++round) {
    const auto moved = descend(set, points, solution);
    if (!moved) return fail(moved.error());
    auto renewed = sensitivities(set, solution.parameters, solution.theta, points, solution.errors);
    if (!renewed) return fail(renewed.error());
    solution.columns = std::move(*renewed);
    if (!*moved) break;
  }
  return solution;
}

}  // namespace flowplan::accuracy
