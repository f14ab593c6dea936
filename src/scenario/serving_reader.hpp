#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/serving.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// The document's `workload` of kind "serving", which follows its schema. Adds to `faults` names
/// (FP030), quantities (FP040) and what contradicts itself (FP024, FP070).
[[nodiscard]] ServingSection read_serving(const catalog::Catalog& catalog,
                                          const JsonDocument& document, PlacedFaults& faults);

}  // namespace flowplan::scenario
