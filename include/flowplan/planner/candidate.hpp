#pragma once

#include <string>
#include <vector>

#include "flowplan/planner/plan.hpp"
#include "flowplan/planner/posttraining_plan.hpp"
#include "flowplan/planner/serving_plan.hpp"

namespace flowplan::planner {

// A candidate of a search as overrides of the scenario that was searched, as
// `scenario::with_overrides` takes them: the scenario that has it, for `scenario::run`.

[[nodiscard]] std::vector<std::string> overrides_of(const Plan& plan, const PlanRow& row);
[[nodiscard]] std::vector<std::string> overrides_of(const ServingCandidate& candidate);
[[nodiscard]] std::vector<std::string> overrides_of(const PosttrainingCandidate& candidate);

}  // namespace flowplan::planner
