#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

/// Reads the format `flowplan-flow-1`: see `read_case()`.
[[nodiscard]] Result<Case> read_flowplan_case(const JsonDocument& document,
                                              const JsonDocument& schema);

}  // namespace flowplan::flow
