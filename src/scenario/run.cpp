#include "flowplan/scenario/run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/operations/money.hpp"
#include "flowplan/scenario/resolve.hpp"
#include "flowplan/topology/tier_name.hpp"
#include "places.hpp"
#include "run_operations.hpp"
#include "run_posttraining.hpp"
#include "run_serving.hpp"
#include "run_storage.hpp"
#include "trace.hpp"

namespace flowplan::scenario {

namespace {

/// Ratios that the report always shows, because AWS publishes none.
constexpr double shown_oversubscriptions[] = {1.0, 2.0};
/// How far more_machines looks: times as many.
constexpr int most_machines = 64;

FabricCase fabric_case(double oversubscription, const training::Iteration& iteration) {
  return {oversubscription, iteration.step, iteration.tokens_per_second, iteration.mfu};
}

/// `io`: what waiting for storage adds to a step.
Result<std::vector<FabricCase>> fabric_cases(const catalog::Catalog& catalog,
                                             const Resolved& resolved,
                                             const training::Iteration& stated, Seconds io) {
  std::vector<FabricCase> cases;
  const topology::ClusterSpec& spec = resolved.cluster.spec();
  for (const double ratio : shown_oversubscriptions) {
    if (ratio == spec.fabric.leaf_oversubscription) {
      cases.push_back(fabric_case(ratio, stated));
      continue;
    }
    topology::ClusterSpec other = spec;
    other.fabric.leaf_oversubscription = ratio;
    auto cluster = topology::Cluster::build(other);
    if (!cluster) return fail(std::move(cluster.error()));
    auto iteration = training::estimate(catalog, *cluster, resolved.job);
    if (!iteration) return fail(std::move(iteration.error()));
    FabricCase one = fabric_case(ratio, *iteration);
    const double slower = (one.step + io) / one.step;
    one.step += io;
    one.tokens_per_second /= slower;
    one.mfu /= slower;
    cases.push_back(one);
  }
  return cases;
}

TokenBudget token_budget(double tokens, const training::Job& job, Seconds step) {
  const double per_step = static_cast<double>(job.global_batch * job.seq_len);
  TokenBudget budget;
  budget.tokens = tokens;
  budget.steps = static_cast<std::int64_t>(std::ceil(tokens / per_step));
  budget.time = step * static_cast<double>(budget.steps);
  return budget;
}

/// The scenario's purchase model, or on demand, or Capacity Blocks: the first that has a price and
/// can be bought so, else the first that has a price.
const operations::PurchaseCost* headline(const std::vector<operations::PurchaseCost>& costs,
                                         const std::optional<std::string>& stated) {
  const std::vector<std::string> order =
      stated ? std::vector<std::string>{*stated}
             : std::vector<std::string>{"on_demand", "capacity_block"};
  const operations::PurchaseCost* first = nullptr;
  for (const std::string& purchase : order) {
    for (const operations::PurchaseCost& cost : costs) {
      if (cost.purchase != purchase) continue;
      if (cost.limits.empty()) return &cost;
      if (first == nullptr) first = &cost;
    }
  }
  return first;
}

void add_money(const catalog::Catalog& catalog, const Scenario& scenario, Answer& answer) {
  const std::optional<Seconds> time =
      answer.budget ? std::optional<Seconds>(answer.budget->time) : std::nullopt;
  answer.costs =
      operations::costs(catalog, *scenario.cluster.instance, answer.count, answer.region, time);
  const operations::PurchaseCost* chosen = headline(answer.costs, scenario.cluster.purchase);
  if (chosen == nullptr) {
    if (scenario.cluster.purchase) {
      answer.estimate.warnings.push_back(
          {"no_price", fmt::format("no {} price of {} is known in {}", *scenario.cluster.purchase,
                                   answer.instance, answer.region)});
    }
    return;
  }
  answer.purchase = chosen->purchase;
  if (!scenario.cluster.purchase) {
    answer.estimate.defaulted.push_back({"cluster.purchase", chosen->purchase,
                                         "the first of on_demand, capacity_block with a price"});
  }
  for (const std::string& limit : chosen->limits)
    answer.estimate.warnings.push_back({"purchase_limit", limit});
}

void add_memory_metrics(const training::Iteration& iteration, Estimate& estimate) {
  Bytes peak{};
  for (const training::StageMemory& stage : iteration.memory)
    peak = std::max(peak, stage.total());
  estimate.add("training.memory_peak", peak.value());
  estimate.add("training.memory_headroom", (iteration.hbm - peak).value());
}

void add_speed_metrics(const Answer& answer, Estimate& estimate) {
  const training::Iteration& iteration = answer.iteration;
  estimate.add("training.tokens_per_second", iteration.tokens_per_second);
  estimate.add("training.tokens_per_second_per_gpu",
               iteration.tokens_per_second / static_cast<double>(answer.job.gpus));
  estimate.add("training.model_tflops_per_gpu", iteration.model_tflops_per_gpu);
  estimate.add("training.mfu", iteration.mfu);
  estimate.add("training.step_time", iteration.step.value());
}

void add_budget_metrics(const Answer& answer, Estimate& estimate) {
  if (!answer.budget) return;
  estimate.add("training.days", answer.budget->time.value() / operations::seconds_per_day);
  for (const operations::PurchaseCost& cost : answer.costs) {
    if (cost.purchase == answer.purchase && cost.total) {
      estimate.add("training.cost_usd", cost.total->value());
    }
  }
}

/// The smallest doubling of the cluster on which the job fits, with the degrees that are not stated
/// chosen again; empty when none does.
std::string more_machines(const catalog::Catalog& catalog, const Scenario& scenario) {
  Scenario larger = scenario;
  larger.workload.dp.reset();
  for (int factor = 2; factor <= most_machines; factor *= 2) {
    larger.cluster.count = scenario.cluster.count * factor;
    const auto resolved = resolve(catalog, larger);
    if (!resolved) continue;
    const auto memory = training::memory(catalog, resolved->cluster, resolved->job);
    if (!memory || !memory->fits) continue;
    const training::Layout& layout = resolved->job.layout;
    return fmt::format("{} x {} instead of {}, with tp {}, pp {}, recompute {}",
                       larger.cluster.count, scenario.cluster.instance->id, scenario.cluster.count,
                       layout.tp, layout.pp, name(resolved->job.recompute));
  }
  return {};
}

std::string title(const Scenario& scenario, const Answer& answer) {
  if (!scenario.name.empty()) return scenario.name;
  return fmt::format("{} on {} x {}", answer.job.model.name, answer.count, answer.instance);
}

}  // namespace

Result<Answer> run(const catalog::Catalog& catalog, const Scenario& scenario,
                   const std::string& program_version, Depth depth, const Answer* like) {
  if (scenario.serving) return run_serving(catalog, scenario, program_version, depth);
  if (scenario.posttraining) return run_posttraining(catalog, scenario, program_version, like);
  auto resolved = resolve(catalog, scenario);
  if (!resolved) return fail(std::move(resolved.error()));
  auto iteration = training::estimate(catalog, resolved->cluster, resolved->job);
  if (!iteration) return fail(placed(std::move(iteration.error()), scenario.document));

  const catalog::Instance& instance = *scenario.cluster.instance;
  Answer answer;
  answer.about = scenario.about;
  answer.kind = "pretraining";
  answer.instance = instance.id;
  answer.nic_kind = topology::nic_kind(instance);
  answer.gpu = instance.gpu;
  answer.count = scenario.cluster.count;
  answer.ec2_instances = instance.instances * answer.count;
  answer.gpus = resolved->cluster.gpus();
  answer.region = resolved->region;
  answer.network = topology::summarise(resolved->cluster);
  answer.job = resolved->job;
  answer.name = title(scenario, answer);
  answer.parameters = model::count_parameters(answer.job.model).total;
  answer.iteration = std::move(*iteration);

  Estimate& estimate = answer.estimate;
  estimate.defaulted = std::move(resolved->defaulted);
  estimate.band = answer.iteration.band;
  estimate.warnings = answer.iteration.warnings;
  if (const auto& checkpoint = scenario.workload.checkpoint;
      checkpoint && checkpoint->agreement == model::CheckpointCheck::Agreement::differs) {
    estimate.warnings.push_back({"checkpoint_differs", checkpoint->explanation});
  }
  std::optional<KnownCheckpoint> saves;
  if (scenario.storage && answer.feasible()) {
    auto known = add_storage(catalog, scenario, *resolved, answer);
    if (!known) return fail(std::move(known.error()));
    saves = std::move(*known);
  }
  if (answer.feasible()) {
    estimate.time = answer.iteration.time;
    if (depth == Depth::full) {
      const Seconds io =
          answer.storage ? answer.storage->step - answer.storage->step_computing : Seconds(0.0);
      auto cases = fabric_cases(catalog, *resolved, answer.iteration, io);
      if (!cases) return fail(placed(std::move(cases.error()), scenario.document));
      answer.fabric_cases = std::move(*cases);
    }
    if (scenario.workload.tokens) {
      answer.budget = token_budget(*scenario.workload.tokens, answer.job, answer.iteration.step);
    }
    add_money(catalog, scenario, answer);
    add_speed_metrics(answer, estimate);
  } else if (!answer.storage && depth == Depth::full) {
    answer.least_change = training::least_change_that_fits(catalog, resolved->cluster, answer.job);
    if (answer.least_change.empty()) answer.least_change = more_machines(catalog, scenario);
  }
  add_memory_metrics(answer.iteration, estimate);
  if (answer.storage) add_storage_metrics(answer, estimate);
  add_budget_metrics(answer, estimate);
  if (scenario.operations && answer.feasible()) {
    Diagnostics faults = add_operations(catalog, scenario, interrupted_work(answer), saves, answer);
    if (!faults.empty()) return fail(std::move(faults));
  }
  add_trace(catalog, scenario, program_version, answer);
  return answer;
}

}  // namespace flowplan::scenario
