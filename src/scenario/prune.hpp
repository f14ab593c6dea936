#pragma once

#include <optional>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/base/json_document.hpp"

namespace flowplan::scenario {

/// The document without the values that the schema refused, so that what is left can be read for
/// further faults: refused members are gone, refused checks are null. Nothing when the whole
/// document is refused.
[[nodiscard]] std::optional<JsonDocument> prune(const JsonDocument& document,
                                                const Diagnostics& faults);

}  // namespace flowplan::scenario
