#pragma once

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"
#include "json_format.hpp"

namespace flowplan::report {

/// What serving or post-training puts on the links, and what of it is not known.
[[nodiscard]] Section link_loads_section(const scenario::Answer& answer);
[[nodiscard]] Json link_loads_json(const scenario::LinkLoads& loads);

}  // namespace flowplan::report
