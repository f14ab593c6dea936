#include "flowplan/accuracy/fit.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "fit_model.hpp"

namespace flowplan::accuracy {
namespace {

using Vector = std::vector<double>;
using Columns = std::vector<Vector>;  // one a parameter: a number for each point
using Points = std::vector<const FitPoint*>;

// Of the logarithm of time: errors beyond this weigh less (soft L1).
constexpr double robust_scale = 0.05;
// How a parameter is held to the set's own figure: as one point does at this many per cent.
constexpr double prior_weight = 0.01;
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

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

/// Columns of d log(time) / d log(parameter) around theta.
Result<Columns> sensitivities(const catalog::Constants& profile,
                              const std::vector<FitParameter>& parameters, const Vector& theta,
                              const Points& points, const Vector& errors) {
  Columns columns;
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    Vector moved = theta;
    // Downwards: a rate at its line cannot rise.
    moved[k] -= probe_step;
    const auto changed = log_errors(with_parameters(profile, parameters, moved), points);
    if (!changed) return fail(changed.error());
    Vector column(errors.size());
    for (std::size_t i = 0; i < errors.size(); ++i)
      column[i] = (errors[i] - (*changed)[i]) / probe_step;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::size_t count_telling(const Vector& column) {
  return static_cast<std::size_t>(
      std::count_if(column.begin(), column.end(), [](double s) { return std::abs(s) >= telling; }));
}

/// Parameters that the points tell, the most telling first; each must do something that the ones
/// before it do not.
std::vector<std::size_t> told_by(const Columns& columns, std::size_t points) {
  std::vector<std::size_t> order(columns.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return dot(columns[a], columns[a]) > dot(columns[b], columns[b]);
  });
  std::vector<std::size_t> told;
  Columns basis;
  for (const std::size_t k : order) {
    if (count_telling(columns[k]) < fewest_telling) continue;
    if (told.size() + 1 > std::max<std::size_t>(1, points / points_a_figure)) break;
    Vector rest = columns[k];
    const double own = dot(rest, rest);
    for (const Vector& direction : basis) {
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

/// Solves a symmetric positive system by Cholesky; `matrix` is overwritten.
Vector solved(Columns matrix, Vector right) {
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

double loss(const Vector& errors, const Vector& theta) {
  double sum = 0.0;
  for (const double e : errors)
    sum += 2.0 * robust_scale * robust_scale * (std::hypot(1.0, e / robust_scale) - 1.0);
  return sum + prior_weight * dot(theta, theta);
}

/// J^T W J with the prior on its diagonal.
Columns normal_matrix(const Columns& columns, const Vector& weights) {
  Columns matrix(columns.size(), Vector(columns.size()));
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

Vector weights_of(const Vector& errors) {
  Vector weights;
  for (const double e : errors)
    weights.push_back(1.0 / std::hypot(1.0, e / robust_scale));
  return weights;
}

struct Solution {
  std::vector<FitParameter> parameters;
  Vector theta, errors;
  Columns columns;  // at theta
};

/// One step down from `solution`; false when no shorter step helps either.
Result<bool> descend(const catalog::Constants& profile, const Points& points, Solution& solution) {
  const Vector weights = weights_of(solution.errors);
  Vector down(solution.theta.size());
  for (std::size_t k = 0; k < down.size(); ++k) {
    down[k] = -prior_weight * solution.theta[k];
    for (std::size_t i = 0; i < weights.size(); ++i)
      down[k] -= solution.columns[k][i] * weights[i] * solution.errors[i];
  }
  const Vector step = solved(normal_matrix(solution.columns, weights), down);
  const double now = loss(solution.errors, solution.theta);
  constexpr int most_halvings = 6;
  double scale = 1.0;
  for (int halving = 0; halving < most_halvings; ++halving, scale /= 2.0) {
    Vector moved = solution.theta;
    for (std::size_t k = 0; k < moved.size(); ++k)
      moved[k] = std::clamp(moved[k] + std::clamp(scale * step[k], -longest_step, longest_step),
                            -furthest, furthest);
    auto errors = log_errors(with_parameters(profile, solution.parameters, moved), points);
    if (!errors) return fail(errors.error());
    const double then = loss(*errors, moved);
    if (then >= now) continue;
    solution.theta = std::move(moved);
    solution.errors = std::move(*errors);
    return now - then > converged * now;
  }
  return false;
}

Result<Solution> solve(const catalog::Constants& profile, const Points& points) {
  Solution solution;
  std::vector<FitParameter> all = fit_parameters(profile);
  const auto start = log_errors(profile, points);
  if (!start) return fail(start.error());
  const auto columns = sensitivities(profile, all, Vector(all.size(), 0.0), points, *start);
  if (!columns) return fail(columns.error());
  for (const std::size_t k : told_by(*columns, points.size())) {
    solution.parameters.push_back(all[k]);
    solution.columns.push_back((*columns)[k]);
  }
  solution.theta.assign(solution.parameters.size(), 0.0);
  solution.errors = *start;
  if (solution.parameters.empty()) return solution;
  for (int round = 0; round < most_rounds; ++round) {
    const auto moved = descend(profile, points, solution);
    if (!moved) return fail(moved.error());
    auto renewed =
        sensitivities(profile, solution.parameters, solution.theta, points, solution.errors);
    if (!renewed) return fail(renewed.error());
    solution.columns = std::move(*renewed);
    if (!*moved) break;
  }
  return solution;
}

Row row_of_point(const FitPoint& point, double log_error) {
  Row row;
  row.id = point.label;
  row.metric = "time_us";
  row.measured = point.measured_us;
  row.predicted = point.measured_us * std::exp(log_error);
  row.by = {{"group", point.group}};
  return row;
}

Score score_of(const Points& points, const Vector& errors) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < points.size(); ++i)
    rows.push_back(row_of_point(*points[i], errors[i]));
  std::vector<const Row*> each;
  for (const Row& row : rows)
    each.push_back(&row);
  return score(each);
}

std::vector<FittedFigure> fitted_figures(const Solution& solution) {
  const std::size_t n = solution.parameters.size();
  const Columns matrix = normal_matrix(solution.columns, weights_of(solution.errors));
  const double freedom =
      std::max(1.0, static_cast<double>(solution.errors.size()) - static_cast<double>(n));
  const double variance = dot(solution.errors, solution.errors) / freedom;
  std::vector<FittedFigure> figures;
  for (std::size_t k = 0; k < n; ++k) {
    Vector unit(n, 0.0);
    unit[k] = 1.0;
    const FitParameter& parameter = solution.parameters[k];
    const double free_value = parameter.value * std::exp(solution.theta[k]);
    FittedFigure figure;
    figure.name = parameter.name;
    figure.index = parameter.index;
    figure.before = parameter.value;
    figure.at_limit = parameter.most > 0.0 && free_value >= parameter.most;
    figure.after = figure.at_limit ? parameter.most : free_value;
    figure.spread = std::sqrt(solved(matrix, unit)[k] * variance);
    figure.points = count_telling(solution.columns[k]);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<std::string> kept_figures(const catalog::Constants& profile,
                                      const std::vector<FittedFigure>& fitted) {
  std::vector<std::string> kept;
  for (const FitParameter& parameter : fit_parameters(profile)) {
    const bool was_fitted =
        std::any_of(fitted.begin(), fitted.end(), [&](const FittedFigure& figure) {
          return figure.name == parameter.name && figure.index == parameter.index;
        });
    if (was_fitted) continue;
    const bool table = profile.table(parameter.name).size() > 1;
    kept.push_back(table ? fmt::format("{}[{}]", parameter.name, parameter.index) : parameter.name);
  }
  return kept;
}

Result<void> leave_groups_out(const catalog::Constants& profile, const Points& points,
                              FitReport& report) {
  std::vector<std::string> groups;
  for (const FitPoint* point : points) {
    if (std::find(groups.begin(), groups.end(), point->group) == groups.end()) {
      groups.push_back(point->group);
    }
  }
  if (groups.size() < 2) {
    return fail(error(Code::bad_measurement, "only one group: there is nothing to leave out",
                      "a log is a group; of a file of rows, an operation on a number of nodes"));
  }
  Points seen;
  Vector all_errors;
  for (const std::string& group : groups) {
    Points others, left;
    for (const FitPoint* point : points)
      (point->group == group ? left : others).push_back(point);
    const auto solution = solve(profile, others);
    if (!solution) return fail(solution.error());
    const auto errors =
        log_errors(with_parameters(profile, solution->parameters, solution->theta), left);
    if (!errors) return fail(errors.error());
    report.left_out.push_back({group, score_of(left, *errors)});
    seen.insert(seen.end(), left.begin(), left.end());
    all_errors.insert(all_errors.end(), errors->begin(), errors->end());
  }
  report.left_out_overall = score_of(seen, all_errors);
  return {};
}

}  // namespace

Result<FitReport> fit_collectives(const catalog::Constants& profile,
                                  const std::vector<FitPoint>& points, bool leave_out) {
  constexpr std::size_t fewest_points = 3;
  if (points.size() < fewest_points) {
    return fail(error(Code::bad_measurement,
                      fmt::format("{} points are too few to fit anything", points.size()),
                      "a sweep of sizes: -b 8 -e 8G -f 2"));
  }
  Points each;
  for (const FitPoint& point : points)
    each.push_back(&point);
  const auto before = log_errors(profile, each);
  if (!before) return fail(before.error());
  const auto solution = solve(profile, each);
  if (!solution) return fail(solution.error());
  if (solution->parameters.empty()) {
    return fail(error(Code::bad_measurement, "these points tell no figure of " + profile.id()));
  }
  FitReport report;
  report.profile = profile.id();
  report.figures = fitted_figures(*solution);
  report.kept = kept_figures(profile, report.figures);
  report.before = score_of(each, *before);
  report.after = score_of(each, solution->errors);
  for (std::size_t i = 0; i < each.size(); ++i)
    report.rows.push_back(row_of_point(*each[i], solution->errors[i]));
  if (leave_out) {
    if (const auto done = leave_groups_out(profile, each, report); !done) return fail(done.error());
  }
  return report;
}

std::string fit_overlay(const catalog::Constants& profile, const FitReport& report,
                        std::string_view source) {
  const int digits = 4;
  const auto rounded = [digits](double value) {
    return std::stod(fmt::format("{:.{}g}", value, digits));
  };
  nlohmann::ordered_json figures = nlohmann::ordered_json::object();
  for (const FittedFigure& figure : report.figures) {
    const auto values = profile.table(figure.name);
    nlohmann::ordered_json& entry = figures[figure.name];
    if (entry.is_null()) {
      entry["value"] = values.size() == 1
                           ? nlohmann::ordered_json(values.front())
                           : nlohmann::ordered_json(Vector(values.begin(), values.end()));
      entry["source"] = "fit";
      entry["confidence"] = "fitted";
      entry["note"] = "";
    }
    std::string note = fmt::format("was {:.4g}, +-{:.1f} %, {} points", figure.before,
                                   100.0 * figure.spread, figure.points);
    if (figure.at_limit) note += ", at the line rate";
    std::string so_far = entry["note"].get<std::string>();
    if (values.size() == 1) {
      entry["value"] = rounded(figure.after);
    } else {
      entry["value"][figure.index] = rounded(figure.after);
      note = fmt::format("[{}] {}", figure.index, note);
    }
    entry["note"] = so_far.empty() ? note : so_far + "; " + note;
  }
  nlohmann::ordered_json overlay;
  overlay["sources"]["fit"] = fmt::format(
      "flowplan fit: {}; {} points, {:.1f} % median and {:.1f} % p90 error, before {:.1f} and "
      "{:.1f}",
      source, report.after.n, report.after.median_ape, report.after.p90_ape,
      report.before.median_ape, report.before.p90_ape);
  overlay["constants"] = nlohmann::ordered_json::array(
      {{{"id", profile.id()}, {"kind", profile.kind()}, {"figures", figures}}});
  return overlay.dump(2) + "\n";
}

}  // namespace flowplan::accuracy
