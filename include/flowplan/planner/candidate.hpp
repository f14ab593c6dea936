#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/planner/plan.hpp"
#include "flowplan/planner/posttraining_plan.hpp"
#include "flowplan/planner/serving_plan.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

// A candidate of a search as overrides of the scenario that was searched, as
// `scenario::with_overrides` takes them: the scenario that has it, for `scenario::run`.

[[nodiscard]] std::vector<std::string> overrides_of(const Plan& plan, const PlanRow& row);
[[nodiscard]] std::vector<std::string> overrides_of(const ServingCandidate& candidate);
[[nodiscard]] std::vector<std::string> overrides_of(const PosttrainingCandidate& candidate);

/// Searches and gives the candidate of that rank, 1 the best. Errors: those of the plan of the
/// scenario's workload; FP001 when the ranking is shorter.
[[nodiscard]] Result<std::vector<std::string>> overrides_of_rank(const catalog::Catalog& catalog,
                                                                 const scenario::Scenario& scenario,
                                                                 std::size_t rank);

}  // namespace flowplan::planner
