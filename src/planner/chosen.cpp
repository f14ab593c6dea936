#include "flowplan/planner/chosen.hpp"

#include <utility>

#include <fmt/format.h>

namespace flowplan::planner {

namespace {

Diagnostic no_such_rank(std::size_t rank, std::size_t ranked) {
  if (ranked == 0)
    return error(Code::usage, "the plan ranks nothing: no candidate meets the limits",
                 "`flowplan plan` says what comes nearest");
  return error(Code::usage, fmt::format("--rank {}: the plan ranks {}", rank, ranked),
               "`search.top` and `search.per_cluster` rank more of a training plan");
}

}  // namespace

scenario::Scenario with_row(scenario::Scenario scenario, const Plan& plan, const PlanRow& row) {
  const PlanCluster& cluster = plan.clusters[row.cluster];
  scenario.cluster.instance = cluster.instance;
  scenario.cluster.count = cluster.count;
  const training::Job& job = row.job;
  const training::Layout& layout = job.layout;
  scenario::PretrainingSection& work = scenario.workload;
  work.seq_len = job.seq_len;
  work.global_batch = job.global_batch;
  work.micro_batch = job.micro_batch;
  work.precision = job.precision;
  work.recompute = job.recompute;
  work.sharding = job.sharding;
  work.framework = job.framework;
  work.tp = layout.tp;
  work.pp = layout.pp;
  work.vp = layout.vp;
  work.cp = layout.cp;
  work.dp = layout.dp;
  work.ep = layout.ep;
  work.etp = layout.etp;
  work.sequence_parallel = layout.sequence_parallel;
  work.uneven_stages = layout.uneven_stages;
  work.schedule = job.schedule;
  work.context_parallel = job.context_parallel;
  work.gpus = static_cast<int>(job.gpus);
  return scenario;
}

scenario::Scenario with_candidate(scenario::Scenario scenario, const ServingCandidate& candidate) {
  scenario.cluster.instance = candidate.instance;
  scenario.cluster.count = candidate.machines;
  scenario::ServingSection& serving = *scenario.serving;
  serving.weights = candidate.weights;
  serving.layout = candidate.layout;
  serving.layout_stated = true;
  serving.replicas = candidate.replicas;
  return scenario;
}

Result<scenario::Scenario> with_rank(const catalog::Catalog& catalog,
                                     const scenario::Scenario& scenario, std::size_t rank) {
  if (scenario.posttraining)
    return fail(error(Code::unsupported_feature,
                      "a plan of post-training shares out GPUs: it ranks no layouts",
                      "state the split that it found with --set, then export"));
  if (scenario.serving) {
    const auto fleets = plan_serving(catalog, scenario, 0);
    if (!fleets) return fail(fleets.error());
    if (rank > fleets->ranked.size()) return fail(no_such_rank(rank, fleets->ranked.size()));
    return with_candidate(scenario, fleets->ranked[rank - 1]);
  }
  const auto found = plan(catalog, scenario);
  if (!found) return fail(found.error());
  if (rank > found->ranked.size()) return fail(no_such_rank(rank, found->ranked.size()));
  return with_row(scenario, *found, found->ranked[rank - 1]);
}

}  // namespace flowplan::planner
