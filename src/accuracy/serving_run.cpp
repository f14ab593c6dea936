#include "serving_run.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "flowplan/inference/deployment.hpp"
#include "flowplan/inference/kv_transfer.hpp"

namespace flowplan::accuracy {

namespace {

/// The power of two that is not below.
double rounded_up(double value) {
  return std::exp2(std::ceil(std::log2(std::max(1.0, value))));
}

Served summed_up(const inference::ServeRun& run) {
  Served served;
  double tokens = 0.0, finished = 0.0, last = 0.0;
  const inference::RequestRecords& r = run.requests;
  for (std::size_t i = 0; i < r.size(); ++i) {
    if (r.outcome[i] != inference::Outcome::finished) continue;
    served.ttft.push_back(r.first_token_s[i] - r.sent_s[i]);
    served.e2e.push_back(r.finish_s[i] - r.sent_s[i]);
    if (r.generated[i] > 1) {
      served.tpot.push_back((r.finish_s[i] - r.first_token_s[i]) / (r.generated[i] - 1.0));
    }
    tokens += r.generated[i];
    finished += 1.0;
    last = std::max(last, r.finish_s[i]);
  }
  for (auto* values : {&served.ttft, &served.e2e, &served.tpot})
    std::sort(values->begin(), values->end());
  if (last > 0.0) {
    served.tokens_per_s = tokens / last;
    served.requests_per_s = finished / last;
  }
  return served;
}

}  // namespace

double Served::mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double value : values)
    sum += value;
  return values.empty() ? 0.0 : sum / static_cast<double>(values.size());
}

double Served::quantile(const std::vector<double>& values, double q) {
  if (values.empty()) return 0.0;
  const double at = q * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(std::floor(at));
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

std::optional<Band> ServingBench::band(const ServingJob& job) const {
  const auto engine =
      inference::engine_profile(catalog_, job.engine, catalog_.gpu_of(*job.instance).generation);
  constexpr double percent = 100.0, share = 0.9;
  if (!engine || engine->band_p90 <= 0.0) return std::nullopt;
  const double half = engine->band_p90 / percent;
  return Band{1.0 / (1.0 + half), 1.0 / std::max(1e-3, 1.0 - half), share, engine->band_regime};
}

double ServingBench::harness(std::string_view figure) const {
  const auto set = catalog_.constants("harness-serving");
  return set ? (*set)->get(figure, 0.0) : 0.0;
}

Result<inference::Instance> ServingBench::instance(const ServingJob& job,
                                                   const inference::Layout& layout, double longest,
                                                   double sequences) {
  const double long_enough = rounded_up(longest), wide_enough = rounded_up(sequences);
  const std::string key = fmt::format(
      "{} {} {} {} {} {} {} {} {} {} {}{}{}{} {} {}", job.instance->id, job.model->name, job.engine,
      layout.tp, layout.pp, layout.attention_dp, layout.ep, job.max_tokens, job.max_sequences,
      job.draft_tokens, name(job.formats.attention), name(job.formats.ffn),
      name(job.formats.experts), job.formats.narrow_kv, long_enough, wide_enough);
  auto found = instances_.find(key);
  if (found == instances_.end()) {
    const auto build = [&]() -> Result<inference::Instance> {
      auto engine = inference::engine_profile(catalog_, job.engine,
                                              catalog_.gpu_of(*job.instance).generation);
      if (!engine) return fail(engine.error());
      if (job.max_tokens > 0) engine->token_budget = job.max_tokens;
      if (job.max_sequences > 0) engine->max_sequences = job.max_sequences;
      inference::StepSetup setup;
      setup.instance = job.instance;
      setup.model = job.model;
      setup.layout = layout;
      setup.formats = job.formats;
      setup.engine = std::move(*engine);
      setup.draft_tokens = job.draft_tokens;
      inference::DeploymentLimits limits;
      limits.longest_tokens = long_enough;
      limits.most_sequences = wide_enough;
      return inference::deploy(catalog_, setup, limits);
    };
    found = instances_.emplace(key, build()).first;
  }
  if (!found->second) return fail(found->second.error());
  inference::Instance built = *found->second;
  built.engine.speculation.tokens_per_pass = job.accepted_tokens;
  built.engine.scheduling =
      job.prefill_first ? inference::Scheduling::prefill_first : inference::Scheduling::mixed;
  return built;
}

Result<Served> ServingBench::run(const ServingJob& job, const inference::Load& load,
                                 const inference::Instance& instance) const {
  const auto workload = inference::generate(load);
  if (!workload) return fail(workload.error());
  inference::Fleet fleet;
  fleet.instance = instance;
  fleet.replicas = static_cast<std::uint32_t>(job.decode.workers);
  fleet.router.routing = inference::Routing::least_loaded;
  const auto done = inference::serve(fleet, *workload);
  if (!done) return fail(done.error());
  return summed_up(*done);
}

Result<Served> ServingBench::run(const ServingJob& job, const inference::Load& load) {
  const double longest = load.input.mean + load.output.mean;
  const double lanes = job.decode.layout.attention_dp * job.decode.workers;
  const double clients = std::ceil(load.arrivals.concurrency / lanes);
  const auto decode = instance(job, job.decode.layout, longest, clients);
  if (!decode) return fail(decode.error());
  if (!job.disaggregated()) return run(job, load, *decode);
  const double prompts = std::ceil(load.arrivals.concurrency /
                                   (job.prefill->layout.attention_dp * job.prefill->workers * 1.0));
  const auto prefill = instance(job, job.prefill->layout, longest, prompts);
  if (!prefill) return fail(prefill.error());
  const auto workload = inference::generate(load);
  if (!workload) return fail(workload.error());
  inference::Disaggregated fleet;
  fleet.prefill = {*prefill, static_cast<std::uint32_t>(job.prefill->workers), {}};
  fleet.decode = {*decode, static_cast<std::uint32_t>(job.decode.workers), {}};
  fleet.prefill.router.routing = fleet.decode.router.routing = inference::Routing::least_loaded;
  fleet.transfer = inference::kv_transfer(*job.instance, catalog_.gpu_of(*job.instance), *job.model,
                                          job.prefill->layout, job.decode.layout, decode->kv,
                                          /*layer_wise=*/false);
  const auto done = inference::serve(fleet, *workload);
  if (!done) return fail(done.error());
  return summed_up(*done);
}

}  // namespace flowplan::accuracy
