#pragma once

#include <functional>
#include <optional>

#include "flowplan/planner/plan.hpp"

namespace flowplan::planner {

/// Searches one more cluster; nothing when it cannot be built.
using SearchMore =
    std::function<std::optional<PlanCluster>(const catalog::Instance& instance, int count)>;

/// Sentences that say what comes nearest when nothing meets the limits: the fastest, the cheapest,
/// the leanest, and from how many GPUs on it would do.
[[nodiscard]] std::vector<std::string> nearest_misses(const Plan& plan, const SearchMore& more);

}  // namespace flowplan::planner
