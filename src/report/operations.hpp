#pragma once

#include <string>
#include <utility>
#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"
#include "json_format.hpp"

namespace flowplan::report {

/// Lines for the summary: goodput, days until done, money with goodput.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> operations_facts(
    const scenario::Answer& answer, const scenario::OperationsAnswer& run);
/// Where the wall time goes, how the run fails and comes back, and what it costs.
[[nodiscard]] std::vector<Section> operations_sections(const scenario::Answer& answer,
                                                       const scenario::OperationsAnswer& run);
/// `operations` of the result.
[[nodiscard]] Json operations_json(const scenario::OperationsAnswer& run);

}  // namespace flowplan::report
