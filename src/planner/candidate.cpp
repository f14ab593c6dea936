#include "flowplan/planner/candidate.hpp"

#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::planner {

namespace {

using CandidateJson = nlohmann::ordered_json;

std::string override_of(std::string_view path, const CandidateJson& value) {
  return fmt::format("{}={}", path, value.dump());
}

std::vector<std::string> machines_of(const catalog::Instance& instance, int count) {
  return {override_of("cluster.instance", instance.id), override_of("cluster.count", count)};
}

Diagnostic no_such_rank(std::size_t rank, std::size_t ranked) {
  if (ranked == 0)
    return error(Code::usage, "the plan ranks nothing: no candidate meets the limits",
                 "`flowplan plan` says what comes nearest");
  return error(Code::usage, fmt::format("--rank {}: the plan ranks {}", rank, ranked),
               "`search.top` and `search.per_cluster` rank more of a training plan");
}

template <typename Candidate>
Result<std::vector<std::string>> ranked_overrides(const std::vector<Candidate>& ranked,
                                                  std::size_t rank) {
  if (rank == 0 || rank > ranked.size()) return fail(no_such_rank(rank, ranked.size()));
  return overrides_of(ranked[rank - 1]);
}

}  // namespace

std::vector<std::string> overrides_of(const Plan& plan, const PlanRow& row) {
  const PlanCluster& cluster = plan.clusters[row.cluster];
  const training::Job& job = row.job;
  const training::Layout& l = job.layout;
  std::vector<std::string> all = machines_of(*cluster.instance, cluster.count);
  if (const operations::PurchaseCost* cost = row.cost())
    all.push_back(override_of("cluster.purchase", cost->purchase));
  all.push_back(override_of("workload.global_batch", job.global_batch));
  all.push_back(override_of("workload.micro_batch", job.micro_batch));
  all.push_back(override_of("workload.precision", model::name(job.precision)));
  all.push_back(override_of("workload.recompute", training::name(job.recompute)));
  all.push_back(override_of("workload.sharding", training::name(job.sharding)));
  CandidateJson layout{{"tp", l.tp},
                       {"pp", l.pp},
                       {"vp", l.vp},
                       {"cp", l.cp},
                       {"dp", l.dp},
                       {"sequence_parallel", l.sequence_parallel},
                       {"schedule", training::name(job.schedule)}};
  if (l.cp > 1) layout["context_parallel"] = training::name(job.context_parallel);
  if (job.model.experts) {
    layout["ep"] = l.ep;
    layout["etp"] = l.etp;
  }
  if (l.uneven_stages) layout["uneven_stages"] = true;
  if (job.async_tp) layout["async_tp"] = true;
  all.push_back(override_of("workload.parallelism", layout));
  return all;
}

std::vector<std::string> overrides_of(const ServingCandidate& candidate) {
  std::vector<std::string> all = machines_of(*candidate.instance, candidate.machines);
  if (!candidate.purchase.empty())
    all.push_back(override_of("cluster.purchase", candidate.purchase));
  all.push_back(override_of("workload.precision", inference::name(candidate.weights)));
  const inference::Layout& l = candidate.layout;
  all.push_back(override_of("workload.parallelism", {{"tp", l.tp},
                                                     {"pp", l.pp},
                                                     {"attention_dp", l.attention_dp},
                                                     {"ep", l.ep},
                                                     {"replicas", candidate.replicas}}));
  return all;
}

std::vector<std::string> overrides_of(const PosttrainingCandidate& candidate) {
  std::vector<std::string> all = machines_of(*candidate.instance, candidate.count);
  all.push_back(override_of("workload.pools.kind", posttraining::name(candidate.placement)));
  if (candidate.placement != posttraining::Placement::colocated)
    all.push_back(override_of("workload.pools.rollout_gpus", candidate.rollout_gpus));
  all.push_back(override_of("workload.rollout.parallelism.tp", candidate.engine_tp));
  return all;
}

Result<std::vector<std::string>> overrides_of_rank(const catalog::Catalog& catalog,
                                                   const scenario::Scenario& scenario,
                                                   std::size_t rank) {
  if (scenario.serving) {
    const auto fleets = plan_serving(catalog, scenario, 0);
    if (!fleets) return fail(fleets.error());
    return ranked_overrides(fleets->ranked, rank);
  }
  if (scenario.posttraining) {
    const auto splits = plan_posttraining(catalog, scenario, 0);
    if (!splits) return fail(splits.error());
    return ranked_overrides(splits->ranked, rank);
  }
  const auto found = plan(catalog, scenario);
  if (!found) return fail(found.error());
  if (rank == 0 || rank > found->ranked.size())
    return fail(no_such_rank(rank, found->ranked.size()));
  return overrides_of(*found, found->ranked[rank - 1]);
}

}  // namespace flowplan::planner
