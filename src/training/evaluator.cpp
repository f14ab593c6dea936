#include "flowplan/training/evaluator.hpp"

#include <algorithm>
#include <utility>

#include "communication.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/compute/kernels.hpp"
#include "flowplan/training/framework.hpp"
#include "layer_cache.hpp"
#include "simulate.hpp"
#include "stage_memory.hpp"
#include "step_times.hpp"
#include "valid.hpp"

namespace flowplan::training {

namespace {

constexpr double tera = 1e12;
constexpr double percent = 100.0;

std::vector<TierUse> tier_use(const topology::Cluster& cluster, const Communication& traffic,
                              Seconds step) {
  std::vector<TierUse> result;
  for (const topology::TierSummary& tier : topology::summarise(cluster).tiers) {
    const auto carried = traffic.carried().find(tier.tier);
    if (carried == traffic.carried().end() || tier.capacity.value() <= 0.0) continue;
    result.push_back({tier.tier, carried->second / (tier.capacity * step)});
  }
  return result;
}

Band band_of(const Framework& framework) {
  Band band;
  band.low = 1.0 - framework.band_p90 / percent;
  band.high = 1.0 + framework.band_p90 / percent;
  band.confidence = 0.9;
  band.regime = framework.band_regime;
  return band;
}

double tokens_of_step(const Job& job) {
  return static_cast<double>(job.global_batch) * static_cast<double>(job.seq_len);
}

}  // namespace

struct Evaluator::State {
  const topology::Cluster* cluster = nullptr;
  compute::Kernels kernels;
  Framework framework;
  Communication communication;
  LayerCache cache;
  Bytes hbm{};
};

Evaluator::Evaluator(std::unique_ptr<State> state) : state_(std::move(state)) {}
Evaluator::Evaluator(Evaluator&&) noexcept = default;
Evaluator& Evaluator::operator=(Evaluator&&) noexcept = default;
Evaluator::~Evaluator() = default;

Result<Evaluator> Evaluator::on(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                const Job& like) {
  auto profile = framework(catalog, like.framework);
  if (!profile) return fail(std::move(profile.error()));
  const auto gpu = catalog.gpu(cluster.spec().instance->gpu);
  if (!gpu) return fail(gpu.error());
  auto kernels = compute::Kernels::on(catalog, **gpu);
  if (!kernels) return fail(std::move(kernels.error()));
  auto traffic = Communication::on(catalog, cluster, like);
  if (!traffic) return fail(std::move(traffic.error()));
  return Evaluator(std::make_unique<State>(State{&cluster, std::move(*kernels), std::move(*profile),
                                                 std::move(*traffic), LayerCache{},
                                                 cluster.spec().instance->hbm_per_gpu()}));
}

bool Evaluator::valid(const Job& job) const {
  return state_->kernels.supports(job.precision) && divides(ranks(*state_->cluster, job), job);
}

Evaluation Evaluator::memory(const Job& job) const {
  Evaluation result;
  const PeakMemory peak = peak_memory(state_->framework, job);
  result.memory = peak.bytes;
  result.stage = peak.stage;
  result.fits = peak.bytes <= state_->hbm;
  return result;
}

Seconds Evaluator::at_least(const Job& job) {
  return least_step(state_->kernels, state_->framework, job, state_->cache);
}

Seconds Evaluator::at_least_by_any_context(const Job& job) {
  return step_times(state_->kernels, state_->framework, job, state_->communication, &state_->cache,
                    Include::no_context)
      .step();
}

Result<Evaluation> Evaluator::evaluate(const Job& job) {
  const StepTimes times =
      step_times(state_->kernels, state_->framework, job, state_->communication, &state_->cache);
  if (!state_->communication.errors().empty()) return fail(state_->communication.errors());
  Evaluation result = memory(job);
  result.step = times.step();
  result.tokens_per_second = tokens_of_step(job) / result.step.value();
  return result;
}

Result<Seconds> Evaluator::simulate(const Job& job) {
  const StepTimes times =
      step_times(state_->kernels, state_->framework, job, state_->communication, &state_->cache);
  if (!state_->communication.errors().empty()) return fail(state_->communication.errors());
  return simulated_step(times, job);
}

Result<ForwardPass> Evaluator::forward(const Job& job) {
  State& s = *state_;
  Job alone = job;
  alone.recompute = Recompute::none;
  const StepTimes times = step_times(s.kernels, s.framework, alone, s.communication, &s.cache);
  if (!s.communication.errors().empty()) return fail(s.communication.errors());
  std::vector<StagePass> passes;
  for (const StageTime& stage : times.stages)
    passes.push_back({forward_alone(stage, s.framework.host_norm), {}, {}});
  const PipelineTime pipeline = pipeline_time(passes, times.micro_batches, alone.layout.vp);
  ForwardPass result;
  result.steady = pipeline.steady;
  result.bubble = pipeline.bubble;
  result.transfers = times.pp / 2.0;
  result.overhead = times.overhead;
  result.time = result.steady + result.bubble + result.transfers + result.overhead;
  const LayerWork& layer = times.layer[job.model.moe_layers() > 0 ? 1 : 0].work;
  result.limit = layer.gemm.limit;
  return result;
}

Result<StepTimeline> Evaluator::timeline(const Job& job) {
  const StepTimes times =
      step_times(state_->kernels, state_->framework, job, state_->communication, &state_->cache);
  if (!state_->communication.errors().empty()) return fail(state_->communication.errors());
  return played_step(times, job);
}

Result<Iteration> Evaluator::explain(const Job& job) {
  State& s = *state_;
  s.communication.forget_counts();
  const StepTimes times = step_times(s.kernels, s.framework, job, s.communication, &s.cache);
  if (!s.communication.errors().empty()) return fail(s.communication.errors());
  Iteration result;
  result.step = times.step();
  result.time = breakdown(times, job);
  MemoryUse use = memory_use(s.framework, job, s.hbm);
  result.peak_moment = peak_moment(job, use);
  result.memory = std::move(use.stages);
  result.hbm = use.hbm;
  result.fits = use.fits;
  result.does_not_fit = std::move(use.does_not_fit);
  result.tiers = tier_use(*s.cluster, s.communication, result.step);

  const double gpus = ranks(*s.cluster, job);
  result.tokens_per_second = tokens_of_step(job) / result.step.value();
  const Flops per_token = model::training_flops_per_token(job.model, job.seq_len);
  const double flops_per_gpu = per_token.value() * result.tokens_per_second / gpus;
  result.model_tflops_per_gpu = flops_per_gpu / tera;
  result.mfu = flops_per_gpu / s.kernels.peak(job.precision).value();
  result.band = band_of(s.framework);
  result.profiles = {s.kernels.calibration(), s.framework.id};
  if (!s.communication.stack().empty()) result.profiles.push_back(s.communication.stack());
  for (const std::string& note : s.communication.notes()) {
    result.warnings.push_back({"collective_not_calibrated", note});
  }
  return result;
}

}  // namespace flowplan::training
