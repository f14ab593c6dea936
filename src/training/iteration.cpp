#include "flowplan/training/iteration.hpp"

#include <utility>

#include "flowplan/base/assert.hpp"
#include "flowplan/training/evaluator.hpp"
#include "flowplan/training/framework.hpp"
#include "stage_memory.hpp"

namespace flowplan::training {

std::string_view name(ContextParallel kind) {
  switch (kind) {
    case ContextParallel::ring:
      return "ring";
    case ContextParallel::all_gather:
      return "all_gather";
    case ContextParallel::all_to_all:
      return "all_to_all";
    case ContextParallel::hybrid:
      break;
  }
  return "hybrid";
}

std::string_view name(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
      return "none";
    case Recompute::selective:
      return "selective";
    case Recompute::operators:
      return "operators";
    case Recompute::full:
      break;
  }
  return "full";
}

std::string_view name(Sharding sharding) {
  switch (sharding) {
    case Sharding::none:
      return "none";
    case Sharding::distributed_optimizer:
      return "distributed_optimizer";
    case Sharding::zero2:
      return "zero2";
    case Sharding::fsdp:
      return "fsdp";
    case Sharding::fsdp_no_reshard:
      break;
  }
  return "fsdp_no_reshard";
}

Result<MemoryUse> memory(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                         const Job& job) {
  if (auto faults = check(catalog, cluster, job); !faults.empty()) return fail(std::move(faults));
  const auto profile = framework(catalog, job.framework);
  FLOWPLAN_ASSERT(profile.has_value());
  return memory_use(*profile, job, cluster.spec().instance->hbm_per_gpu());
}

Result<ForwardPass> forward_pass(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                 const Job& job) {
  if (auto faults = check(catalog, cluster, job); !faults.empty()) return fail(std::move(faults));
  auto evaluator = Evaluator::on(catalog, cluster, job);
  if (!evaluator) return fail(std::move(evaluator.error()));
  return evaluator->forward(job);
}

Result<Iteration> estimate(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                           const Job& job) {
  if (auto faults = check(catalog, cluster, job); !faults.empty()) return fail(std::move(faults));
  auto evaluator = Evaluator::on(catalog, cluster, job);
  if (!evaluator) return fail(std::move(evaluator.error()));
  return evaluator->explain(job);
}

}  // namespace flowplan::training
