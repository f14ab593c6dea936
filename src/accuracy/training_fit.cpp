#include "flowplan/accuracy/training_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "training_fit_model.hpp"

namespace flowplan::accuracy {
namespace {

constexpr double huber = 0.06;
constexpr double most_rows_of_a_part = 30.0;
constexpr int step_rounds = 3;
constexpr double furthest_step = 1.0;  // of a logarithm: a factor of 2.7
constexpr double hundred = 100.0;

const std::string& value_of(const Row& row, std::string_view key) {
  const auto found =
      std::find_if(row.by.begin(), row.by.end(), [&](const auto& by) { return by.first == key; });
  return found->second;
}

/// Least squares around errors that are linear in the figures' changes.
class LinearFit {
 public:
  LinearFit(const TrainingFitModel& model, FitVector theta, FitVector errors, FitColumns columns)
      : model_(model),
        theta_(std::move(theta)),
        errors_(std::move(errors)),
        columns_(std::move(columns)),
        shares_(model.rows().size()) {
    std::map<std::string, double> counts;
    for (const Row& row : model.rows())
      ++counts[value_of(row, "part")];
    for (std::size_t i = 0; i < shares_.size(); ++i)
      shares_[i] = std::min(1.0, most_rows_of_a_part / counts[value_of(model.rows()[i], "part")]);
  }

  /// The figures' changes that fit the rows `of` best, by reweighting a few times.
  [[nodiscard]] FitVector best(const std::vector<bool>& of) const {
    FitVector at = errors_, theta = theta_;
    constexpr int reweightings = 4;
    for (int i = 0; i < reweightings; ++i) {
      theta = solved_once(of, at);
      at = predicted(theta);
    }
    return theta;
  }

  /// Standard errors of the figures.
  [[nodiscard]] FitVector spreads() const {
    const std::vector<bool> all(errors_.size(), true);
    const FitColumns matrix = normal(all, errors_);
    double sum = 0.0;
    for (std::size_t i = 0; i < errors_.size(); ++i)
      sum += shares_[i] * errors_[i] * errors_[i];
    const double rows = std::accumulate(shares_.begin(), shares_.end(), 0.0);
    const double variance = std::max(sum / std::max(1.0, rows), huber * huber);
    FitVector spreads;
    for (std::size_t k = 0; k < columns_.size(); ++k) {
      FitVector unit(columns_.size(), 0.0);
      unit[k] = 1.0;
      spreads.push_back(std::sqrt(solve_positive(matrix, unit)[k] * variance) / huber);
    }
    return spreads;
  }

  [[nodiscard]] std::size_t rows_telling(std::size_t k) const {
    return accuracy::rows_telling(columns_[k]);
  }

 private:
  [[nodiscard]] FitVector predicted(const FitVector& theta) const {
    FitVector at = errors_;
    for (std::size_t k = 0; k < columns_.size(); ++k)
      for (std::size_t i = 0; i < at.size(); ++i)
        at[i] += columns_[k][i] * (theta[k] - theta_[k]);
    return at;
  }

  /// In units of the scale beyond which errors weigh less.
  [[nodiscard]] FitVector weights(const std::vector<bool>& of, const FitVector& at) const {
    FitVector weights(at.size(), 0.0);
    for (std::size_t i = 0; i < at.size(); ++i) {
      if (!of[i]) continue;
      const double robust = std::min(1.0, huber / std::max(std::abs(at[i]), 1e-12));
      weights[i] = shares_[i] * robust / (huber * huber);
    }
    return weights;
  }

  [[nodiscard]] FitColumns normal(const std::vector<bool>& of, const FitVector& at) const {
    const FitVector weight = weights(of, at);
    FitColumns matrix(columns_.size(), FitVector(columns_.size()));
    for (std::size_t a = 0; a < columns_.size(); ++a) {
      for (std::size_t b = 0; b <= a; ++b) {
        double sum = a == b ? prior(a) : 0.0;
        for (std::size_t i = 0; i < weight.size(); ++i)
          sum += columns_[a][i] * weight[i] * columns_[b][i];
        matrix[a][b] = matrix[b][a] = sum;
      }
    }
    return matrix;
  }

  [[nodiscard]] FitVector solved_once(const std::vector<bool>& of, const FitVector& at) const {
    const FitVector weight = weights(of, at);
    FitVector down(columns_.size());
    for (std::size_t k = 0; k < down.size(); ++k) {
      down[k] = -prior(k) * theta_[k];
      for (std::size_t i = 0; i < weight.size(); ++i)
        down[k] -= columns_[k][i] * weight[i] * errors_[i];
    }
    FitVector theta = solve_positive(normal(of, at), down);
    for (std::size_t k = 0; k < theta.size(); ++k)
      theta[k] = theta_[k] + std::clamp(theta[k], -furthest_step, furthest_step);
    return theta;
  }

  [[nodiscard]] double prior(std::size_t k) const {
    const double held = model_.parameters()[k].held;
    return 1.0 / (held * held);
  }

  const TrainingFitModel& model_;
  FitVector theta_, errors_;
  FitColumns columns_;
  FitVector shares_;  // of a row's weight
};

Score score_where(const std::vector<Row>& rows, const FitVector& errors,
                  const std::function<bool(const Row&)>& counts) {
  std::vector<Row> chosen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!counts(rows[i])) continue;
    chosen.push_back(rows[i]);
    chosen.back().predicted = rows[i].measured * std::exp(errors[i]);
  }
  std::vector<const Row*> each;
  for (const Row& row : chosen)
    each.push_back(&row);
  return score(each);
}

/// Errors of every row by figures fitted to the rows of other folds.
FitVector errors_by_folds(const TrainingFitModel& model, const LinearFit& fit,
                          const std::vector<std::size_t>& fold) {
  FitVector errors(fold.size());
  const std::size_t folds = *std::max_element(fold.begin(), fold.end()) + 1;
  for (std::size_t f = 0; f < folds; ++f) {
    std::vector<bool> others;
    for (const std::size_t of : fold)
      others.push_back(of != f);
    const FitVector by_others = model.errors(fit.best(others));
    for (std::size_t i = 0; i < fold.size(); ++i)
      if (fold[i] == f) errors[i] = by_others[i];
  }
  return errors;
}

/// Two halves of the groups, alternating within a source.
std::vector<std::size_t> halves(const TrainingFitModel& model) {
  std::map<std::string, std::size_t> seen_of_source;
  std::map<std::string, std::size_t> half_of_group;
  std::vector<std::size_t> fold;
  for (std::size_t i = 0; i < model.rows().size(); ++i) {
    const auto [group, fresh] = half_of_group.try_emplace(model.groups()[i], 0);
    if (fresh) group->second = seen_of_source[value_of(model.rows()[i], "source")]++ % 2;
    fold.push_back(group->second);
  }
  return fold;
}

std::vector<std::size_t> sources(const TrainingFitModel& model) {
  std::map<std::string, std::size_t> number;
  std::vector<std::size_t> fold;
  for (const Row& row : model.rows())
    fold.push_back(number.try_emplace(value_of(row, "source"), number.size()).first->second);
  return fold;
}

}  // namespace

bool is_training_table(const CsvTable& table) {
  return table.column("recompute") && table.column("metric") && table.column("framework");
}

Result<StepFitReport> fit_training(const catalog::Catalog& catalog, const CsvTable& table,
                                   bool leave_out) {
  auto parameters = step_parameters(catalog);
  if (!parameters) return fail(std::move(parameters.error()));
  TrainingFitModel model(catalog, table, std::move(*parameters));
  constexpr std::size_t fewest = 3;
  if (model.rows().size() < fewest) {
    return fail(
        error(Code::bad_measurement, in_file(table.file()),
              fmt::format("{} rows can be predicted: too few to fit anything", model.rows().size()),
              "`flowplan validate` says why the others cannot"));
  }
  StepFitReport report;
  report.kept = model.drop_untold();
  FitVector theta(model.parameters().size(), 0.0);
  const FitVector before = model.errors(theta);
  FitVector now = before;
  std::unique_ptr<LinearFit> fit;
  for (int round = 0; round <= step_rounds; ++round) {
    fit = std::make_unique<LinearFit>(model, theta, now, model.sensitivities(theta, now));
    if (round == step_rounds) break;
    theta = fit->best(std::vector<bool>(now.size(), true));
    now = model.errors(theta);
  }

  const FitVector spreads = fit->spreads();
  for (std::size_t k = 0; k < theta.size(); ++k) {
    const StepParameter& parameter = model.parameters()[k];
    report.figures.push_back({parameter.set, parameter.name, parameter.value,
                              parameter.value * std::exp(theta[k]), spreads[k],
                              fit->rows_telling(k)});
  }
  report.rows = model.rows();
  for (std::size_t i = 0; i < now.size(); ++i)
    report.rows[i].predicted = report.rows[i].measured * std::exp(now[i]);
  FitVector by_group, by_source;
  if (leave_out) {
    by_group = errors_by_folds(model, *fit, halves(model));
    by_source = errors_by_folds(model, *fit, sources(model));
    for (std::size_t i = 0; i < now.size(); ++i) {
      report.rows[i].left_out_percent = hundred * std::expm1(by_group[i]);
      report.source_left_out_percent.push_back(hundred * std::expm1(by_source[i]));
    }
  }
  const auto errors_of = [&](std::string part, const std::function<bool(const Row&)>& counts) {
    StepErrors errors{std::move(part),
                      score_where(model.rows(), before, counts),
                      score_where(model.rows(), now, counts),
                      {},
                      {}};
    if (leave_out) {
      errors.group_left_out = score_where(model.rows(), by_group, counts);
      errors.source_left_out = score_where(model.rows(), by_source, counts);
    }
    return errors;
  };
  report.overall = errors_of("all", [](const Row&) { return true; });
  std::map<std::string, bool> parts;
  for (const Row& row : model.rows())
    parts[value_of(row, "part")] = true;
  for (const auto& [part, unused] : parts)
    report.parts.push_back(errors_of(
        part, [&, &name = part](const Row& row) { return value_of(row, "part") == name; }));
  return report;
}

}  // namespace flowplan::accuracy
