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
  double measured_us = 0.0;                     ///< > 0
  const catalog::Constants* profile = nullptr;  ///< the stack that it ran on
  /// Figure of the stack that the script which timed it adds to every time; empty: none.
  std::string harness = {};
};
struct FitInput {
  std::vector<FitPoint> points;
  std::vector<std::pair<std::string, std::size_t>> skipped;  ///< reason, count
};

/// The sizes of a log on a cluster with the software stack `profile`; the group is the file. Errors
/// as compare_log's.
[[nodiscard]] Result<FitInput> fit_points_of_log(std::shared_ptr<const topology::Cluster> cluster,
                                                 const catalog::Constants& profile,
                                                 const NcclLog& log,
                                                 std::optional<collective::Operation> operation);

/// Which rows of a file are points.
struct RowChoice {
  const catalog::Instance* instance = nullptr;  ///< measured on it; null: on any
  const catalog::Constants* set = nullptr;      ///< with this stack ...
  bool heirs = false;                           ///< ... or with any that extends it
  std::optional<int> nodes;                     ///< on so many; none: on any number
};
/// The chosen rows of a collectives file; the group is the operation, the number of nodes and the
/// instance type. `catalog` outlives the points. Errors FP016: not such a file.
[[nodiscard]] Result<FitInput> fit_points_of_rows(const catalog::Catalog& catalog,
                                                  const RowChoice& choice, const CsvTable& table);

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
/// Half width of the 90 % band of a class of times: the 90th percentile of the errors left out.
struct FittedBand {
  collective::BandFigure figure;
  double percent = 0.0;
  std::size_t points = 0;
};
struct FitReport {
  std::string profile;  ///< the set that was fitted
  std::vector<FittedFigure> figures;
  std::vector<std::string> kept;  ///< figures that the points do not tell, left as they were
  Score before, after;
  std::vector<LeftOutGroup> left_out;
  Score left_out_overall;  ///< n = 0 when nothing was left out
  std::vector<FittedBand> bands;
  std::size_t untold = 0;  ///< points whose time no figure changes: they count nowhere
  std::vector<Row> rows;   ///< each other point, predicted with the fitted figures, and left out
};

struct FitOptions {
  std::vector<std::string> only;  ///< names of the figures that may change; empty: all
  bool leave_out = false;         ///< predict each group from the others as well
};

/// Fits efficiencies and latencies of a constants set of kind "collectives" to measured times:
/// robust least squares on the logarithm of time, held weakly to the set's own figures. A figure is
/// fitted only where at least two points change with it and no other figure does the same to them.
/// Points of stacks that extend the set see its figures where they inherit them. Errors FP082: too
/// few points, none that tells any figure, one group to leave out; those of predict.
[[nodiscard]] Result<FitReport> fit_collectives(const catalog::Constants& set,
                                                const std::vector<FitPoint>& points,
                                                const FitOptions& options);

/// The fitted figures as a catalog overlay (--catalog FILE), one a line: the set itself with its
/// new figures, their source and spread; and the bands where groups were left out.
[[nodiscard]] std::string fit_overlay(const catalog::Constants& set, const FitReport& report,
                                      std::string_view source);

/// The errors of each point in and out of the fit, as the tables that `validate --left-out` reads.
[[nodiscard]] std::string fit_residuals(const FitReport& report);

}  // namespace flowplan::accuracy
