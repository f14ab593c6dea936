#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan {

/// Checks a document against a JSON Schema (draft 7; `$ref` inside the schema only). Returns every
/// fault (FP020-FP029) with its place, what was found and what is allowed; an unknown key names the
/// nearest known one. Empty when the document is valid.
[[nodiscard]] Diagnostics validate(const JsonDocument& document, const JsonDocument& schema);

}  // namespace flowplan
