#include "trace.hpp"

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/fingerprint.hpp"
#include "flowplan/model/precision.hpp"

namespace flowplan::scenario {

namespace {

/// A figure of the catalog with the unit that its name carries.
void use(const std::string& owner, const std::vector<catalog::Fact>& facts, std::string_view name,
         std::vector<UsedFigure>& figures) {
  const catalog::Fact* fact = catalog::find(facts, name);
  if (fact == nullptr || !fact->figure.known) return;
  figures.push_back({fmt::format("{} {}", owner, name), fact->figure.value,
                     std::string(catalog::unit_of(name)), fact->figure.source});
}

std::vector<UsedFigure> figures(const catalog::Catalog& catalog, const Scenario& scenario,
                                const Answer& answer) {
  const catalog::Instance& instance = *scenario.cluster.instance;
  const catalog::Gpu& gpu = catalog.gpu_of(instance);
  std::vector<UsedFigure> used;
  for (const std::string_view name : {"gpus", "efa_gbps_total", "hbm_reported_mib_per_gpu"})
    use(instance.id, instance.facts, name, used);
  if (const auto peak = gpu.dense_tflops.find(answer.job.precision);
      peak != gpu.dense_tflops.end()) {
    used.push_back({fmt::format("{} dense {}", gpu.id, model::name(answer.job.precision)),
                    peak->second.value, "TFLOP/s", peak->second.source});
  }
  used.push_back(
      {gpu.id + " HBM", gpu.hbm_gbytes_per_s.value, "GB/s", gpu.hbm_gbytes_per_s.source});
  if (gpu.nvlink_gbytes_per_s) {
    used.push_back({gpu.id + " NVLink, one direction", gpu.nvlink_gbytes_per_s.value, "GB/s",
                    gpu.nvlink_gbytes_per_s.source});
  }
  if (const auto& checkpoint = scenario.workload.checkpoint) {
    used.push_back({answer.job.model.name + " parameters", answer.parameters, "",
                    Source{checkpoint->explanation, "checkpoint", ""}});
  } else if (const catalog::ModelEntry* entry = catalog.model_entry(answer.job.model.name)) {
    used.push_back({entry->id + " parameters", answer.parameters, "", entry->source});
  }
  for (const operations::PurchaseCost& cost : answer.costs) {
    const Source source{fmt::format("{} ({})", cost.source, cost.as_of), "vendor_price", ""};
    used.push_back({fmt::format("{} {}", instance.id, cost.purchase),
                    cost.per_hour.value() / answer.count, "USD/h", source});
  }
  if (answer.operations) {
    const auto& more = answer.operations->figures;
    used.insert(used.end(), more.begin(), more.end());
  }
  return used;
}

}  // namespace

std::string fingerprint_of(const Scenario& scenario) {
  return fmt::format("{:016x}", fingerprint(scenario.document.root().dump()));
}

void add_trace(const catalog::Catalog& catalog, const Scenario& scenario,
               const std::string& program_version, Answer& answer) {
  Provenance& provenance = answer.estimate.provenance;
  provenance.program_version = program_version;
  provenance.catalog_version = catalog.version();
  provenance.scenario_sha = fingerprint_of(scenario);
  provenance.profiles = answer.iteration.profiles;
  if (answer.operations) {
    provenance.profiles.emplace_back("failures");
    provenance.profiles.push_back("recovery-" + answer.operations->recovery);
  }
  provenance.figures = figures(catalog, scenario, answer);
}

}  // namespace flowplan::scenario
