#pragma once

#include <nlohmann/json_fwd.hpp>

#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario {

/// Reads the keys of a workload that say how it is trained beyond its sizes and degrees: sharding,
/// recomputation, schedule, context and expert parallelism, adapters. The workload follows the
/// schema.
void read_training_keys(const nlohmann::ordered_json& workload, PretrainingSection& section);

}  // namespace flowplan::scenario
