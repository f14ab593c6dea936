#include <algorithm>
#include <string_view>

#include <nlohmann/json.hpp>

#include "flowplan/model/precision.hpp"
#include "flowplan/report/saved.hpp"
#include "flowplan/report/sizing.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "json_format.hpp"
#include "link_loads.hpp"
#include "operations.hpp"
#include "posttraining.hpp"
#include "serving.hpp"
#include "storage.hpp"

namespace flowplan::report {

Json breakdown_json(const Breakdown& node) {
  Json json{{"id", node.id}, {"label", node.label}, {"time_s", node.time().value()}};
  if (!node.limit.empty()) json["limit"] = node.limit;
  if (!node.next.empty()) json["next"] = node.next;
  if (!node.formula.empty()) json["formula"] = node.formula;
  if (!node.children.empty()) {
    Json children = Json::array();
    for (const Breakdown& child : node.children)
      children.push_back(breakdown_json(child));
    json["children"] = std::move(children);
  }
  return json;
}

namespace {

using scenario::Answer;

Json cluster(const Answer& answer) {
  Json json{{"instance", answer.instance},
            {"count", answer.count},
            {"ec2_instances", answer.ec2_instances},
            {"gpu", answer.gpu},
            {"gpus", answer.gpus},
            {"gpus_used", answer.serving        ? Json(answer.serving->gpus)
                          : answer.posttraining ? Json(answer.gpus)
                                                : Json(answer.job.gpus)},
            {"region", answer.region}};
  json["network"] = network_json(answer.network, answer.nic_kind);
  return json;
}

Json workload(const Answer& answer) {
  const training::Job& job = answer.job;
  const training::Layout& layout = job.layout;
  Json json{{"kind", answer.kind},
            {"model", job.model.name},
            {"parameters", answer.parameters},
            {"seq_len", job.seq_len},
            {"global_batch", job.global_batch},
            {"micro_batch", job.micro_batch},
            {"precision", model::name(job.precision)},
            {"recompute", scenario::name(job.recompute)},
            {"sharding", scenario::name(job.sharding)},
            {"framework", job.framework}};
  json["parallelism"] =
      Json{{"tp", layout.tp}, {"pp", layout.pp},  {"vp", layout.vp},
           {"cp", layout.cp}, {"dp", layout.dp},  {"sequence_parallel", layout.sequence_parallel},
           {"ep", layout.ep}, {"etp", layout.etp}};
  json["schedule"] = training::name(job.schedule);
  if (answer.budget) json["tokens"] = answer.budget->tokens;
  return json;
}

Json speeds(const Answer& answer) {
  const training::Iteration& iteration = answer.iteration;
  Json json{{"step_time_s", iteration.step.value()},
            {"tokens_per_second", iteration.tokens_per_second},
            {"tokens_per_second_per_gpu",
             iteration.tokens_per_second / static_cast<double>(answer.job.gpus)},
            {"model_tflops_per_gpu", iteration.model_tflops_per_gpu},
            {"mfu", iteration.mfu}};
  Json limits_json = Json::array();
  for (const LimitShare& share : limits(answer.estimate.time)) {
    limits_json.push_back({{"limit", share.limit},
                           {"time_s", share.time.value()},
                           {"share", share.time / answer.estimate.time.time()}});
  }
  json["limits"] = std::move(limits_json);
  json["breakdown"] = breakdown_json(answer.estimate.time);
  Json tiers = Json::array();
  for (const training::TierUse& use : answer.iteration.tiers)
    tiers.push_back({{"tier", topology::tier_name(use.tier, answer.nic_kind)},
                     {"utilisation", use.utilisation}});
  json["links"] = std::move(tiers);
  Json cases = Json::array();
  for (const scenario::FabricCase& one : answer.fabric_cases) {
    cases.push_back({{"leaf_oversubscription", one.oversubscription},
                     {"step_time_s", one.step.value()},
                     {"tokens_per_second", one.tokens_per_second},
                     {"mfu", one.mfu}});
  }
  json["fabric_cases"] = std::move(cases);
  return json;
}

Json memory_rows(const Answer& answer) {
  const training::Iteration& iteration = answer.iteration;
  Json stages = Json::array();
  double peak = 0.0;
  for (const training::StageMemory& stage : iteration.memory) {
    peak = std::max(peak, stage.total().value());
    stages.push_back({{"stage", stage.stage},
                      {"weights_bytes", stage.weights.value()},
                      {"gradients_bytes", stage.gradients.value()},
                      {"optimizer_bytes", stage.optimizer.value()},
                      {"activations_bytes", stage.activations.value()},
                      {"logits_bytes", stage.logits.value()},
                      {"cuda_context_bytes", stage.context.value()},
                      {"buffers_bytes", stage.buffers.value()},
                      {"fragmentation_bytes", stage.fragmentation.value()},
                      {"total_bytes", stage.total().value()}});
  }
  return {{"hbm_bytes", iteration.hbm.value()},
          {"peak_bytes", peak},
          {"peak_moment", iteration.peak_moment},
          {"headroom_bytes", iteration.hbm.value() - peak},
          {"stages", std::move(stages)}};
}

Json budget(const Answer& answer) {
  Json json = Json::object();
  if (answer.budget) {
    json["tokens"] = answer.budget->tokens;
    json["steps"] = answer.budget->steps;
    json["time_s"] = answer.budget->time.value();
    json["goodput"] = 1.0;
  }
  json["purchase"] = answer.purchase.empty() ? Json(nullptr) : Json(answer.purchase);
  Json prices = Json::array();
  for (const operations::PurchaseCost& cost : answer.costs) {
    prices.push_back({{"purchase", cost.purchase},
                      {"region", cost.region},
                      {"as_of", cost.as_of},
                      {"usd_per_hour", cost.per_hour.value()},
                      {"total_usd", cost.total ? Json(cost.total->value()) : Json(nullptr)},
                      {"purchasable", cost.limits.empty()},
                      {"limits", cost.limits},
                      {"source", cost.source}});
  }
  json["prices"] = std::move(prices);
  return json;
}

Json metrics(const Estimate& estimate) {
  Json json = Json::object();
  for (const Metric& metric : estimate.metrics)
    json[metric.id] = {{"value", metric.value}, {"unit", find_metric(metric.id)->unit}};
  return json;
}

Json provenance(const Provenance& provenance) {
  Json figures = Json::array();
  for (const UsedFigure& figure : provenance.figures) {
    figures.push_back({{"name", figure.name},
                       {"value", figure.value},
                       {"unit", figure.unit},
                       {"source", figure.source.text},
                       {"confidence", figure.source.confidence}});
  }
  return {{"program", provenance.program_version},
          {"catalog", provenance.catalog_version},
          {"scenario_sha", provenance.scenario_sha},
          {"profiles", provenance.profiles},
          {"figures", std::move(figures)}};
}

}  // namespace

std::string sizing_json(const Answer& answer, const SizingDetails& details) {
  const Estimate& estimate = answer.estimate;
  Json json{{"format_version", result_format_version},
            {"kind", answer.kind},
            {"name", answer.name},
            {"feasible", answer.feasible()}};
  if (!answer.feasible()) {
    json["infeasible"] = {
        {"binding", answer.binding()},
        {"reason", answer.reason()},
        {"least_change", answer.least_change.empty() ? Json(nullptr) : Json(answer.least_change)}};
  }
  json["metrics"] = metrics(estimate);
  json["cluster"] = cluster(answer);
  json["workload"] = answer.serving        ? serving_workload_json(answer)
                     : answer.posttraining ? posttraining_workload_json(answer)
                                           : workload(answer);
  if (answer.feasible() && answer.serving) json["inference"] = serving_json(answer);
  if (answer.feasible() && answer.posttraining) json["posttraining"] = posttraining_json(answer);
  if (answer.feasible() && !answer.serving && !answer.posttraining)
    json["training"] = speeds(answer);
  json["memory"] = answer.serving ? serving_memory_json(*answer.serving) : memory_rows(answer);
  if (answer.feasible() && (answer.serving || answer.posttraining))
    json["links"] = link_loads_json(answer.links);
  if (answer.feasible()) json["budget"] = budget(answer);
  if (answer.storage) json["storage"] = storage_json(*answer.storage);
  if (answer.operations) json["operations"] = operations_json(*answer.operations);
  json["band"] = {{"low", estimate.band.low},
                  {"high", estimate.band.high},
                  {"confidence", estimate.band.confidence},
                  {"regime", estimate.band.regime}};
  Json warnings = Json::array();
  for (const Warning& warning : estimate.warnings)
    warnings.push_back({{"id", warning.id}, {"message", warning.message}});
  json["warnings"] = std::move(warnings);
  Json defaulted = Json::array();
  for (const Defaulted& one : estimate.defaulted)
    defaulted.push_back({{"path", one.path}, {"value", one.value}, {"reason", one.reason}});
  json["defaulted"] = std::move(defaulted);
  json["provenance"] = provenance(estimate.provenance);
  json["report"] = document_json(sizing(answer, details));
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
