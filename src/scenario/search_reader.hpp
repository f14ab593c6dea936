#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/search.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// The document's `search`, which follows the schema. Adds what is wrong to `faults`: names,
/// quantities, limits that contradict each other (FP024).
[[nodiscard]] SearchSection read_search(const catalog::Catalog& catalog,
                                        const JsonDocument& document, PlacedFaults& faults);

}  // namespace flowplan::scenario
