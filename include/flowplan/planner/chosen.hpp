#pragma once

#include <cstddef>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/planner/plan.hpp"
#include "flowplan/planner/serving_plan.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// The scenario with a row of its plan stated: machines, count, every degree and choice of the
/// layout. `scenario::run` of it predicts what the row says.
[[nodiscard]] scenario::Scenario with_row(scenario::Scenario scenario, const Plan& plan,
                                          const PlanRow& row);

/// The same of a fleet: machines, weight format, layout and replicas.
[[nodiscard]] scenario::Scenario with_candidate(scenario::Scenario scenario,
                                                const ServingCandidate& candidate);

/// Searches and states the candidate of that rank, 1 the best. Errors: those of `plan` and
/// `plan_serving`; FP001 when the ranking is shorter; FP073 for post-training, whose plan shares
/// out GPUs and ranks no layouts.
[[nodiscard]] Result<scenario::Scenario> with_rank(const catalog::Catalog& catalog,
                                                   const scenario::Scenario& scenario,
                                                   std::size_t rank);

}  // namespace flowplan::planner
