#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/accuracy/fit.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::accuracy {

/// A factor of whole training steps: of a framework or of a GPU's kernels in a step.
struct StepFigure {
  std::string set, name;
  double before = 0.0, after = 0.0;
  double spread = 0.0;     ///< standard error as a fraction of `after`
  std::size_t points = 0;  ///< rows whose time changes with it
};

/// The errors of a part of the rows ("vTrain, dense").
struct StepErrors {
  std::string part;
  Score before, fitted;
  Score group_left_out;   ///< by figures fitted to the other half of the groups
  Score source_left_out;  ///< by figures fitted without any row of the source
};

struct StepFitReport {
  std::vector<StepFigure> figures;
  std::size_t kept = 0;  ///< figures that no row tells
  StepErrors overall;
  std::vector<StepErrors> parts;
  std::vector<Row> rows;                        ///< predicted with the fitted figures
  std::vector<double> source_left_out_percent;  ///< of each row; empty when nothing was left out
};

/// Fits the factors of whole steps to rows of training: robust least squares on the logarithm
/// (Huber beyond 6 %), parts of more than thirty rows weighted down to thirty, each figure held to
/// the catalog's as right to a fifth (shares and host times: to two fifths). Fitted are the figures
/// of kind "framework" and those named "step." of kind "gpu_kernels" that say `fitted`.
///
/// With `leave_out` every row is predicted by figures fitted to the other half of the groups
/// (source, GPU, model and number of GPUs, alternating within a source), and by figures fitted
/// without its source. Those fits are one Gauss-Newton step from the fit of all rows, with the
/// held figures where the catalog has them.
/// Errors FP082: fewer than three rows that can be predicted.
[[nodiscard]] Result<StepFitReport> fit_training(const catalog::Catalog& catalog,
                                                 const CsvTable& table, bool leave_out);

/// Whether a table has rows of training.
[[nodiscard]] bool is_training_table(const CsvTable& table);

/// The fitted figures as a catalog overlay, one a line.
[[nodiscard]] std::string training_fit_overlay(const catalog::Catalog& catalog,
                                               const StepFitReport& report,
                                               std::string_view source);
/// Errors of each row in the fit, and by the other half of the groups: as `validate --left-out`
/// reads. With `by_source`, without the row's source instead.
[[nodiscard]] std::string training_fit_residuals(const StepFitReport& report, bool by_source);

}  // namespace flowplan::accuracy
