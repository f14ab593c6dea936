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

/// SARIF 2.1.0: only what failed, each with its file and line. `version` of the program.
[[nodiscard]] std::string checks_sarif(const std::vector<planner::CheckReport>& reports,
                                       const std::string& version);
/// GitHub's workflow commands, one a failure: annotations of a pull request. Empty when all passed.
[[nodiscard]] std::string checks_github(const std::vector<planner::CheckReport>& reports);

}  // namespace flowplan::report
