#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/accuracy/nccl_log.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::accuracy {

/// One measured time of a collective, with all that a prediction needs.
struct FitPoint {
  std::string label;  ///< for people: "run.log: all_reduce 1048576"
  std::string group;  ///< left out as a whole
  std::shared_ptr<const topology::Cluster> cluster;
  collective::Request request;
  double measured_us = 0.0;  ///< > 0
};
struct FitInput {
  std::vector<FitPoint> points;
  std::vector<std::pair<std::string, std::size_t>> skipped;  ///< reason, count
};

/// The sizes of a log on a cluster; the group is the file. Errors as compare_log's.
[[nodiscard]] Result<FitInput> fit_points_of_log(std::shared_ptr<const topology::Cluster> cluster,
                                                 const NcclLog& log,
                                                 std::optional<collective::Operation> operation);
/// The rows of a collectives file that an instance type and a constants set stand for; the group is
/// the operation and the number of nodes. `catalog` outlives the points. Errors FP016: not such a
/// file.
[[nodiscard]] Result<FitInput> fit_points_of_rows(const catalog::Catalog& catalog,
                                                  const catalog::Instance& instance,
                                                  const catalog::Constants& profile,
                                                  const CsvTable& table);

/// A figure that the points hold.
struct FittedFigure {
  std::string name;
  std::size_t index = 0;  ///< of a table
  double before = 0.0, after = 0.0;
  double spread = 0.0;     ///< standard error as a fraction of `after`
  std::size_t points = 0;  ///< whose times change with it
  bool at_limit = false;   ///< held at the line rate
};
struct LeftOutGroup {
  std::string group;
  Score score;  ///< with the figures fitted on the other groups
};
struct FitReport {
  std::string profile;
  std::vector<FittedFigure> figures;
  std::vector<std::string> kept;  ///< figures that the points do not tell, left as they were
  Score before, after;
  std::vector<LeftOutGroup> left_out;
  Score left_out_overall;  ///< n = 0 when nothing was left out
  std::vector<Row> rows;   ///< each point, predicted with the fitted figures
};

/// Fits efficiencies and latencies of a constants set of kind "collectives" to measured times:
/// robust least squares on the logarithm of time, held weakly to the set's own figures. A figure is
/// fitted only where at least two points change with it and no other figure does the same to them.
/// With `leave_out` each group is predicted from the others as well. Errors FP082: too few points,
/// none that tells any figure, one group to leave out; those of predict.
[[nodiscard]] Result<FitReport> fit_collectives(const catalog::Constants& profile,
                                                const std::vector<FitPoint>& points,
                                                bool leave_out);

/// The fitted figures as a catalog overlay (--catalog FILE): the set itself with its new figures,
/// their source and spread.
[[nodiscard]] std::string fit_overlay(const catalog::Constants& profile, const FitReport& report,
                                      std::string_view source);

}  // namespace flowplan::accuracy
