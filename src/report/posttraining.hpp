#pragma once

#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"
#include "json_format.hpp"

namespace flowplan::report {

/// What an answer with `posttraining` comes to.
[[nodiscard]] Section posttraining_summary(const scenario::Answer& answer);
/// Pools and the timeline of steps with rollouts.
[[nodiscard]] std::vector<Section> posttraining_sections(const scenario::Answer& answer);
[[nodiscard]] Json posttraining_workload_json(const scenario::Answer& answer);
[[nodiscard]] Json posttraining_json(const scenario::Answer& answer);

}  // namespace flowplan::report
