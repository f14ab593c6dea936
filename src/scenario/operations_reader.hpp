#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/operations.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// The document's `operations`, which follows the schema. Adds what is wrong to `faults`: names
/// (FP030), quantities (FP040), times that must be above 0 (FP024), what contradicts itself
/// (FP074).
[[nodiscard]] OperationsSection read_operations(const catalog::Catalog& catalog,
                                                const JsonDocument& document, PlacedFaults& faults);

}  // namespace flowplan::scenario
