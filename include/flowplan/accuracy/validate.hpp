#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"

namespace flowplan::accuracy {

/// One measured figure with its prediction, or the reason why there is none.
struct Row {
  std::string id;
  std::string metric;
  double measured = 0.0;            ///< in the file's unit; > 0
  std::optional<double> predicted;  ///< same unit
  std::string skipped;              ///< reason; empty when predicted
  std::vector<std::pair<std::string, std::string>>
      by;  ///< ("source", ...), ("gpu", ...), ("group", ...), ("origin", "ec2" | "reference")
  /// Of the prediction, where its model states one.
  std::optional<Band> band = std::nullopt;
  /// Largest share of a link's line rate that the prediction takes, where its model says what links
  /// carry; more than 1 would beat physics.
  std::optional<double> link_share = std::nullopt;
  /// Signed error in percent of a prediction by figures that were fitted without the row's group,
  /// where a table of such errors has the row.
  std::optional<double> left_out_percent = std::nullopt;

  /// Absolute percentage error; must be predicted.
  [[nodiscard]] double ape() const;
  /// Whether the measurement lies in the band of the prediction; must have one.
  [[nodiscard]] bool in_band() const;
};

/// Predicts every row of a measurements file by the format its header names. One function a format,
/// in a file of its own.
[[nodiscard]] std::vector<Row> collective_rows(const catalog::Catalog& catalog,
                                               const CsvTable& table);
[[nodiscard]] std::vector<Row> custom_all_reduce_rows(const catalog::Catalog& catalog,
                                                      const CsvTable& table);
[[nodiscard]] std::vector<Row> training_rows(const catalog::Catalog& catalog,
                                             const CsvTable& table);
/// Closed-loop serving points, throughput tables, open-loop runs: simulated by `inference`. A point
/// gives two rows, `ttft` and `tpot`.
[[nodiscard]] std::vector<Row> serving_latency_rows(const catalog::Catalog& catalog,
                                                    const CsvTable& table);
[[nodiscard]] std::vector<Row> serving_throughput_rows(const catalog::Catalog& catalog,
                                                       const CsvTable& table);
[[nodiscard]] std::vector<Row> serving_run_rows(const catalog::Catalog& catalog,
                                                const CsvTable& table);
/// Kernel latencies in ms, of libraries as compute::KernelTable knows them.
[[nodiscard]] std::vector<Row> gemm_rows(const catalog::Catalog& catalog, const CsvTable& table);
[[nodiscard]] std::vector<Row> attention_rows(const catalog::Catalog& catalog,
                                              const CsvTable& table);
[[nodiscard]] std::vector<Row> latent_rows(const catalog::Catalog& catalog, const CsvTable& table);
[[nodiscard]] std::vector<Row> experts_rows(const catalog::Catalog& catalog, const CsvTable& table);

struct Score {
  std::size_t n = 0;
  double median_ape = 0, mean_ape = 0, p90_ape = 0;  ///< percent
  double bias = 0;                                   ///< percent: mean of predicted / measured - 1
  std::size_t banded = 0, in_band = 0;               ///< rows with a band; those inside it
  std::size_t left_out = 0;                          ///< rows that were left out of a fit
  double left_out_median_ape = 0, left_out_p90_ape = 0;  ///< percent, of those
};
[[nodiscard]] Score score(const std::vector<const Row*>& rows);

struct Report {
  struct Group {
    std::vector<std::pair<std::string, std::string>> by;
    Score score;
  };
  /// Who measured rows of the file, and when as far as the file says.
  struct Source {
    std::string name;
    std::string first_date, last_date;  ///< of its rows, as written; empty without dates
    std::size_t rows = 0;
  };
  std::string file;
  std::size_t rows = 0, predicted = 0;
  std::vector<std::pair<std::string, std::size_t>> skipped;  ///< reason, count; most first
  Score overall;
  std::vector<Source> sources;  ///< in the order of their names
  std::vector<Group> groups;    ///< by source, by GPU, by origin, by the format's own group
  std::vector<Row> details;
};

/// Reads the file, predicts its rows, scores them. `left_out` are tables of the errors of rows by
/// figures that were fitted without them: columns `id` and `left_out_error_percent`, or
/// `left_out_METRIC_error_percent` for rows of one metric. One beside the file, `X-left-out.csv` of
/// `X.csv`, is taken unasked. Errors: FP016 when no format has that header (the known ones are
/// named), and those of CsvTable.
[[nodiscard]] Result<Report> validate(const catalog::Catalog& catalog, const std::string& path,
                                      const std::vector<std::string>& left_out = {});
/// The same of a text; `file` is its name, beside which nothing is looked for.
[[nodiscard]] Result<Report> validate_text(const catalog::Catalog& catalog, std::string_view text,
                                           const std::string& file,
                                           const std::vector<std::string>& left_out = {});

}  // namespace flowplan::accuracy
