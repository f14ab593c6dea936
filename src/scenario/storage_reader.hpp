#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/storage.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// The document's `storage`, which follows the schema. Adds what is wrong to `faults`: names
/// (FP030, FP031), quantities (FP040), what cannot be together (FP063).
[[nodiscard]] StorageSection read_storage(const catalog::Catalog& catalog,
                                          const JsonDocument& document, PlacedFaults& faults);

}  // namespace flowplan::scenario
