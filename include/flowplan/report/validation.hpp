#pragma once

#include <string>
#include <vector>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Predicted against measured: errors overall and by group, what was skipped and why, worst rows.
/// `rows` adds every row.
[[nodiscard]] Document validation(const std::vector<accuracy::Report>& reports, bool rows);
[[nodiscard]] std::string validation_json(const std::vector<accuracy::Report>& reports, bool rows);

}  // namespace flowplan::report
