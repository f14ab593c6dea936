#pragma once

#include <string>

#include "flowplan/planner/serving_plan.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// The ranked fleets, money against speed, and why the others lost. `best`: as for `plan`.
[[nodiscard]] Document serving_plan(const planner::ServingPlan& plan, const std::string& name,
                                    const Document* best = nullptr);
[[nodiscard]] std::string serving_plan_json(const planner::ServingPlan& plan,
                                            const std::string& name,
                                            const Document* best = nullptr);

}  // namespace flowplan::report
