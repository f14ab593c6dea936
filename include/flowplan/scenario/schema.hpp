#pragma once

#include "flowplan/base/json_document.hpp"

namespace flowplan::scenario {

/// The schema of scenarios of this document's kind of work: `workload` has the keys of that kind
/// only, so that faults name them. The published schema decides by `if`, which editors understand.
/// A document without a known kind gets that of pretraining; a schema that is of one kind already
/// is returned as it is.
[[nodiscard]] JsonDocument schema_for(const JsonDocument& document, const JsonDocument& schema);

}  // namespace flowplan::scenario
