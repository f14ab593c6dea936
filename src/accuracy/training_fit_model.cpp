#include "training_fit_model.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include "flowplan/catalog/scale.hpp"

namespace flowplan::accuracy {
namespace {

constexpr double held_factor = 0.2, held_share = 0.4;
constexpr double step_probe = 0.02;

/// Amounts of time or traffic, not switches, exponents or memory.
bool is_step_amount(std::string_view name) {
  if (name.starts_with("band.") || name.starts_with("memory.")) return false;
  constexpr std::array endings{"_factor", ".factor", "_share", "_ms", "_us"};
  return name == "optimizer.parameter_bytes" ||
         std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

double held_of(std::string_view name) {
  return name.ends_with("_share") || name.ends_with("_ms") || name.ends_with("_us") ? held_share
                                                                                    : held_factor;
}

bool states(const catalog::Lineage& lineage, const std::string& name) {
  return std::find(lineage.own.begin(), lineage.own.end(), name) != lineage.own.end();
}

/// Sets of a kind with their lineages, so that heirs are found without asking again.
class Family {
 public:
  static Result<Family> read(const catalog::Catalog& catalog, std::string_view kind) {
    Family family;
    for (std::string& id : catalog.constants_ids(kind)) {
      auto lineage = catalog.lineage(id);
      if (!lineage) return fail(std::move(lineage.error()));
      family.sets_.emplace_back(std::move(id), std::move(*lineage));
    }
    return family;
  }

  [[nodiscard]] const std::vector<std::pair<std::string, catalog::Lineage>>& sets() const {
    return sets_;
  }

  /// The sets whose nearest statement of a figure is that of `set`, itself among them.
  [[nodiscard]] std::vector<std::string> heirs(const std::string& set,
                                               const std::string& name) const {
    std::vector<std::string> heirs;
    for (const auto& [id, lineage] : sets_)
      if (home(id, lineage, name) == set) heirs.push_back(id);
    return heirs;
  }

 private:
  [[nodiscard]] std::string home(const std::string& id, const catalog::Lineage& lineage,
                                 const std::string& name) const {
    if (states(lineage, name)) return id;
    for (const std::string& base : lineage.bases) {
      const auto found = std::find_if(sets_.begin(), sets_.end(),
                                      [&](const auto& set) { return set.first == base; });
      if (found != sets_.end() && states(found->second, name)) return base;
    }
    return {};
  }

  std::vector<std::pair<std::string, catalog::Lineage>> sets_;
};

}  // namespace

Result<std::vector<StepParameter>> step_parameters(const catalog::Catalog& catalog) {
  std::vector<StepParameter> parameters;
  for (const std::string_view kind : {"framework", "gpu_kernels"}) {
    const auto family = Family::read(catalog, kind);
    if (!family) return fail(family.error());
    for (const auto& [id, lineage] : family->sets()) {
      const catalog::Constants& set = **catalog.constants(id);
      for (const std::string& name : lineage.own) {
        const auto* entry = set.find(name);
        const bool of_step = kind == "framework" || name.starts_with("step.");
        if (!of_step || !is_step_amount(name) || entry->source.confidence != "fitted") continue;
        if (entry->values.size() != 1 || entry->values[0] <= 0.0) continue;
        parameters.push_back({id, name, family->heirs(id, name), entry->values[0], held_of(name)});
      }
    }
  }
  return parameters;
}

TrainingFitModel::TrainingFitModel(const catalog::Catalog& catalog, const CsvTable& table,
                                   std::vector<StepParameter> parameters)
    : catalog_(catalog), table_(table), parameters_(std::move(parameters)) {
  std::vector<Row> all = training_rows(catalog, table);
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].predicted || all[i].metric == "rl_step_time") continue;
    lines_.push_back(i);
    groups_.push_back(fmt::format("{}, {}, {}, {} GPUs", all[i].by[0].second, all[i].by[1].second,
                                  table.text(i, "model"), table.text(i, "gpus")));
    rows_.push_back(std::move(all[i]));
  }
}

std::size_t rows_telling(const FitVector& column) {
  // A row tells a figure when its time changes by so much of the figure's relative change.
  constexpr double telling = 0.02;
  return static_cast<std::size_t>(
      std::count_if(column.begin(), column.end(), [](double s) { return std::abs(s) >= telling; }));
}

std::size_t TrainingFitModel::drop_untold() {
  const FitVector still(parameters_.size(), 0.0);
  const FitColumns columns = sensitivities(still, errors(still));
  std::vector<StepParameter> told;
  for (std::size_t k = 0; k < columns.size(); ++k)
    if (rows_telling(columns[k]) > 0) told.push_back(std::move(parameters_[k]));
  const std::size_t dropped = parameters_.size() - told.size();
  parameters_ = std::move(told);
  return dropped;
}

FitVector TrainingFitModel::errors(const FitVector& theta) const {
  const std::vector<Row> all = training_rows(changed(theta), table_);
  FitVector errors;
  errors.reserve(lines_.size());
  for (std::size_t k = 0; k < lines_.size(); ++k) {
    const Row& row = all[lines_[k]];
    // A figure does not decide whether a row can be predicted.
    errors.push_back(std::log(row.predicted.value_or(*rows_[k].predicted) / row.measured));
  }
  return errors;
}

FitColumns TrainingFitModel::sensitivities(const FitVector& theta, const FitVector& at) const {
  FitColumns columns(parameters_.size());
  tbb::parallel_for(std::size_t{0}, parameters_.size(), [&](std::size_t k) {
    FitVector moved = theta;
    moved[k] += step_probe;
    columns[k] = errors(moved);
    for (std::size_t i = 0; i < at.size(); ++i)
      columns[k][i] = (columns[k][i] - at[i]) / step_probe;
  });
  return columns;
}

catalog::Catalog TrainingFitModel::changed(const FitVector& theta) const {
  catalog::Catalog changed = catalog_;
  for (std::size_t k = 0; k < parameters_.size(); ++k) {
    if (theta[k] == 0.0) continue;
    for (const std::string& heir : parameters_[k].heirs) {
      changed = catalog::scaled(std::move(changed), {catalog::Scaling::What::constant, heir,
                                                     parameters_[k].name, std::exp(theta[k])});
    }
  }
  return changed;
}

}  // namespace flowplan::accuracy
