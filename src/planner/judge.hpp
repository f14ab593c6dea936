#pragma once

#include "flowplan/planner/plan.hpp"

namespace flowplan::planner {

/// Fills in what a row takes of time and money, and which limits it breaks. Which purchase model is
/// judged: the stated one; else the cheapest by the hour (on demand, Capacity Blocks) that can be
/// bought, or the cheapest of those that cannot.
void judge(const catalog::Catalog& catalog, const Plan& plan, const PlanCluster& cluster,
           PlanRow& row);

/// Why a row cannot be in the table; `Fate::listed` when it can.
[[nodiscard]] Fate fate_of(const Plan& plan, const PlanRow& row);

/// Whether `a` comes before `b` by the plan's objective; of equals the one that takes fewer GPUs,
/// then the earlier cluster.
[[nodiscard]] bool better(const Plan& plan, const PlanRow& a, const PlanRow& b);

/// What is paid for the tokens, or for one token where there is no budget of them; nothing without
/// a price.
[[nodiscard]] std::optional<double> money(const PlanRow& row);
/// Seconds for the tokens, or for one.
[[nodiscard]] double duration(const PlanRow& row);

/// Ranked rows, the Pareto front, and each cluster's fate, from the clusters' rows.
void rank(Plan& plan, int top);

}  // namespace flowplan::planner
