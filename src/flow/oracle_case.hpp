#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

/// Reads the format `flow-oracle-1`: see `read_case()`.
[[nodiscard]] Result<Case> read_oracle_case(const JsonDocument& document);

}  // namespace flowplan::flow
