#pragma once

#include <optional>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/model/checkpoint_index.hpp"
#include "flowplan/model/transformer.hpp"
#include "placed_faults.hpp"

namespace flowplan::scenario {

/// The document's `workload.model`: a name of the catalog, the path of a config.json relative to
/// the document, or dimensions. `checkpoint` gets what a safetensors index beside a config says.
/// Adds to `faults` FP001, FP030, FP031, FP071 and those of model::read_config.
[[nodiscard]] model::Transformer read_model(const catalog::Catalog& catalog,
                                            const JsonDocument& document, PlacedFaults& faults,
                                            std::optional<model::CheckpointCheck>& checkpoint);

}  // namespace flowplan::scenario
