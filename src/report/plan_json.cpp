#include <nlohmann/json.hpp>

#include "flowplan/report/plan.hpp"
#include "flowplan/report/saved.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using planner::Plan;
using planner::PlanCluster;
using planner::PlanRow;

Json counts_json(const planner::LayoutCounts& counts) {
  return {{"raw", counts.raw},
          {"invalid", counts.invalid},
          {"too_large", counts.too_large},
          {"out_of_reach", counts.out_of_reach},
          {"slower", counts.slower},
          {"kept", counts.kept}};
}

Json layout_json(const training::Job& job) {
  const training::Layout& l = job.layout;
  return {{"tp", l.tp},
          {"pp", l.pp},
          {"vp", l.vp},
          {"cp", l.cp},
          {"dp", l.dp},
          {"ep", l.ep},
          {"etp", l.etp},
          {"sequence_parallel", l.sequence_parallel},
          {"uneven_stages", l.uneven_stages},
          {"micro_batch", job.micro_batch},
          {"global_batch", job.global_batch},
          {"precision", model::name(job.precision)},
          {"recompute", training::name(job.recompute)},
          {"sharding", training::name(job.sharding)},
          {"schedule", training::name(job.schedule)},
          {"context_parallel", training::name(job.context_parallel)}};
}

Json costs_json(const PlanRow& row) {
  Json list = Json::array();
  for (const operations::PurchaseCost& cost : row.costs) {
    Json one{{"purchase", cost.purchase},
             {"usd_per_hour", cost.per_hour.value()},
             {"region", cost.region},
             {"as_of", cost.as_of}};
    if (cost.total) one["total_usd"] = cost.total->value();
    one["limits"] = cost.limits;
    list.push_back(std::move(one));
  }
  return list;
}

Json row_json(const Plan& plan, const PlanRow& row) {
  const PlanCluster& cluster = plan.clusters[row.cluster];
  Json json{{"instance", cluster.instance->id},
            {"count", cluster.count},
            {"gpus", cluster.gpus},
            {"layout", layout_json(row.job)},
            {"step_time_s", row.step.value()},
            {"tokens_per_second", row.tokens_per_second},
            {"mfu", row.mfu},
            {"memory_bytes", row.memory.value()},
            {"memory_free_share", 1.0 - row.memory / row.hbm}};
  if (row.time) json["time_s"] = row.time->value();
  json["costs"] = costs_json(row);
  if (const auto* cost = row.cost()) json["judged_purchase"] = cost->purchase;
  json["purchasable"] = row.purchasable();
  json["past_deadline"] = row.past_deadline;
  json["over_budget"] = row.over_budget;
  return json;
}

Json rows_json(const Plan& plan, const std::vector<PlanRow>& rows) {
  Json list = Json::array();
  for (const PlanRow& row : rows)
    list.push_back(row_json(plan, row));
  return list;
}

Json clusters_json(const Plan& plan) {
  Json list = Json::array();
  for (const PlanCluster& cluster : plan.clusters) {
    Json one{{"instance", cluster.instance->id},
             {"count", cluster.count},
             {"gpus", cluster.gpus},
             {"fate", planner::name(cluster.fate)},
             {"layouts", counts_json(cluster.counts)}};
    if (cluster.dominated_by) {
      const PlanCluster& other = plan.clusters[*cluster.dominated_by];
      one["dominated_by"] = Json{{"instance", other.instance->id}, {"count", other.count}};
    }
    if (!cluster.rows.empty()) one["best"] = row_json(plan, cluster.rows.front());
    if (cluster.leanest) {
      one["leanest"] = Json{{"layout", layout_json(cluster.leanest->job)},
                            {"memory_bytes", cluster.leanest->result.memory.value()},
                            {"hbm_bytes", cluster.instance->hbm_per_gpu().value()}};
    }
    list.push_back(std::move(one));
  }
  return list;
}

Json limits_json(const Plan& plan) {
  const scenario::SearchSection& limits = plan.limits;
  Json json = Json::object();
  if (limits.deadline) json["deadline_s"] = limits.deadline->value();
  if (limits.budget) json["budget_usd"] = limits.budget->value();
  if (limits.min_gpus) json["min_gpus"] = *limits.min_gpus;
  if (limits.max_gpus) json["max_gpus"] = *limits.max_gpus;
  json["memory_headroom"] = limits.memory_headroom.value_or(0.0);
  json["only_purchasable"] = limits.only_purchasable;
  return json;
}

Json rechecked_json(const Plan& plan) {
  Json list = Json::array();
  for (const planner::Recheck& one : plan.rechecked) {
    Json json{{"step_time_s", one.iteration.step.value()},
              {"difference", one.difference},
              {"simulated_step_time_s", one.simulated.value()}};
    if (one.step_at_two_to_one) json["step_time_at_2_to_1_s"] = one.step_at_two_to_one->value();
    json["band"] = Json{{"low", one.iteration.band.low},
                        {"high", one.iteration.band.high},
                        {"confidence", one.iteration.band.confidence}};
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

std::string plan_json(const Plan& plan, const Document* best) {
  Json json{{"format_version", result_format_version},
            {"kind", "plan"},
            {"name", plan.name},
            {"model", plan.model.name},
            {"parameters", plan.parameters},
            {"seq_len", plan.seq_len}};
  if (plan.tokens) json["tokens"] = *plan.tokens;
  json["objective"] = scenario::name(plan.objective);
  json["limits"] = limits_json(plan);
  json["region"] = plan.region;
  json["feasible"] = !plan.ranked.empty();
  json["nearest_misses"] = plan.nearest_misses;
  json["ranked"] = rows_json(plan, plan.ranked);
  json["front"] = rows_json(plan, plan.front);
  json["rechecked"] = rechecked_json(plan);
  json["layouts"] = counts_json(plan.counts);
  json["clusters"] = clusters_json(plan);
  Json defaults = Json::array();
  for (const Defaulted& one : plan.defaulted)
    defaults.push_back({{"path", one.path}, {"value", one.value}, {"reason", one.reason}});
  json["defaulted"] = std::move(defaults);
  json["report"] = document_json(report::plan(plan, best));
  return json.dump(2) + "\n";
}

std::string compute_optimal_json(Flops compute, const std::vector<planner::OptimalModel>& models) {
  Json json{{"format_version", result_format_version},
            {"kind", "compute_optimal"},
            {"compute_flops", compute.value()}};
  Json list = Json::array();
  for (const planner::OptimalModel& one : models) {
    const planner::LawFacts& law = planner::facts(one.law);
    list.push_back({{"law", planner::name(one.law)},
                    {"parameters", one.parameters},
                    {"tokens", one.tokens},
                    {"tokens_per_parameter", one.tokens_per_parameter()},
                    {"loss_nats", one.loss},
                    {"within_range", one.inside},
                    {"fitted_from_flops", law.from.value()},
                    {"fitted_to_flops", law.to.value()},
                    {"formula", law.formula},
                    {"range", law.range},
                    {"source", law.source}});
  }
  json["laws"] = std::move(list);
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
