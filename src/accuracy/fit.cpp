#include "flowplan/accuracy/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "fit_solve.hpp"
#include "flowplan/collective/shape.hpp"

namespace flowplan::accuracy {
namespace {

constexpr double percent = 100.0;

Row row_of_point(const FitPoint& point, double log_error) {
  Row row;
  row.id = point.label;
  row.metric = "time_us";
  row.measured = point.measured_us;
  row.predicted = point.measured_us * std::exp(log_error);
  row.by = {{"group", point.group},
            {"operation", std::string(name(point.request.operation))},
            {"size_bytes", fmt::format("{:.0f}", point.request.size.value())}};
  return row;
}

Score score_of(const FitPoints& points, const FitVector& errors) {
  std::vector<Row> rows;
  for (std::size_t i = 0; i < points.size(); ++i)
    rows.push_back(row_of_point(*points[i], errors[i]));
  std::vector<const Row*> each;
  for (const Row& row : rows)
    each.push_back(&row);
  return score(each);
}

std::vector<FittedFigure> fitted_figures(const FitSolution& solution) {
  const FitVector spreads = solution.spreads();
  std::vector<FittedFigure> figures;
  for (std::size_t k = 0; k < spreads.size(); ++k) {
    const FitParameter& parameter = solution.parameters[k];
    const double free_value = parameter.value * std::exp(solution.theta[k]);
    FittedFigure figure;
    figure.name = parameter.name;
    figure.index = parameter.index;
    figure.before = parameter.value;
    figure.at_limit = parameter.most > 0.0 && free_value >= parameter.most;
    figure.after = figure.at_limit ? parameter.most : free_value;
    figure.spread = spreads[k];
    figure.points = solution.points_telling(k);
    figures.push_back(std::move(figure));
  }
  return figures;
}

std::vector<std::string> kept_figures(const catalog::Constants& set,
                                      const std::vector<FitParameter>& parameters,
                                      const std::vector<FittedFigure>& fitted) {
  std::vector<std::string> kept;
  for (const FitParameter& parameter : parameters) {
    const bool was_fitted =
        std::any_of(fitted.begin(), fitted.end(), [&](const FittedFigure& figure) {
          return figure.name == parameter.name && figure.index == parameter.index;
        });
    if (was_fitted) continue;
    const bool table = set.table(parameter.name).size() > 1;
    kept.push_back(table ? fmt::format("{}[{}]", parameter.name, parameter.index) : parameter.name);
  }
  return kept;
}

bool across_nodes(const FitPoint& point) {
  const auto members = collective::members_of(point.request.groups.front(), *point.cluster);
  return collective::shape_of(members).nodes > 1;
}

/// The bands of those classes of which enough points were left out.
std::vector<FittedBand> bands_of(const FitPoints& points, const std::vector<Row>& rows) {
  constexpr std::size_t fewest = 10;
  std::map<std::pair<std::string_view, std::size_t>, std::vector<Row>> classes;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto figure = collective::band_figure(points[i]->request.operation,
                                                across_nodes(*points[i]), points[i]->request.size);
    Row left = rows[i];
    left.predicted = left.measured * (1.0 + *left.left_out_percent / percent);
    classes[{figure.name, figure.index}].push_back(std::move(left));
  }
  std::vector<FittedBand> bands;
  for (const auto& [figure, of_class] : classes) {
    if (of_class.size() < fewest) continue;
    std::vector<const Row*> each;
    for (const Row& row : of_class)
      each.push_back(&row);
    bands.push_back({{figure.first, figure.second}, score(each).p90_ape, each.size()});
  }
  return bands;
}

std::vector<std::string> groups_of(const FitPoints& points) {
  std::vector<std::string> groups;
  for (const FitPoint* point : points)
    if (std::find(groups.begin(), groups.end(), point->group) == groups.end())
      groups.push_back(point->group);
  return groups;
}

/// Errors of the points of a group, in their order, by a fit to all others.
Result<FitVector> errors_without(const catalog::Constants& set,
                                 const std::vector<FitParameter>& parameters,
                                 const FitPoints& points, const std::string& group) {
  FitPoints others, left;
  for (const FitPoint* point : points)
    (point->group == group ? left : others).push_back(point);
  const auto solution = solve_fit(set, parameters, others);
  if (!solution) return fail(solution.error());
  return log_errors(set, {solution->parameters, solution->theta}, left);
}

Result<void> leave_groups_out(const catalog::Constants& set,
                              const std::vector<FitParameter>& parameters, const FitPoints& points,
                              FitReport& report) {
  const std::vector<std::string> groups = groups_of(points);
  if (groups.size() < 2) {
    return fail(error(Code::bad_measurement, "only one group: there is nothing to leave out",
                      "a log is a group; of a file of rows, an operation on a number of nodes"));
  }
  std::vector<Result<FitVector>> found(groups.size(), FitVector());
  tbb::parallel_for(std::size_t{0}, groups.size(), [&](std::size_t g) {
    found[g] = errors_without(set, parameters, points, groups[g]);
  });
  FitVector all(points.size());
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!found[g]) return fail(std::move(found[g].error()));
    FitPoints left;
    for (std::size_t i = 0; i < points.size(); ++i) {
      if (points[i]->group != groups[g]) continue;
      all[i] = (*found[g])[left.size()];
      report.rows[i].left_out_percent = percent * std::expm1(all[i]);
      left.push_back(points[i]);
    }
    report.left_out.push_back({groups[g], score_of(left, *found[g])});
  }
  report.left_out_overall = score_of(points, all);
  report.bands = bands_of(points, report.rows);
  return {};
}

}  // namespace

Result<FitReport> fit_collectives(const catalog::Constants& set,
                                  const std::vector<FitPoint>& points, const FitOptions& options) {
  constexpr std::size_t fewest_points = 3;
  if (points.size() < fewest_points) {
    return fail(error(Code::bad_measurement,
                      fmt::format("{} points are too few to fit anything", points.size()),
                      "a sweep of sizes: -b 8 -e 8G -f 2"));
  }
  const std::vector<FitParameter> parameters = fit_parameters(set, options.only);
  FitPoints all, each;
  for (const FitPoint& point : points)
    all.push_back(&point);
  const auto told = told_points(set, parameters, all);
  if (!told) return fail(told.error());
  for (std::size_t i = 0; i < all.size(); ++i)
    if ((*told)[i]) each.push_back(all[i]);
  const auto solution = solve_fit(set, parameters, each);
  if (!solution) return fail(solution.error());
  if (solution->parameters.empty()) {
    return fail(error(Code::bad_measurement, "these points tell no figure of " + set.id()));
  }
  const auto before = log_errors(set, {}, each);
  if (!before) return fail(before.error());
  FitReport report;
  report.profile = set.id();
  report.untold = all.size() - each.size();
  report.figures = fitted_figures(*solution);
  report.kept = kept_figures(set, parameters, report.figures);
  report.before = score_of(each, *before);
  report.after = score_of(each, solution->errors);
  for (std::size_t i = 0; i < each.size(); ++i)
    report.rows.push_back(row_of_point(*each[i], solution->errors[i]));
  if (options.leave_out) {
    if (auto done = leave_groups_out(set, parameters, each, report); !done)
      return fail(std::move(done.error()));
  }
  return report;
}

}  // namespace flowplan::accuracy
