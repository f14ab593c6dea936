#include <fmt/format.h>

#include "flowplan/report/plan.hpp"

namespace flowplan::report {

std::string plan_csv(const planner::Plan& plan) {
  std::string text =
      "rank,instance,count,gpus,tp,pp,vp,cp,dp,ep,etp,sequence_parallel,micro_batch,global_batch,"
      "precision,recompute,sharding,schedule,context_parallel,step_time_s,tokens_per_second,mfu,"
      "memory_bytes,memory_free_share,time_s,purchase,usd_per_hour,total_usd,purchasable\n";
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const planner::PlanRow& row = plan.ranked[i];
    const planner::PlanCluster& cluster = plan.clusters[row.cluster];
    const training::Job& job = row.job;
    const training::Layout& l = job.layout;
    text += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{},{},", i + 1, cluster.instance->id,
                        cluster.count, cluster.gpus, l.tp, l.pp, l.vp, l.cp, l.dp, l.ep, l.etp,
                        l.sequence_parallel, job.micro_batch, job.global_batch);
    text += fmt::format("{},{},{},{},{},", model::name(job.precision),
                        training::name(job.recompute), training::name(job.sharding),
                        training::name(job.schedule), training::name(job.context_parallel));
    text += fmt::format("{},{},{},{},{},", row.step.value(), row.tokens_per_second, row.mfu,
                        row.memory.value(), 1.0 - row.memory / row.hbm);
    text += row.time ? fmt::format("{},", row.time->value()) : ",";
    const operations::PurchaseCost* cost = row.cost();
    text += cost == nullptr ? ",," : fmt::format("{},{},", cost->purchase, cost->per_hour.value());
    text += cost != nullptr && cost->total ? fmt::format("{},", cost->total->value()) : ",";
    text += row.purchasable() ? "true\n" : "false\n";
  }
  return text;
}

std::string compute_optimal_csv(const std::vector<planner::OptimalModel>& models) {
  std::string text = "law,parameters,tokens,tokens_per_parameter,loss_nats,within_range\n";
  for (const planner::OptimalModel& one : models) {
    text += fmt::format("{},{},{},{},{},{}\n", planner::name(one.law), one.parameters, one.tokens,
                        one.tokens_per_parameter(), one.loss, one.inside);
  }
  return text;
}

}  // namespace flowplan::report
