#include "flowplan/training/timeline.hpp"

#include "flowplan/training/evaluator.hpp"

namespace flowplan::training {

Result<StepTimeline> step_timeline(const catalog::Catalog& catalog,
                                   const topology::Cluster& cluster, const Job& job) {
  if (Diagnostics faults = check(catalog, cluster, job); !faults.empty())
    return fail(std::move(faults));
  auto evaluator = Evaluator::on(catalog, cluster, job);
  if (!evaluator) return fail(std::move(evaluator.error()));
  return evaluator->timeline(job);
}

}  // namespace flowplan::training
