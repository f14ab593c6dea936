#include "flowplan/posttraining/reinforcement.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include "flowplan/compute/kernels.hpp"
#include "flowplan/inference/deployment.hpp"
#include "flowplan/posttraining/profile.hpp"
#include "rl_steps.hpp"
#include "training_passes.hpp"

namespace flowplan::posttraining {

namespace {

constexpr double percent_of_band = 100.0;

Diagnostic rl_fault(Code code, std::string_view where, std::string message, std::string hint = {}) {
  Place place;
  place.pointer = fmt::format("/workload{}", where);
  return error(code, std::move(place), std::move(message), std::move(hint));
}

Diagnostics faults_of(const RlJob& job, std::uint32_t gpus) {
  Diagnostics faults;
  const auto add = [&](Code code, std::string_view where, std::string message,
                       std::string hint = {}) {
    faults.push_back(rl_fault(code, where, std::move(message), std::move(hint)));
  };
  if (job.load.prompts < 1 || job.load.group < 1)
    add(Code::value_out_of_range, "/rollout",
        "a step has at least one prompt and one sample of it");
  if (job.over_sampling < 1.0)
    add(Code::value_out_of_range, "/rollout/over_sampling", "over-sampling is at least 1");
  if (job.epochs < 1 || job.mini_batch < 0 || job.log_prob_micro_batch < 1)
    add(Code::value_out_of_range, "/update", "epochs and batches are at least 1");
  if (job.mini_batch > job.load.samples())
    add(Code::not_divisible, "/update/mini_batch",
        fmt::format("an update of {} samples, but a step has {}", job.mini_batch,
                    job.load.samples()));
  if (job.placement != Placement::colocated && (job.rollout_gpus < 1 || job.rollout_gpus >= gpus))
    add(Code::layout_mismatch, "/placement/rollout_gpus",
        fmt::format("{} of {} GPUs make rollouts; each pool needs some", job.rollout_gpus, gpus));
  const std::uint32_t rollout = job.placement == Placement::colocated ? gpus : job.rollout_gpus;
  const auto replica = static_cast<std::uint32_t>(std::max(1, job.engine_layout.gpus()));
  if (faults.empty() && rollout % replica != 0)
    add(Code::not_divisible, "/rollout/parallelism",
        fmt::format("engines of {} GPUs do not divide {} rollout GPUs", replica, rollout));
  return faults;
}

/// The engines of a rollout pool, or why their weights leave no room.
struct Engines {
  inference::Fleet fleet;
  std::string does_not_fit;
};

Result<Engines> engines_of(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                           const RlJob& job, const Profile& profile, std::uint32_t gpus,
                           double most_samples, double longest) {
  const catalog::Instance& instance = *cluster.spec().instance;
  if (auto checked = inference::check_layout(job.engine_layout, job.actor.model, &instance);
      !checked)
    return fail(checked.error());
  auto engine = inference::engine_profile(catalog, job.engine, catalog.gpu_of(instance).generation);
  if (!engine) return fail(engine.error());
  const bool colocated = job.placement == Placement::colocated;
  engine->hbm_fraction =
      job.engine_memory.value_or(colocated ? profile.colocated_memory : profile.apart_memory);
  const int gpus_of_host = instance.gpus / std::max(1, instance.instances);
  if (job.engine_layout.gpus() > gpus_of_host) engine->gap += profile.multi_host_pass;
  if (job.max_sequences) engine->max_sequences = *job.max_sequences;
  inference::StepSetup setup;
  setup.instance = &instance;
  setup.model = &job.actor.model;
  setup.layout = job.engine_layout;
  setup.formats = job.formats;
  setup.engine = std::move(*engine);
  Engines result;
  result.fleet.replicas = gpus / static_cast<std::uint32_t>(job.engine_layout.gpus());
  inference::DeploymentLimits limits;
  limits.longest_tokens = longest;
  limits.most_sequences = std::max(1.0, std::ceil(most_samples / result.fleet.replicas /
                                                  std::max(1, job.engine_layout.attention_dp)));
  auto deployed = inference::deploy(catalog, setup, limits);
  if (!deployed) {
    if (deployed.error().front().code != Code::layout_mismatch) return fail(deployed.error());
    result.does_not_fit = deployed.error().front().message;
    return result;
  }
  result.fleet.instance = std::move(*deployed);
  result.fleet.instance.engine.prefix_caching = job.load.shared_prompts || job.load.tools;
  result.fleet.router.routing = job.placement == Placement::asynchronous
                                    ? inference::Routing::least_loaded
                                    : inference::Routing::round_robin;
  return result;
}

/// States that leave a GPU while its engine works, and come back.
Result<Seconds> swap_time(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                          const training::Iteration& iteration) {
  const auto kernels = compute::Kernels::on(catalog, catalog.gpu_of(*cluster.spec().instance));
  if (!kernels) return fail(kernels.error());
  Bytes most{};
  for (const training::StageMemory& stage : iteration.memory)
    most = std::max(most, stage.weights + stage.optimizer);
  return most / kernels->host_link();
}

}  // namespace

std::string_view name(Algorithm algorithm) {
  constexpr std::array<std::string_view, 4> names{"ppo", "grpo", "dapo", "rloo"};
  return names[static_cast<std::size_t>(algorithm)];
}

std::string_view name(Placement placement) {
  constexpr std::array<std::string_view, 4> names{"colocated", "disaggregated", "one_step_off",
                                                  "asynchronous"};
  return names[static_cast<std::size_t>(placement)];
}

Result<RlStep> estimate(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                        const RlJob& job) {
  const std::uint32_t gpus = job.gpus == 0 ? cluster.gpus() : job.gpus;
  if (auto faults = faults_of(job, gpus); !faults.empty()) return fail(std::move(faults));
  const auto placed = topology::place(cluster, gpus, job.actor.placement);
  if (!placed) return fail(placed.error());
  const auto found = profile(catalog, job.profile);
  if (!found) return fail(found.error());
  const bool colocated = job.placement == Placement::colocated;
  const std::uint32_t rollout_gpus = colocated ? gpus : job.rollout_gpus;
  const std::uint32_t trainer_gpus = colocated ? gpus : gpus - rollout_gpus;

  RolloutLoad load = job.load;
  load.prompts = static_cast<std::uint32_t>(std::ceil(job.load.prompts * job.over_sampling - 1e-9));
  const auto requests = rollout_requests(load);
  if (!requests) return fail(requests.error());
  double longest = 1.0;
  for (const Sample& sample : samples_of(*requests))
    longest = std::max(longest, static_cast<double>(sample.tokens()));
  const bool ahead = job.placement == Placement::asynchronous;
  // Batches of overlapped runs draw samples of their own, so the cut says how long they get.
  if (!colocated && job.load.response.kind != inference::TokenCount::Kind::fixed)
    longest = std::max(
        longest, std::min(longest * 2.0, mean_tokens(load.prompt) * 2.0 + job.load.response.most));
  const double at_once = load.samples() * (ahead ? 1.0 + std::min(job.staleness, 8.0) : 1.0);
  auto engines = engines_of(catalog, cluster, job, *found, rollout_gpus, at_once, longest);
  if (!engines) return fail(engines.error());

  StepParts parts;
  RlStep& result = parts.result;
  result.profiles = {found->id};
  result.replicas = static_cast<int>(engines->fleet.replicas);
  if (!engines->does_not_fit.empty()) {
    result.does_not_fit = engines->does_not_fit;
    result.binding = "memory";
    return std::move(result);
  }
  const RolloutEnd end{job.load.prompts, job.stop_early};
  auto rollout = rollout_by(job.known, engines->fleet, load, end, job.verifier);
  if (!rollout) return fail(rollout.error());
  auto played = std::make_shared<Played>();
  std::vector<Sample> kept;
  for (const std::uint32_t i : rollout->kept)
    kept.push_back(rollout->samples[i]);
  auto passes = training_passes(catalog, cluster, job, trainer_gpus, kept);
  if (!passes) return fail(passes.error());

  parts.trainer_gpus = trainer_gpus;
  parts.rollout_gpus = rollout_gpus;
  parts.wake = colocated ? found->engine_wake : Seconds(0.0);
  result.controller =
      found->controller + found->controller_sample * static_cast<double>(kept.size());
  if (colocated && job.swap.value_or(true)) {
    const auto swap = swap_time(catalog, cluster, passes->actor);
    if (!swap) return fail(swap.error());
    result.swap = *swap;
  }
  WeightSync sync;
  sync.path = job.sync;
  sync.model = &job.actor.model;
  sync.weight_bytes = inference::bytes_per_weight(job.formats.ffn);
  sync.trainer = job.actor.layout;
  sync.sharding = job.actor.sharding;
  sync.engine = job.engine_layout;
  sync.trainer_gpus.assign(placed->gpu.begin(), placed->gpu.begin() + trainer_gpus);
  sync.rollout_gpus.assign(placed->gpu.end() - rollout_gpus, placed->gpu.end());
  sync.per_tensor = colocated ? found->sync_colocated_tensor : found->sync_tensor;
  sync.per_tensor_least = found->sync_tensor_least;
  sync.per_tensor_most = found->sync_tensor_most;
  sync.mount = job.mount;
  auto synced = sync_time(catalog, cluster, sync);
  if (!synced) return fail(synced.error());
  parts.sync = std::move(*synced);

  fill(parts, *rollout, std::move(*passes), kept);
  const bool turns = colocated || (job.placement == Placement::disaggregated && !job.streamed);
  if (turns) {
    take_turns(parts, *rollout, colocated);
  } else {
    Overlap overlap;
    overlap.staleness = job.placement == Placement::disaggregated  ? 0.0
                        : job.placement == Placement::one_step_off ? 1.0
                                                                   : job.staleness;
    overlap.partial = job.placement != Placement::one_step_off && job.partial;
    overlap.in_order = job.placement == Placement::one_step_off || job.in_order;
    if (job.placement == Placement::asynchronous) overlap.in_flight = job.in_flight;
    overlap.parts =
        job.streamed
            ? static_cast<int>(std::max<std::int64_t>(1, result.updates / std::max(1, job.epochs)))
            : 1;
    overlap.training = parts.training();
    overlap.sync = result.sync;
    overlap.verifier = job.verifier;
    auto run = overlapped_by(job.known, engines->fleet, load, overlap);
    if (!run) return fail(run.error());
    played->overlap = overlap;
    played->overlapped = *run;
    run_apart(parts, std::move(*run));
  }
  played->fleet = std::move(engines->fleet);
  played->load = load;
  played->end = end;
  played->verifier = job.verifier;
  played->rollout = std::move(*rollout);
  result.played = std::move(played);
  const double half = found->band_p90 / percent_of_band;
  result.band = {1.0 / (1.0 + half), 1.0 / std::max(0.1, 1.0 - half), 0.9, found->band_regime};
  for (const Warning& warning : result.iteration.warnings)
    result.warnings.push_back(warning);
  for (const std::string& id : result.iteration.profiles)
    result.profiles.push_back(id);
  result.profiles.push_back(fmt::format("engine-{}", job.engine));
  return std::move(result);
}

}  // namespace flowplan::posttraining
