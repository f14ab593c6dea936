#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/planner/sweep.hpp"
#include "flowplan/planner/sweep_file.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Metrics that a table of rows shows: all of the families ("training") that this row has, in the
/// registry's order. Empty for a row without metrics.
[[nodiscard]] std::vector<std::string> sweep_columns(const planner::SweepRow& row);

/// CSV: point, the values of the axes, state, reason, then the metrics in SI units. With ends.
[[nodiscard]] std::string sweep_csv_head(const planner::Grid& grid,
                                         const std::vector<std::string>& metrics);
[[nodiscard]] std::string sweep_csv_row(const planner::SweepRow& row, const planner::Grid& grid,
                                        const std::vector<std::string>& metrics);

/// What a sweep keeps for its summary: counts and the best rows by one metric.
class SweepSummary {
 public:
  /// `metric` ranks; empty: the first of a row that is better high or low. `top` rows are kept.
  SweepSummary(std::string metric, std::size_t top) : metric_(std::move(metric)), top_(top) {}

  void add(const planner::SweepRow& row);
  [[nodiscard]] std::size_t rows() const { return ok_ + unfit_ + invalid_; }
  [[nodiscard]] std::size_t ok() const { return ok_; }
  [[nodiscard]] std::size_t unfit() const { return unfit_; }
  /// Counts, the best rows with their axes and a few of their metrics, and why others failed.
  [[nodiscard]] Document document(const planner::SweepHead& head) const;
  /// The same as JSON (catalogs/schema/result-sweep_summary.schema.json) with the report; of all
  /// rows only the best. Ends with a newline.
  [[nodiscard]] std::string json(const planner::SweepHead& head) const;

 private:
  std::string metric_;
  std::size_t top_;
  std::size_t ok_ = 0, unfit_ = 0, invalid_ = 0;
  std::vector<planner::SweepRow> best_;
  std::string first_unfit_, first_invalid_;
};

}  // namespace flowplan::report
