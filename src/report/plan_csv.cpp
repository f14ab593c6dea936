#include <cstddef>

#include <fmt/format.h>

#include "flowplan/report/plan.hpp"
#include "plan_charts.hpp"

namespace flowplan::report {

Table plan_table(const planner::Plan& plan) {
  Table table;
  for (const char* name : {"rank",
                           "instance",
                           "count",
                           "gpus",
                           "tp",
                           "pp",
                           "vp",
                           "cp",
                           "dp",
                           "ep",
                           "etp",
                           "sequence_parallel",
                           "micro_batch",
                           "global_batch",
                           "precision",
                           "recompute",
                           "sharding",
                           "schedule",
                           "context_parallel",
                           "step_time_s",
                           "tokens_per_second",
                           "mfu",
                           "memory_bytes",
                           "memory_free_share",
                           "time_s",
                           "purchase",
                           "usd_per_hour",
                           "total_usd",
                           "purchasable"})
    table.columns.push_back({name, false});
  const auto text = [](const auto& value) { return Cell(fmt::format("{}", value)); };
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const planner::PlanRow& row = plan.ranked[i];
    const planner::PlanCluster& cluster = plan.clusters[row.cluster];
    const training::Job& job = row.job;
    const training::Layout& l = job.layout;
    const operations::PurchaseCost* cost = row.cost();
    table.rows.push_back({text(i + 1),
                          text(cluster.instance->id),
                          text(cluster.count),
                          text(cluster.gpus),
                          text(l.tp),
                          text(l.pp),
                          text(l.vp),
                          text(l.cp),
                          text(l.dp),
                          text(l.ep),
                          text(l.etp),
                          text(l.sequence_parallel),
                          text(job.micro_batch),
                          text(job.global_batch),
                          text(model::name(job.precision)),
                          text(training::name(job.recompute)),
                          text(training::name(job.sharding)),
                          text(training::name(job.schedule)),
                          text(training::name(job.context_parallel)),
                          text(row.step.value()),
                          text(row.tokens_per_second),
                          text(row.mfu),
                          text(row.memory.value()),
                          text(1.0 - row.memory / row.hbm),
                          row.time ? text(row.time->value()) : Cell(),
                          cost == nullptr ? Cell() : text(cost->purchase),
                          cost == nullptr ? Cell() : text(cost->per_hour.value()),
                          cost == nullptr || !cost->total ? Cell() : text(cost->total->value()),
                          text(row.purchasable())});
  }
  return table;
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
