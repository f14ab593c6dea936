#include "step_times.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "layer_cache.hpp"
#include "stage_memory.hpp"
#include "states.hpp"

namespace flowplan::training {

namespace {

constexpr std::array kinds{LayerKind::dense, LayerKind::experts};

std::size_t at(LayerKind kind) {
  return static_cast<std::size_t>(kind);
}

double p_norm(double a, double b, double p) {
  const double most = std::max(a, b), least = std::min(a, b);
  // Beyond a thousandth the smaller one does not show in sixteen digits' fourth power.
  if (most <= 0.0 || least < most * 1e-3) return most;
  return most * std::pow(1.0 + std::pow(least / most, p), 1.0 / p);
}

/// Host time of one layer for one micro-batch.
Seconds host_time(const Framework& framework, const Job& job, LayerKind kind) {
  Seconds layer =
      job.recompute == Recompute::full ? framework.host_recompute_layer : framework.host_layer;
  layer *= job.layout.tp >= framework.wide_tp ? framework.wide_tp_factor : 1.0;
  if (kind == LayerKind::experts) layer += framework.moe.host_layer;
  return layer * (job.routing.captured ? framework.moe.captured_factor : 1.0);
}

LayerTimes layer_times(const compute::Kernels& kernels, const Traffic& traffic, LayerKind kind,
                       LayerCache& cache, Include include) {
  LayerTimes times;
  times.work = cache.layer(kernels, traffic.framework, traffic.job, kind);
  times.tp = tp_exposed(traffic, kind);
  if (include == Include::all) times.cp = cp_exposed(traffic, times.work);
  if (kind == LayerKind::experts) times.ep = ep_exposed(traffic);
  times.shard = shard_exposed(traffic, times.work, kind);
  if (traffic.job.offload_layers > 0) {
    // Each way behind the layer's own work; what takes longer shows.
    const Seconds moved =
        kept_activations(traffic.framework, traffic.job, kind) / kernels.host_link();
    const Seconds none{};
    times.offload = std::max(none, moved - times.work.forward()) +
                    std::max(none, moved - times.work.backward() - times.work.recomputed);
  }
  times.host = host_time(traffic.framework, traffic.job, kind);
  return times;
}

/// What a layer left in 16 bits takes more than the others of its kind.
LayerWork wide_work(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                    LayerKind kind, LayerCache& cache) {
  Job wide = job;
  wide.precision = model::Precision::bf16;
  return cache.layer(kernels, framework, wide, kind);
}

/// Weights of the embedding and the output head travel as those of a layer do.
Exposed head_shard(const Traffic& traffic, const HeadWork& head) {
  Exposed result;
  const Job& job = traffic.job;
  if (!travels_every_micro_batch(job)) return result;
  const double count = vocabulary_parameters_per_rank(job);
  const Span all = replica_span(job.layout);
  const Span group{all.stride, static_cast<std::int64_t>(state_shards(job).common)};
  if (group.size == 1) return result;
  const auto ask = [&](collective::Operation operation, double bytes, double times) {
    const auto& outcome = traffic.communication.predict(group, operation, Bytes(bytes));
    traffic.communication.count(outcome, times * traffic.runs);
    result.whole += outcome.time * times;
    result.limit = resource(outcome.limit);
    result.next = resource(outcome.next);
    result.bytes = bytes;
  };
  const double matrices = job.model.tied_embeddings ? 1.0 : 2.0;
  if (shards_weights(job.sharding)) {
    ask(collective::Operation::all_gather,
        traffic.framework.gather_bytes(model::Precision::bf16) * count * matrices, 1.0);
  }
  if (!job.adapters) {
    ask(collective::Operation::reduce_scatter,
        gradient_bytes(traffic.framework, job) * count * matrices, 1.0);
  }
  const Seconds hidden = std::min(result.whole, head.total());
  result.time = result.whole - hidden + hidden * traffic.framework.fsdp_contention;
  return result;
}

StageTime stage_time(const Framework& framework, const Job& job, const StepTimes& times,
                     const std::array<double, 2>& layers, const std::array<double, 2>& wide) {
  StageTime stage;
  stage.layers = layers;
  Seconds host = framework.host_micro_batch, exposed{};
  const double all = std::max(1.0, layers[0] + layers[1]);
  const double offloaded = std::min(1.0, static_cast<double>(job.offload_layers) / all);
  for (const LayerKind kind : kinds) {
    const double count = layers[at(kind)];
    if (count == 0.0) continue;
    const LayerTimes& layer = times.layer[at(kind)];
    stage.offload += layer.offload * (count * offloaded);
    stage.layer_work += layer.gpu() * count;
    host += layer.host * count;
    exposed += layer.communication() * count;
    stage.pass.forward += layer.work.forward() * count;
    stage.pass.backward += (layer.work.backward() + layer.work.recomputed) * count;
    stage.pass.weight += layer.work.weight() * count;
    if (wide[at(kind)] > 0.0) stage.add_wide(layer, wide[at(kind)]);
  }
  stage.layer_work += stage.wide;
  stage.layer_work += stage.offload;
  exposed += stage.offload;
  const double joined = p_norm(stage.layer_work.value(), host.value(), framework.host_norm);
  stage.host_excess = std::max(Seconds(0), Seconds(joined) - stage.layer_work);
  // Communication and host work are spread over both passes.
  const Seconds shared = (exposed + stage.host_excess) / 2.0;
  stage.pass.forward += shared;
  stage.pass.backward += shared;
  return stage;
}

std::vector<StageTime> stage_times(const Framework& framework, const Job& job,
                                   const StepTimes& times) {
  const std::vector<std::int64_t> layers = layers_of_stages(job);
  std::vector<StageTime> stages;
  stages.reserve(layers.size());
  const auto counts = kinds_of_stages(job, layers);
  const auto wide = wide_of_stages(job, layers);
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const bool again = i > 0 && counts[i] == counts[i - 1] && wide[i] == wide[i - 1];
    stages.push_back(again ? stages.back() : stage_time(framework, job, times, counts[i], wide[i]));
  }
  StageTime& last = stages.back();
  last.head = times.head.total() + times.head_shard.time;
  last.head_share = 1.0;
  last.pass.forward += times.head.forward() + times.head_shard.time / 2.0;
  last.pass.backward += times.head.backward() + times.head_shard.time / 2.0;
  last.pass.weight += times.head.gemm.weight + times.head.prediction.weight;
  return stages;
}

/// The mean of two stages that share a rank, each with half of the micro-batches.
StageTime mean_of(const StageTime& a, const StageTime& b) {
  StageTime mean;
  for (std::size_t kind = 0; kind < mean.layers.size(); ++kind)
    mean.layers[kind] = (a.layers[kind] + b.layers[kind]) / 2.0;
  mean.layer_work = (a.layer_work + b.layer_work) / 2.0;
  mean.offload = (a.offload + b.offload) / 2.0;
  mean.wide = (a.wide + b.wide) / 2.0;
  mean.host_excess = (a.host_excess + b.host_excess) / 2.0;
  mean.head = (a.head + b.head) / 2.0;
  mean.head_share = (a.head_share + b.head_share) / 2.0;
  mean.pass = {(a.pass.forward + b.pass.forward) / 2.0, (a.pass.backward + b.pass.backward) / 2.0,
               (a.pass.weight + b.pass.weight) / 2.0};
  return mean;
}

/// Sets `pipeline` and `busiest` from the stages.
void play_schedule(const Job& job, StepTimes& times) {
  std::vector<StagePass> passes;
  passes.reserve(times.stages.size());
  for (const StageTime& stage : times.stages)
    passes.push_back(stage.pass);
  times.pipeline = pipeline_time(passes, times.micro_batches, job.layout.vp, job.schedule);
  const StageTime& slowest = times.stages[times.pipeline.slowest];
  times.busiest =
      job.schedule == Schedule::dual_pipe
          ? mean_of(slowest, times.stages[times.stages.size() - 1 - times.pipeline.slowest])
          : slowest;
}

/// Parameters of the rank that holds most of them.
LayerParameters most_parameters(const Job& job, std::span<const StageTime> stages) {
  if (job.adapters) {
    double layers = 0.0;
    for (const StageTime& stage : stages)
      layers = std::max(layers, stage.layers[0] + stage.layers[1]);
    return {adapter_parameters_per_rank(job) * layers, 0.0};
  }
  std::array<LayerParameters, 2> layer{};
  for (const LayerKind kind : kinds) {
    if (kind == LayerKind::dense || job.model.experts) {
      layer[at(kind)] = layer_parameters_per_rank(job, kind);
    }
  }
  const double vocabulary = vocabulary_parameters_per_rank(job);
  LayerParameters most;
  for (std::size_t i = 0; i < stages.size(); ++i) {
    LayerParameters here;
    for (const LayerKind kind : kinds) {
      here.common += stages[i].layers[at(kind)] * layer[at(kind)].common;
      here.experts += stages[i].layers[at(kind)] * layer[at(kind)].experts;
    }
    const bool first = i == 0, last = i + 1 == stages.size();
    if (first) here.common += vocabulary;
    if (last && !(first && job.model.tied_embeddings)) here.common += vocabulary;
    if (here.total() > most.total()) most = here;
  }
  return most;
}

Seconds optimizer_time(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                       const LayerParameters& parameters) {
  const StateShards shards = state_shards(job);
  const double own = parameters.common / shards.common + parameters.experts / shards.experts;
  return kernels.memory_bound(Bytes(optimizer_traffic(framework, job) * own)).time;
}

}  // namespace

void StageTime::add_wide(const LayerTimes& layer, double count) {
  const LayerWork &wide_one = layer.wide, &one = layer.work;
  const Seconds more_forward = (wide_one.forward() - one.forward()) * count;
  const Seconds more_backward =
      (wide_one.backward() + wide_one.recomputed - one.backward() - one.recomputed) * count;
  wide += more_forward + more_backward;
  pass.forward += more_forward;
  pass.backward += more_backward;
  pass.weight += (wide_one.weight() - one.weight()) * count;
}

Seconds forward_alone(const StageTime& stage, double norm) {
  const Seconds gpu = stage.pass.forward - stage.host_excess / 2.0;
  if (stage.host_excess.value() <= 0.0) return gpu;
  constexpr double passes = 3.0;  // forward, gradients of inputs and of weights
  const double work = stage.layer_work.value(),
               joined = (stage.layer_work + stage.host_excess).value();
  const double host = joined * std::pow(1.0 - std::pow(work / joined, norm), 1.0 / norm);
  return Seconds(p_norm(gpu.value(), host / passes, norm));
}

std::vector<std::int64_t> layers_of_stages(const Job& job) {
  const Layout& l = job.layout;
  auto layers = stage_layers(job.model.layers, l.pp, l.vp);
  if (l.uneven_stages && (!layers || job.model.mtp_layers > 0)) {
    if (auto uneven = uneven_stage_layers(job.model.layers, l.pp, l.vp, job.model.mtp_layers)) {
      layers = std::move(uneven);
    }
  }
  FLOWPLAN_ASSERT(layers.has_value());
  return std::move(*layers);
}

std::vector<std::array<double, 2>> kinds_of_stages(const Job& job,
                                                   std::span<const std::int64_t> layers) {
  std::vector<std::array<double, 2>> result(layers.size());
  const bool plain = !job.model.experts || job.model.moe_layers() == 0;
  std::int64_t index = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (plain) {
      result[i][0] = static_cast<double>(layers[i]);
      continue;
    }
    // Of virtual stages the order differs; what leads the model leads the first stage either way.
    for (std::int64_t k = 0; k < layers[i]; ++k)
      result[i][job.model.has_experts(index++) ? 1 : 0] += 1.0;
  }
  return result;
}

bool leaves_wide(const Job& job) {
  return job.wide_layers.first + job.wide_layers.last > 0 &&
         model::bytes_per_element(job.precision) < model::bytes_per_element(model::Precision::bf16);
}

std::vector<std::array<double, 2>> wide_of_stages(const Job& job,
                                                  std::span<const std::int64_t> layers) {
  std::vector<std::array<double, 2>> result(layers.size());
  if (!leaves_wide(job)) return result;
  const std::int64_t until = job.wide_layers.first, from = job.model.layers - job.wide_layers.last;
  std::int64_t index = 0;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    for (std::int64_t k = 0; k < layers[i]; ++k, ++index) {
      if (index < until || index >= from) result[i][job.model.has_experts(index) ? 1 : 0] += 1.0;
    }
  }
  return result;
}

StepTimes step_times(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                     Communication& communication, LayerCache* cache, Include include) {
  LayerCache fresh;
  LayerCache& known = cache == nullptr ? fresh : *cache;
  const Layout& layout = job.layout;
  StepTimes times;
  times.micro_batches = job.global_batch / (job.micro_batch * layout.dp);
  const auto micro_batches = static_cast<double>(times.micro_batches);

  const std::int64_t moe = job.model.moe_layers();
  const std::array<std::int64_t, 2> layers{job.model.layers - moe, moe};
  for (const LayerKind kind : kinds) {
    const auto count = static_cast<double>(layers[at(kind)]);
    if (count == 0.0) continue;
    const Traffic traffic{framework, job, communication, count / layout.pp * micro_batches};
    times.layer[at(kind)] = layer_times(kernels, traffic, kind, known, include);
    if (leaves_wide(job))
      times.layer[at(kind)].wide = wide_work(kernels, framework, job, kind, known);
  }
  const LayerKind last = moe > 0 ? LayerKind::experts : LayerKind::dense;
  times.head = known.head(kernels, framework, job, times.layer[at(last)].work, last);
  if (job.model.mtp_layers > 0) {
    const Seconds exchanged =
        times.layer[at(last)].communication() * static_cast<double>(job.model.mtp_layers);
    times.head.prediction.forward += exchanged / 2.0;
    times.head.prediction.backward += exchanged / 2.0;
  }
  const Traffic once{framework, job, communication, micro_batches};
  times.head_shard = head_shard(once, times.head);
  times.stages = stage_times(framework, job, times);

  play_schedule(job, times);

  // Forward and backward, each chunk; the fill and drain ones are not hidden.
  const double steady_transfers = layout.pp > 1 ? 2.0 * layout.vp * micro_batches : 0.0;
  const double fill_transfers = 2.0 * (layout.pp - 1.0);
  times.pp_transfer = pp_transfer(once, steady_transfers);
  times.pp = times.pp_transfer.time * steady_transfers + times.pp_transfer.whole * fill_transfers;

  times.parameters = most_parameters(job, times.stages);
  const Traffic step{framework, job, communication, 1.0};
  times.dp = dp_exposed(step, times.parameters);
  times.optimizer = optimizer_time(kernels, framework, job, times.parameters);
  times.overhead = framework.step_overhead;
  return times;
}

Seconds least_step(const compute::Kernels& kernels, const Framework& framework, const Job& job,
                   LayerCache& cache) {
  StepTimes times;
  times.micro_batches = job.global_batch / (job.micro_batch * job.layout.dp);
  const std::int64_t moe = job.model.moe_layers();
  const std::array<std::int64_t, 2> layers{job.model.layers - moe, moe};
  for (const LayerKind kind : kinds) {
    if (layers[at(kind)] == 0) continue;
    times.layer[at(kind)].work = cache.layer(kernels, framework, job, kind);
    times.layer[at(kind)].host = host_time(framework, job, kind);
    if (leaves_wide(job))
      times.layer[at(kind)].wide = wide_work(kernels, framework, job, kind, cache);
  }
  const LayerKind last = moe > 0 ? LayerKind::experts : LayerKind::dense;
  times.head = cache.head(kernels, framework, job, times.layer[at(last)].work, last);
  times.stages = stage_times(framework, job, times);
  play_schedule(job, times);
  return times.pipeline.steady + times.pipeline.bubble + framework.step_overhead;
}

}  // namespace flowplan::training
