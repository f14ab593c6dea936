#pragma once

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/flow/case.hpp"

namespace flowplan::flow {

/// Reads a flow case (docs/reference/flow-case.md) of the format `flowplan-flow-1`, which has to
/// follow `schema` (catalogs/schema/flow-case.schema.json), or of `flow-oracle-1`. Errors, each
/// with its place and up to 50 in one go: FP016 another kind of file, FP020 to FP029 keys, types
/// and ranges, FP051 a task that waits for an unknown one, FP052 names that repeat or do not exist,
/// a path that crosses a link twice or does not lead from the flow's source to its target, a flow
/// that nothing limits or no task has, FP054 a flow without a path that has none.
[[nodiscard]] Result<Case> read_case(const JsonDocument& document, const JsonDocument& schema);

}  // namespace flowplan::flow
