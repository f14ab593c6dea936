#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::scenario {

/// How long a deployment takes from nothing, and the fewest nodes more that hold an instance:
/// weights from `storage.weights` and the engine's start. Nothing without that section. Errors:
/// those of storage::load_model, placed.
[[nodiscard]] Result<void> add_serving_start(const catalog::Catalog& catalog,
                                             const Scenario& scenario,
                                             const topology::Cluster& cluster, Answer& answer);

}  // namespace flowplan::scenario
