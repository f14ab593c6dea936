#pragma once

#include <string>
#include <vector>

#include "flowplan/planner/check.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Expected, actual and margin of every check.
[[nodiscard]] Document checks(const std::vector<planner::CheckReport>& reports);
[[nodiscard]] std::string checks_json(const std::vector<planner::CheckReport>& reports);
/// JUnit XML: a test suite a file, a test case a check.
[[nodiscard]] std::string checks_junit(const std::vector<planner::CheckReport>& reports);

}  // namespace flowplan::report
