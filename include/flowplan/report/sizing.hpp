#pragma once

#include <string>

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::report {

/// The sizing report of an answer: what it comes to first, then its parts.
[[nodiscard]] Document sizing(const scenario::Answer& answer);

/// The whole answer as JSON (catalogs/schema/result.schema.json): fixed key order, SI units in the
/// key names, no timestamps. Ends with a newline.
[[nodiscard]] std::string sizing_json(const scenario::Answer& answer);

/// Where the numbers come from: the step's formulas, the figures with their sources. With `metric`
/// only what that metric is.
[[nodiscard]] Document explanation(const scenario::Answer& answer, const std::string& metric = {});

}  // namespace flowplan::report
