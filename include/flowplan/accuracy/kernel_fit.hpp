#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/compute/kernel_table.hpp"

namespace flowplan::accuracy {

/// A predicted row of kernel latencies with what its table said.
struct KernelSample {
  Row row;
  compute::TableUse use;
  std::string group;  ///< left out as a whole: a GEMM's (n, k), a head count, an expert's width
};
/// Of a file of kernels; nothing when it is none.
[[nodiscard]] std::optional<std::vector<KernelSample>> kernel_samples(
    const catalog::Catalog& catalog, const CsvTable& table);

/// The errors of a table's rows.
struct KernelErrors {
  std::string table;  ///< "H100 gemm.bf16"; "all"
  Score law;          ///< by the law alone
  Score shipped;      ///< by the catalog's surface, which saw every row
  Score left_out;     ///< by a surface fitted without the row's group
};
struct KernelFitReport {
  KernelErrors overall;
  std::vector<KernelErrors> tables;
  std::vector<Row> rows;   ///< as shipped, and left out
  std::size_t untold = 0;  ///< rows of tables with fewer groups than folds: they count nowhere
};

/// Fits the surface of every table anew without a third of the groups at a time, and predicts
/// these: how the shipped surfaces would do on sizes that they have not seen. Laws, of two to five
/// constants each, stay. Least squares on the logarithm of measured over law; neighbouring knots
/// are held together, and all of them weakly to nothing. Errors FP082: fewer than three groups.
[[nodiscard]] Result<KernelFitReport> fit_kernels(const std::vector<KernelSample>& samples);

/// Errors of each row as `validate --left-out` reads.
[[nodiscard]] std::string kernel_fit_residuals(const KernelFitReport& report);

}  // namespace flowplan::accuracy
