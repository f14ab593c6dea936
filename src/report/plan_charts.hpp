#pragma once

#include <string>
#include <vector>

#include "flowplan/planner/plan.hpp"
#include "flowplan/planner/serving_plan.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Exact numbers of the ranked rows.
[[nodiscard]] Table plan_table(const planner::Plan& plan);
/// Time against money of every cluster that has both; those that nothing beats in both are joined.
[[nodiscard]] std::vector<Chart> plan_charts(const planner::Plan& plan);
[[nodiscard]] std::vector<Highlight> plan_highlights(const planner::Plan& plan);
[[nodiscard]] Verdict plan_verdict(const planner::Plan& plan);

/// The same of fleets.
[[nodiscard]] Table fleet_table(const planner::ServingPlan& plan);
[[nodiscard]] std::vector<Chart> fleet_charts(const planner::ServingPlan& plan);
[[nodiscard]] std::vector<Highlight> fleet_highlights(const planner::ServingPlan& plan);
[[nodiscard]] Verdict fleet_verdict(const planner::ServingPlan& plan);

}  // namespace flowplan::report
