#pragma once

#include "flowplan/estimate/estimate.hpp"
#include "flowplan/scenario/operations.hpp"

namespace flowplan::scenario {

/// `whole` wall time by what it goes into: kept, saving, computed again, down (term by term),
/// waiting. Leaves sum to it. `run` has its model, goodput and restart.
[[nodiscard]] Breakdown wall_time_apart(const OperationsAnswer& run, Seconds whole);

/// Appends the metrics of a run; `headline`: its cost under the scenario's purchase model, null
/// when there is none.
void add_operations_metrics(const OperationsAnswer& run, const operations::RunCost* headline,
                            Estimate& e);

}  // namespace flowplan::scenario
