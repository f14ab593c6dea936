#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/estimate/metric.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// A link on the way of a run's data or checkpoints.
struct StorageLink {
  std::string path;  ///< "dataset" or "checkpoint"
  std::string id, label;
  double ceiling_bytes_per_s = 0.0;  ///< of all nodes, were it the only limit
  double utilisation = 0.0;          ///< while the movement runs, 0..1
};

/// One of two answers that are laid side by side.
struct Side {
  std::string name, file;
  bool feasible = true;
  std::string reason;  ///< why it does not fit
  /// What the answer is of, flattened: dotted path and JSON text, in the order of the document.
  std::vector<std::pair<std::string, std::string>> inputs;
  bool from_result = false;  ///< `inputs` are those that a saved result states
  std::vector<Metric> metrics;
  Breakdown time;
  std::vector<StorageLink> storage_links;
};

[[nodiscard]] Side side_of(const scenario::Scenario& scenario, const scenario::Answer& answer);
/// A result as `--format json` wrote it. Errors: FP016 when it is none; FP073 for a format version
/// that this release does not read.
[[nodiscard]] Result<Side> side_of(const JsonDocument& saved_result);

struct InputChange {
  std::string path;
  std::optional<std::string> base, fresh;  ///< JSON; nothing: not there
};
struct MetricChange {
  std::string id;
  std::optional<double> base, fresh;
  [[nodiscard]] std::optional<double> factor() const;  ///< fresh / base, where both are not 0
};
/// A leaf of the breakdown. Leaves are the same when all ids on the way to them are.
struct TermChange {
  std::string id, label;
  std::optional<Seconds> base, fresh;
  std::string base_limit, fresh_limit;
  [[nodiscard]] Seconds difference() const;  ///< what is not there counts as 0
};

/// A link of storage that one of the sides has not, or that is wider or fuller in one of them.
struct LinkChange {
  std::string path, label;
  std::optional<StorageLink> base, fresh;
};

struct Difference {
  Side base, fresh;
  bool inputs_comparable = true;      ///< not: one is a scenario, the other a saved result
  std::vector<InputChange> inputs;    ///< that differ
  std::vector<MetricChange> metrics;  ///< all, in the registry's order
  std::vector<TermChange> terms;      ///< that differ, the largest difference first
  std::vector<LinkChange> links;      ///< that differ, along each path
};

/// What changed from `base` to `fresh`. The terms' differences sum to that of the whole time.
[[nodiscard]] Difference diff(Side base, Side fresh);

}  // namespace flowplan::planner
