#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/metric.hpp"

namespace flowplan::planner {

/// What the answer becomes with one input a little smaller or larger.
struct SensitivitySide {
  std::string value;            ///< the input then
  std::string fault;            ///< why there is no answer; empty when there is one
  std::vector<Metric> metrics;  ///< of the answer; few when it does not fit
};

struct SensitivityRow {
  std::string input;  ///< path of the scenario, or the catalog's figure: "workload.seq_len"
  std::string label;  ///< for people
  std::string value;  ///< as it is, with its unit
  SensitivitySide less, more;
};

/// An answer and its neighbours.
struct Sensitivity {
  std::string name;
  double by = 0.1;
  std::vector<Metric> base;
  std::vector<SensitivityRow> rows;  ///< in a fixed order: catalog figures, then the scenario's
  std::vector<std::string> metrics;  ///< that are ranked unless others are asked for
};

struct SensitivityOptions {
  double by = 0.1;  ///< share by which each input is changed, 0 < by < 1
  int threads = 0;  ///< 0: all; the answer does not depend on how many
  std::string program_version;
};

/// Runs the scenario with each of its numbers and of the catalog's figures behind it multiplied by
/// 1 - by and 1 + by, one at a time. Whole numbers are rounded, and left out where that changes
/// nothing. Inputs: matrix rate, HBM, NVLink, network and price of the machines, factors of the
/// software profiles (training), and every number and quantity that the scenario states or that was
/// defaulted for it below `workload`, `storage` and `operations`. Errors: those of the scenario.
[[nodiscard]] Result<Sensitivity> sensitivity(const catalog::Catalog& catalog,
                                              const JsonDocument& scenario,
                                              const JsonDocument& schema,
                                              const SensitivityOptions& options);

/// How far one input moves a metric, relative to the answer: 0.05 is 5 % more.
struct Swing {
  const SensitivityRow* row = nullptr;
  std::optional<double> less, more;   ///< nothing: no answer, or none with that metric
  [[nodiscard]] double size() const;  ///< the larger of both, without sign
};

/// All rows that move the metric, the largest first, ties in the rows' order. Empty when the answer
/// does not have it.
[[nodiscard]] std::vector<Swing> swings(const Sensitivity& sensitivity, std::string_view metric);

}  // namespace flowplan::planner
