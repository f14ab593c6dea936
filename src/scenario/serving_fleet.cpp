#include "serving_fleet.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "flowplan/inference/kv_transfer.hpp"
#include "flowplan/inference/memory.hpp"

namespace flowplan::scenario {

namespace {

constexpr const char* default_engine = "vllm";
/// Sequences of the longest length that a layout which nobody stated has room for: with fewer a
/// batch does not pay for reading the weights.
constexpr double default_sequences = 16.0;

/// Tensor parallel degrees that are tried when none is stated: powers of two inside the NVLink
/// domain, the smallest with room for `default_sequences`, else the largest.
inference::Layout smallest_that_fits(const inference::StepSetup& setup, double longest) {
  inference::Layout layout = setup.layout;
  const int most = std::max(1, setup.instance->nvlink_domain_gpus);
  std::optional<inference::Layout> largest;
  for (layout.tp = 1; layout.tp <= most; layout.tp *= 2) {
    if (!inference::check_layout(layout, *setup.model)) continue;
    largest = layout;
    if (inference::serving_memory(*setup.instance, *setup.model, layout, setup.formats,
                                  setup.engine, {default_sequences, longest})
            .fits)
      return layout;
  }
  return largest.value_or(setup.layout);
}

Diagnostics at(Diagnostics faults, const char* pointer) {
  for (Diagnostic& fault : faults)
    if (fault.place.pointer.empty()) fault.place.pointer = pointer;
  return faults;
}

Result<inference::Instance> instance_of(const catalog::Catalog& catalog,
                                        const ServingSection& section,
                                        const inference::StepSetup& setup, double longest,
                                        bool caches_prefixes) {
  inference::DeploymentLimits limits;
  limits.longest_tokens = longest;
  if (section.max_sequences) limits.most_sequences = static_cast<double>(*section.max_sequences);
  if (section.draft_tokens > 0)
    limits.accepted_a_pass = inference::tokens_per_pass(section.acceptance, section.draft_tokens);
  auto instance = inference::deploy(catalog, setup, limits);
  if (!instance) return instance;
  if (section.context) instance->engine.context_limit = *section.context;
  instance->engine.prefix_caching = caches_prefixes;
  return instance;
}

Diagnostic too_large(const char* what, int needed, int gpus) {
  Diagnostic fault =
      error(Code::layout_mismatch,
            fmt::format("{} needs {} GPUs and the cluster has {}", what, needed, gpus),
            "a larger cluster, or smaller degrees");
  fault.place.pointer = "/workload";
  return fault;
}

}  // namespace

Result<ServingChoice> choose_serving(const catalog::Catalog& catalog,
                                     const catalog::Instance& instance,
                                     const ServingSection& section, double longest) {
  ServingChoice choice;
  const auto note = [&](bool open, const char* path, std::string value, const char* reason) {
    if (open) choice.defaulted.push_back({path, std::move(value), reason});
  };
  choice.engine = section.engine.value_or(default_engine);
  note(!section.engine, "workload.engine", choice.engine, "the most used open engine");
  auto engine =
      inference::engine_profile(catalog, choice.engine, catalog.gpu_of(instance).generation);
  if (!engine) return fail(at(std::move(engine.error()), "/workload/engine"));
  if (section.token_budget) engine->token_budget = *section.token_budget;
  if (section.max_sequences) engine->max_sequences = *section.max_sequences;

  inference::StepSetup& setup = choice.setup;
  setup.instance = &instance;
  setup.model = &section.model;
  setup.layout = section.layout;
  setup.engine = std::move(*engine);
  setup.draft_tokens = section.draft_tokens;
  const inference::WeightFormat weights = section.weights.value_or(inference::WeightFormat::bf16);
  note(!section.weights, "workload.precision", std::string(inference::name(weights)),
       "as models are published");
  setup.formats = inference::usual_formats(section.model, weights);
  if (section.narrow_kv) setup.formats.narrow_kv = *section.narrow_kv;
  note(!section.narrow_kv, "workload.kv_precision", setup.formats.narrow_kv ? "fp8" : "bf16",
       "usual beside weights of that format");
  if (section.disaggregated()) {
    choice.prefill = setup;
    choice.prefill->layout = section.prefill->layout;
    setup.layout = section.decode->layout;
  } else if (!section.layout_stated) {
    setup.layout = smallest_that_fits(setup, longest);
    note(true, "workload.parallelism.tp", fmt::format("{}", setup.layout.tp),
         "the smallest group with room for 16 of the longest sequences");
  }
  const auto checked = [&](const inference::StepSetup& one, const char* pointer) -> Result<void> {
    auto notes = inference::check_layout(one.layout, section.model, &instance);
    if (!notes) return fail(at(std::move(notes.error()), pointer));
    choice.notes.insert(choice.notes.end(), notes->begin(), notes->end());
    return {};
  };
  const char* const where =
      section.disaggregated() ? "/workload/disaggregated/decode" : "/workload/parallelism";
  if (auto good = checked(setup, where); !good) return fail(good.error());
  if (choice.prefill)
    if (auto good = checked(*choice.prefill, "/workload/disaggregated/prefill"); !good)
      return fail(good.error());
  return choice;
}

Result<ServingFleet> build_serving(const catalog::Catalog& catalog, const ServingSection& section,
                                   ServingChoice& choice, int gpus, double longest,
                                   bool shares_prefixes) {
  ServingFleet built;
  built.setup = choice.setup;
  built.prefill = choice.prefill;
  const bool caches = section.prefix_caching.value_or(shares_prefixes);
  inference::Router router;
  router.routing = section.routing.value_or(inference::Routing::least_loaded);
  auto main = instance_of(catalog, section, choice.setup, longest, caches);
  if (!main) return fail(at(std::move(main.error()), "/workload"));
  const int each = choice.setup.layout.gpus();
  if (section.disaggregated()) {
    const int needed = section.prefill->workers * section.prefill->layout.gpus() +
                       section.decode->workers * section.decode->layout.gpus();
    if (needed > gpus) return fail(too_large("the deployment", needed, gpus));
    auto prefill = instance_of(catalog, section, *choice.prefill, longest, caches);
    if (!prefill) return fail(at(std::move(prefill.error()), "/workload"));
    inference::Disaggregated pools;
    pools.transfer = inference::kv_transfer(
        *choice.setup.instance, catalog.gpu_of(*choice.setup.instance), section.model,
        choice.prefill->layout, choice.setup.layout, main->kv, section.layer_wise);
    pools.prefill = {std::move(*prefill), static_cast<std::uint32_t>(section.prefill->workers),
                     router};
    pools.decode = {std::move(*main), static_cast<std::uint32_t>(section.decode->workers), router};
    built.pools = std::move(pools);
    built.gpus = needed;
    return built;
  }
  if (each > gpus) return fail(too_large("an instance", each, gpus));
  const int replicas = section.replicas.value_or(gpus / each);
  if (!section.replicas)
    choice.defaulted.push_back({"workload.parallelism.replicas", fmt::format("{}", replicas),
                                "as many as the cluster holds"});
  if (replicas * each > gpus) return fail(too_large("the deployment", replicas * each, gpus));
  built.fleet = {std::move(*main), static_cast<std::uint32_t>(replicas), router};
  built.gpus = replicas * each;
  return built;
}

}  // namespace flowplan::scenario
