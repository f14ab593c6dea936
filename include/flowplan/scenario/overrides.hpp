#pragma once

#include <span>
#include <string>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::scenario {

/// The document with values replaced or added. Each override is "path=value": the path is dotted
/// ("workload.parallelism.tp", "checks.0.min"), the value is JSON or, where it is not, a bare
/// string. Errors: FP090 without "=", FP020 for a path that `schema` does not have, with the
/// nearest one that it has.
[[nodiscard]] Result<JsonDocument> with_overrides(const JsonDocument& document,
                                                  const JsonDocument& schema,
                                                  std::span<const std::string> overrides);

/// Every path that an override may name, for all kinds of workload, each once, in `schema`'s order.
/// Entries of lists have paths too, by their index, which are not listed.
[[nodiscard]] std::vector<std::string> override_paths(const JsonDocument& schema);

/// Diagnostics about a value that an override gave stand at the override, not at the line of the
/// file that it replaced.
[[nodiscard]] Diagnostics at_overrides(Diagnostics diagnostics,
                                       std::span<const std::string> overrides);

}  // namespace flowplan::scenario
