#pragma once

#include "flowplan/scenario/posttraining.hpp"
#include "placed_faults.hpp"

namespace flowplan::catalog {
class Catalog;
}

namespace flowplan::scenario {

/// `workload` of kind "posttraining" of a document that follows the schema, without its model and
/// the keys that it shares with pretraining. Adds to `faults` FP030 and FP040.
[[nodiscard]] PosttrainingSection read_posttraining(const catalog::Catalog& catalog,
                                                    const JsonDocument& document,
                                                    PlacedFaults& faults);

}  // namespace flowplan::scenario
