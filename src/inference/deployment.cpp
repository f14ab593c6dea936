#include "flowplan/inference/deployment.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace flowplan::inference {

namespace {

constexpr double memory_unit = 1e9;

Diagnostic no_room(const StepSetup& setup, const ServingMemory& memory, double longest) {
  std::string hint;
  for (const ServingRemedy& remedy : memory.remedies)
    hint += (hint.empty() ? "it would fit with: " : "; ") + remedy.change;
  return error(
      Code::layout_mismatch,
      fmt::format(
          "{} does not fit {} with a sequence of {:.0f} tokens: weights {:.1f} GB and {:.1f} "
          "GB beside them of {:.1f} GB leave {:.1f} GB for the KV cache",
          setup.model->name, setup.instance->gpu, longest,
          memory.weights.total().value() / memory_unit, memory.other.value() / memory_unit,
          memory.allowed.value() / memory_unit, memory.kv_room.value() / memory_unit),
      std::move(hint));
}

EngineSpec scheduler_of(const EngineProfile& profile, const DeploymentLimits& limits) {
  EngineSpec engine;
  engine.token_budget = profile.token_budget;
  engine.max_sequences = profile.max_sequences;
  if (limits.most_sequences > 0.0) {
    engine.max_sequences =
        std::min(engine.max_sequences, static_cast<std::int64_t>(std::ceil(limits.most_sequences)));
  }
  engine.admission = profile.reserves_output ? Admission::reserve : Admission::on_demand;
  engine.chunked_prefill = profile.chunked_prefill;
  engine.async_scheduling = profile.queued_pass;
  engine.api = profile.api;
  engine.api_per_token = profile.api_token;
  return engine;
}

/// Draft passes over sequences of a lane.
Curve draft_curve(const StepModel& step, double most_sequences) {
  std::vector<double> at, seconds;
  for (double b = 1.0; b < 2.0 * most_sequences; b *= 2.0) {
    at.push_back(b);
    seconds.push_back(step.draft(b).value());
  }
  return Curve(std::move(at), std::move(seconds));
}

}  // namespace

Result<Instance> deploy(const catalog::Catalog& catalog, const StepSetup& setup,
                        const DeploymentLimits& limits) {
  const auto step = StepModel::on(catalog, setup);
  if (!step) return fail(step.error());
  const ServingMemory memory =
      serving_memory(*setup.instance, *setup.model, setup.layout, setup.formats, setup.engine,
                     {1.0, limits.longest_tokens});
  if (!memory.fits) return fail(no_room(setup, memory, limits.longest_tokens));
  Instance instance;
  instance.engine = scheduler_of(setup.engine, limits);
  const auto sequences = static_cast<double>(instance.engine.max_sequences);
  const double tokens_each = 1.0 + setup.draft_tokens;
  const auto budget = static_cast<double>(instance.engine.token_budget);
  instance.table =
      step->table(budget + sequences * tokens_each, sequences * tokens_each, limits.longest_tokens);
  instance.kv = memory.kv;
  instance.gpus = setup.layout.gpus();
  if (setup.draft_tokens > 0) {
    instance.engine.speculation = {setup.draft_tokens, limits.accepted_a_pass,
                                   draft_curve(*step, sequences)};
  }
  if (limits.adapter_rank > 0.0) {
    const AdapterCost cost = step->adapters(limits.adapter_rank);
    instance.engine.lora = {limits.resident_adapters, cost.adapter / setup.engine.host_link,
                            cost.per_pass, cost.per_adapter, cost.per_token};
  }
  return instance;
}

}  // namespace flowplan::inference
