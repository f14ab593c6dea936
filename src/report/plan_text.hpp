#pragma once

#include <string>
#include <vector>

#include "flowplan/planner/plan.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// "64 x p5.48xlarge".
[[nodiscard]] std::string plan_machines(const planner::PlanCluster& cluster);
/// "tp8 pp4x2 cp1 dp16 ep8, mb 1, recompute full, fsdp, fp8": what is 1 or plain is left out.
[[nodiscard]] std::string plan_layout(const training::Job& job);

/// What to set in the searched scenario to have the best candidate: `planner::overrides_of` of it.
[[nodiscard]] Section candidate_section(const std::vector<std::string>& overrides);
/// Puts the parts of the best candidate's own report at the end of a plan's; `best` may be null.
void append_best(Document& document, const Document* best);

}  // namespace flowplan::report
