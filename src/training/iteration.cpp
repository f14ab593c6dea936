#include "flowplan/training/iteration.hpp"

#include <utility>

#include <fmt/format.h>

#include "communication.hpp"
#include "flowplan/base/assert.hpp"
#include "flowplan/compute/kernels.hpp"
#include "flowplan/training/framework.hpp"
#include "stage_memory.hpp"
#include "step_times.hpp"

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

}  // namespace

Result<MemoryUse> memory(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                         const Job& job) {
  if (auto faults = check(catalog, cluster, job); !faults.empty()) return fail(std::move(faults));
  const auto profile = framework(catalog, job.framework);
  FLOWPLAN_ASSERT(profile.has_value());
  return memory_use(*profile, job, cluster.spec().instance->hbm_per_gpu());
}

Result<Iteration> estimate(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                           const Job& job) {
  if (auto faults = check(catalog, cluster, job); !faults.empty()) return fail(std::move(faults));
  const auto profile = framework(catalog, job.framework);
  const auto gpu = catalog.gpu(cluster.spec().instance->gpu);
  FLOWPLAN_ASSERT(profile.has_value() && gpu.has_value());
  const auto kernels = compute::Kernels::on(catalog, **gpu);
  FLOWPLAN_ASSERT(kernels.has_value());
  auto traffic = Communication::on(catalog, cluster, job);
  if (!traffic) return fail(traffic.error());

  const StepTimes times = step_times(*kernels, *profile, job, *traffic);
  if (!traffic->errors().empty()) return fail(traffic->errors());

  Iteration result;
  result.step = times.step();
  result.time = breakdown(times, job);
  MemoryUse use = memory_use(*profile, job, cluster.spec().instance->hbm_per_gpu());
  result.memory = std::move(use.stages);
  result.hbm = use.hbm;
  result.fits = use.fits;
  result.does_not_fit = std::move(use.does_not_fit);
  result.tiers = tier_use(cluster, *traffic, result.step);

  const double tokens = static_cast<double>(job.global_batch) * static_cast<double>(job.seq_len);
  const double gpus = ranks(cluster, job);
  result.tokens_per_second = tokens / result.step.value();
  const Flops per_token = model::training_flops_per_token(job.model, job.seq_len);
  const double flops_per_gpu = per_token.value() * result.tokens_per_second / gpus;
  result.model_tflops_per_gpu = flops_per_gpu / tera;
  result.mfu = flops_per_gpu / kernels->peak(job.precision).value();
  result.band = band_of(*profile);
  result.profiles = {kernels->calibration(), profile->id};
  if (!traffic->stack().empty()) result.profiles.push_back(traffic->stack());
  for (const std::string& note : traffic->notes()) {
    result.warnings.push_back({"collective_not_calibrated", note});
  }
  return result;
}

}  // namespace flowplan::training
