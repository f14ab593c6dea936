#pragma once

#include <string>

#include "flowplan/planner/posttraining_plan.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// The ranked placements and splits, and why the others lost. `best`: as for `plan`.
[[nodiscard]] Document posttraining_plan(const planner::PosttrainingPlan& plan,
                                         const std::string& name, const Document* best = nullptr);
[[nodiscard]] std::string posttraining_plan_json(const planner::PosttrainingPlan& plan,
                                                 const std::string& name);

}  // namespace flowplan::report
