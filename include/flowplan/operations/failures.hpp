#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"

namespace flowplan::operations {

/// How often the nodes of a GPU generation fail: a day and node of so many accelerators.
struct FailureRate {
  double low = 0.0, centre = 0.0, high = 0.0;
  double accelerators = 8.0;
  Source source;

  /// Of a node with another number of accelerators, each taken to fail alike.
  [[nodiscard]] FailureRate of_node(double node_accelerators) const;
};

/// One cause of interruptions as a published run counted it.
struct FailureCause {
  std::string id;  ///< "gpu_hbm3_memory"
  double count = 0.0;
  double share = 0.0;  ///< of all, 0..1
};

/// What the catalog's set "failures" says.
struct FailureFacts {
  FailureRate ampere, hopper, blackwell;
  FailureRate new_fleet;                ///< of any generation in its first months, without a band
  double job_per_hour = 0.0;            ///< of a job whatever its size
  double job_below_accelerators = 0.0;  ///< from this size on the node rate says all
  double lemon_share = 0.0, lemon_multiplier = 1.0;
  std::vector<FailureCause> causes;  ///< most frequent first, then by name

  [[nodiscard]] const FailureRate& of(catalog::GpuGeneration generation) const;
};
/// Errors: FP030 when the catalog has no such set, FP032 for a figure that it lacks.
[[nodiscard]] Result<FailureFacts> failure_facts(const catalog::Catalog& catalog);

/// How a job on `nodes` nodes fails: `nodes` > 0, rates >= 0.
struct Failures {
  double nodes = 0.0;
  double per_node_day = 0.0;
  double job_per_hour = 0.0;      ///< of the job itself, whatever its size; takes no node out
  double lemon_share = 0.0;       ///< of the nodes, 0..1
  double lemon_multiplier = 1.0;  ///< how often these fail beside the others, >= 1

  [[nodiscard]] double node_failures_per_day() const;  ///< of all nodes together
  [[nodiscard]] double per_day() const;                ///< of nodes and job
  /// Mean time between failures of the job; nothing when it never fails.
  [[nodiscard]] std::optional<Seconds> mttf() const;
  /// Of all failures, those of nodes; 0 when there are none.
  [[nodiscard]] double node_share() const;
};

}  // namespace flowplan::operations
