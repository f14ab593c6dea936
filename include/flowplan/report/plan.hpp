#pragma once

#include <string>

#include "flowplan/planner/compute_optimal.hpp"
#include "flowplan/planner/plan.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// A search: the ranked table, the front of time against money, the best few estimated again, why
/// the rest lost; what comes nearest when nothing meets the limits. `best`: the best one's own
/// report (`sizing`), whose parts stand under the ranking; may be null.
[[nodiscard]] Document plan(const planner::Plan& plan, const Document* best = nullptr);

/// The whole plan as JSON: fixed key order, SI units in the key names, no timestamps; every cluster
/// with its best layout. Ends with a newline.
[[nodiscard]] std::string plan_json(const planner::Plan& plan, const Document* best = nullptr);

/// What each law says of a compute budget.
[[nodiscard]] Document compute_optimal(Flops compute,
                                       const std::vector<planner::OptimalModel>& models);
[[nodiscard]] std::string compute_optimal_json(Flops compute,
                                               const std::vector<planner::OptimalModel>& models);
[[nodiscard]] std::string compute_optimal_csv(const std::vector<planner::OptimalModel>& models);

}  // namespace flowplan::report
