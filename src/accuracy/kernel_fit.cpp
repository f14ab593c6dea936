#include "flowplan/accuracy/kernel_fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "fit_solve.hpp"

namespace flowplan::accuracy {
namespace {

constexpr std::size_t folds = 3;
constexpr double neighbour_weight = 1.0;  // of a pair of knots, in rows
constexpr double held_weight = 0.05;      // of a knot, to 0
constexpr double to_percent = 100.0;
constexpr double per_ms = 1e3;

using Samples = std::vector<const KernelSample*>;

/// What the surface has to say of a row.
double missed_by_law(const KernelSample& sample) {
  return std::log(sample.row.measured / (sample.use.law_s * per_ms));
}

/// Values of a surface, fitted to the samples of all folds but one.
FitVector fit_surface(const Samples& samples, const std::vector<std::size_t>& fold,
                      std::size_t without) {
  const compute::Surface& surface = *samples.front()->use.surface;
  const std::size_t n = surface.values();
  FitColumns matrix(n, FitVector(n, 0.0));
  FitVector right(n, 0.0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (fold[i] == without) continue;
    const auto parts = surface.parts(samples[i]->use.features);
    const double target = missed_by_law(*samples[i]);
    for (const auto& a : parts) {
      right[a.value] += a.weight * target;
      for (const auto& b : parts)
        if (b.value <= a.value) matrix[a.value][b.value] += a.weight * b.weight;
    }
  }
  for (const auto& [a, b] : surface.neighbours()) {
    matrix[a][a] += neighbour_weight;
    matrix[b][b] += neighbour_weight;
    matrix[std::max(a, b)][std::min(a, b)] -= neighbour_weight;
  }
  for (std::size_t i = 0; i < n; ++i)
    matrix[i][i] += held_weight;
  return solve_positive(std::move(matrix), std::move(right));
}

/// The fold of each sample: its group's, dealt in the order of the groups' names.
std::vector<std::size_t> folds_of(const Samples& samples) {
  std::map<std::string, std::size_t> of_group;
  for (const KernelSample* sample : samples)
    of_group.emplace(sample->group, 0);
  std::size_t next = 0;
  for (auto& [group, fold] : of_group)
    fold = next++ % folds;
  std::vector<std::size_t> fold;
  for (const KernelSample* sample : samples)
    fold.push_back(of_group.at(sample->group));
  return fold;
}

/// Of each sample the time by the law and a surface that did not see its group, in ms.
FitVector left_out_times(const Samples& samples) {
  const std::vector<std::size_t> fold = folds_of(samples);
  FitVector times(samples.size());
  for (std::size_t without = 0; without < folds; ++without) {
    const FitVector values = fit_surface(samples, fold, without);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (fold[i] != without) continue;
      double sum = 0.0;
      for (const auto& part : samples[i]->use.surface->parts(samples[i]->use.features))
        sum += part.weight * values[part.value];
      times[i] = samples[i]->use.law_s * per_ms * std::exp(sum);
    }
  }
  return times;
}

Score score_by(const std::vector<Row>& rows) {
  std::vector<const Row*> each;
  for (const Row& row : rows)
    each.push_back(&row);
  return score(each);
}

Row with_time(const Row& row, double ms) {
  Row other = row;
  other.predicted = ms;
  return other;
}

struct TableRows {
  std::vector<Row> law, shipped, left_out;
};

TableRows rows_of(const Samples& samples) {
  TableRows rows;
  const FitVector left = left_out_times(samples);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Row& row = samples[i]->row;
    rows.law.push_back(with_time(row, samples[i]->use.law_s * per_ms));
    rows.left_out.push_back(with_time(row, left[i]));
    rows.shipped.push_back(row);
    rows.shipped.back().left_out_percent = to_percent * (left[i] / row.measured - 1.0);
  }
  return rows;
}

KernelErrors errors_of(std::string table, const TableRows& rows) {
  return {std::move(table), score_by(rows.law), score_by(rows.shipped), score_by(rows.left_out)};
}

std::size_t groups_of(const Samples& samples) {
  std::set<std::string> groups;
  for (const KernelSample* sample : samples)
    groups.insert(sample->group);
  return groups.size();
}

}  // namespace

Result<KernelFitReport> fit_kernels(const std::vector<KernelSample>& samples) {
  std::map<std::string, Samples> by_table;
  for (const KernelSample& sample : samples)
    by_table[fmt::format("{} {}", sample.row.by.front().second, sample.use.table)].push_back(
        &sample);
  std::vector<std::pair<std::string, Samples>> tables;
  KernelFitReport report;
  for (auto& [name, of_table] : by_table) {
    if (groups_of(of_table) >= folds)
      tables.emplace_back(name, std::move(of_table));
    else
      report.untold += of_table.size();
  }
  if (tables.empty()) {
    return fail(error(Code::bad_measurement,
                      fmt::format("no table has rows of {} groups to leave out in turn", folds),
                      "a GEMM's (n, k), a head count, an expert's width is a group"));
  }
  std::vector<TableRows> rows(tables.size());
  tbb::parallel_for(std::size_t{0}, tables.size(),
                    [&](std::size_t i) { rows[i] = rows_of(tables[i].second); });
  TableRows all;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    report.tables.push_back(errors_of(tables[i].first, rows[i]));
    all.law.insert(all.law.end(), rows[i].law.begin(), rows[i].law.end());
    all.shipped.insert(all.shipped.end(), rows[i].shipped.begin(), rows[i].shipped.end());
    all.left_out.insert(all.left_out.end(), rows[i].left_out.begin(), rows[i].left_out.end());
  }
  report.overall = errors_of("all", all);
  report.rows = std::move(all.shipped);
  return report;
}

std::string kernel_fit_residuals(const KernelFitReport& report) {
  std::string text = "id,measured_ms,in_sample_error_percent,left_out_error_percent\n";
  for (const Row& row : report.rows)
    text += fmt::format("{},{},{:.1f},{:.1f}\n", row.id, row.measured,
                        to_percent * (*row.predicted / row.measured - 1.0), *row.left_out_percent);
  return text;
}

}  // namespace flowplan::accuracy
