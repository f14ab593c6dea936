#pragma once

#include <string>

#include "flowplan/planner/diff.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// What changed: inputs (+ new, - gone, ~ other), metrics with their factor, the terms of the time
/// that moved, the largest first, with what limits them.
[[nodiscard]] Document diff(const planner::Difference& difference);
[[nodiscard]] std::string diff_json(const planner::Difference& difference);

}  // namespace flowplan::report
