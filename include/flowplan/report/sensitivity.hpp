#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "flowplan/planner/sensitivity.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// The inputs that move each of `metrics` most (those that the sensitivity names, when empty), at
/// most `top` of them, and those that could not be changed.
[[nodiscard]] Document sensitivity(const planner::Sensitivity& sensitivity,
                                   const std::vector<std::string>& metrics, std::size_t top);
/// Every input with all metrics at both ends. Carries the report (`saved_document`).
[[nodiscard]] std::string sensitivity_json(const planner::Sensitivity& sensitivity,
                                           const std::vector<std::string>& metrics,
                                           std::size_t top);

}  // namespace flowplan::report
