#pragma once

#include <string>
#include <vector>

#include "fit_solve.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::accuracy {

/// A figure of whole steps and the sets that have it from its own.
struct StepParameter {
  std::string set, name;
  std::vector<std::string> heirs;
  double value = 0.0;
  double held = 0.0;  ///< how right it is thought to be before anything is measured, a fraction
};

[[nodiscard]] Result<std::vector<StepParameter>> step_parameters(const catalog::Catalog& catalog);

/// Rows whose time changes with a figure, from the figure's column.
[[nodiscard]] std::size_t rows_telling(const FitVector& column);

/// Rows of training that can be predicted, and what figures do to them.
class TrainingFitModel {
 public:
  TrainingFitModel(const catalog::Catalog& catalog, const CsvTable& table,
                   std::vector<StepParameter> parameters);

  /// Leaves out the figures that no row tells; how many they are.
  std::size_t drop_untold();
  [[nodiscard]] const std::vector<StepParameter>& parameters() const { return parameters_; }
  /// The rows with the catalog's own figures.
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The group of each row, which is left out as a whole.
  [[nodiscard]] const std::vector<std::string>& groups() const { return groups_; }
  /// log(predicted / measured) of each row with figures multiplied by exp(theta).
  [[nodiscard]] FitVector errors(const FitVector& theta) const;
  /// d errors / d theta at theta, a column a parameter; in parallel.
  [[nodiscard]] FitColumns sensitivities(const FitVector& theta, const FitVector& errors) const;

 private:
  [[nodiscard]] catalog::Catalog changed(const FitVector& theta) const;

  const catalog::Catalog& catalog_;
  const CsvTable& table_;
  std::vector<StepParameter> parameters_;
  std::vector<std::size_t> lines_;  // of the table
  std::vector<Row> rows_;
  std::vector<std::string> groups_;
};

}  // namespace flowplan::accuracy
