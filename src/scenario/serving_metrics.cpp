#include "serving_metrics.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "trace.hpp"

namespace flowplan::scenario {

void add_serving_metrics(Answer& answer) {
  const ServingAnswer& serving = *answer.serving;
  Estimate& estimate = answer.estimate;
  estimate.add("inference.weights_per_gpu", serving.memory.weights.total().value());
  estimate.add("inference.kv_room_per_gpu", serving.memory.kv_room.value());
  if (!answer.feasible()) return;
  const inference::Summary& s = serving.summary;
  const auto spread = [&](std::string_view name, const inference::Spread& one) {
    estimate.add(fmt::format("inference.{}_mean", name), one.mean);
    estimate.add(fmt::format("inference.{}_p50", name), one.p50);
    estimate.add(fmt::format("inference.{}_p90", name), one.p90);
    estimate.add(fmt::format("inference.{}_p99", name), one.p99);
  };
  spread("ttft", s.ttft_s);
  spread("tpot", s.tpot_s);
  spread("itl", s.itl_s);
  spread("e2e", s.e2e_s);
  estimate.add("inference.requests_per_second", s.requests_per_s);
  estimate.add("inference.output_tokens_per_second", s.output_tokens_per_s);
  estimate.add("inference.output_tokens_per_second_per_gpu", s.output_tokens_per_s_per_gpu);
  estimate.add("inference.output_tokens_per_second_per_user", s.output_tokens_per_s_per_user);
  if (serving.slo) {
    estimate.add("inference.goodput", s.good_requests_per_s);
    estimate.add("inference.slo_share", s.good_share);
  }
  if (serving.saturation_per_s)
    estimate.add("inference.saturation_requests_per_second", *serving.saturation_per_s);
  estimate.add("inference.batch_mean", serving.pools.back().mean_batch);
  estimate.add("inference.kv_share_mean", serving.pools.back().mean_kv_share);
  estimate.add("inference.kv_share_peak", serving.pools.back().peak_kv_share);
  estimate.add("inference.cached_share", s.cached_share);
  estimate.add("inference.preemptions", static_cast<double>(s.preemptions));
  estimate.add("inference.refused", static_cast<double>(s.refused_context + s.refused_memory));
  estimate.add("inference.unfinished", static_cast<double>(s.unfinished));
  if (serving.start) {
    estimate.add("inference.cold_start", serving.start->all.time.value());
    estimate.add("inference.scale_out", serving.start->one_more.time.value());
  }
  if (serving.per_million_output_tokens)
    estimate.add("inference.cost_per_million_output_tokens_usd",
                 serving.per_million_output_tokens->value());
}

void add_serving_trace(const catalog::Catalog& catalog, const Scenario& scenario,
                       const std::string& program_version, Answer& answer) {
  Provenance& provenance = answer.estimate.provenance;
  provenance.program_version = program_version;
  provenance.catalog_version = catalog.version();
  provenance.scenario_sha = fingerprint_of(scenario);
  const catalog::Instance& instance = *scenario.cluster.instance;
  const catalog::Gpu& gpu = catalog.gpu_of(instance);
  std::vector<UsedFigure>& used = provenance.figures;
  for (const std::string_view name : {"gpus", "efa_gbps_total", "hbm_reported_mib_per_gpu"}) {
    const catalog::Fact* fact = catalog::find(instance.facts, name);
    if (fact == nullptr || !fact->figure.known) continue;
    used.push_back({fmt::format("{} {}", instance.id, name), fact->figure.value,
                    std::string(catalog::unit_of(name)), fact->figure.source});
  }
  used.push_back(
      {gpu.id + " HBM", gpu.hbm_gbytes_per_s.value, "GB/s", gpu.hbm_gbytes_per_s.source});
  if (gpu.nvlink_gbytes_per_s)
    used.push_back({gpu.id + " NVLink, one direction", gpu.nvlink_gbytes_per_s.value, "GB/s",
                    gpu.nvlink_gbytes_per_s.source});
  if (const catalog::ModelEntry* entry = catalog.model_entry(answer.serving->model.name))
    used.push_back({entry->id + " parameters", answer.parameters, "", entry->source});
  for (const operations::PurchaseCost& cost : answer.costs)
    used.push_back({fmt::format("{} {}", instance.id, cost.purchase),
                    cost.per_hour.value() / answer.count, "USD/h",
                    Source{fmt::format("{} ({})", cost.source, cost.as_of), "vendor_price", ""}});
}

}  // namespace flowplan::scenario
