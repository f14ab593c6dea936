#pragma once

#include <string_view>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/base/json_document.hpp"

namespace flowplan::scenario {

/// Diagnostics of the modules below know at most a JSON pointer: gives each its place in the
/// document, `otherwise` where it has no pointer.
[[nodiscard]] Diagnostics placed(Diagnostics diagnostics, const JsonDocument& document,
                                 std::string_view otherwise = "/workload");

}  // namespace flowplan::scenario
