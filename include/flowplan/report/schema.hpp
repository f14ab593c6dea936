#pragma once

#include <string>

#include "flowplan/base/json_document.hpp"

namespace flowplan::report {

/// A JSON Schema (draft 7) as a Markdown page: a table of keys for each object, with types, bounds,
/// allowed values and descriptions. Ends with a newline.
[[nodiscard]] std::string schema_markdown(const JsonDocument& schema, const std::string& command);

}  // namespace flowplan::report
