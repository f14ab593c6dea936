#include "stage_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/model/memory.hpp"
#include "flowplan/training/schedule.hpp"
#include "states.hpp"
#include "step_times.hpp"

namespace flowplan::training {

namespace {

model::Recomputation recomputation_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
    case Recompute::operators:
      return model::Recomputation::none;
    case Recompute::selective:
      return model::Recomputation::selective;
    case Recompute::full:
      return model::Recomputation::full;
  }
  return model::Recomputation::none;
}

model::ActivationSetting activation_setting(const Framework& framework, const Job& job) {
  model::ActivationSetting setting;
  setting.tp = job.layout.tp;
  setting.cp = job.layout.cp;
  setting.sequence_parallel = job.layout.sequence_parallel;
  setting.recompute = recomputation_of(job.recompute);
  setting.fused_attention = framework.fused_attention;
  setting.dropout = framework.dropout && !job.model.gated_mlp;
  setting.expert_imbalance = std::max(1.0, job.routing.imbalance);
  // What narrow GEMMs keep for their weight gradients is the narrow copy of their input.
  const bool narrow =
      model::bytes_per_element(job.precision) < model::bytes_per_element(model::Precision::bf16);
  if (narrow) setting.gemm_inputs = job.precision;
  return setting;
}

/// Activations that one layer keeps for one micro-batch, and what recomputing one needs meanwhile.
struct LayerActivations {
  Bytes kept{};
  Bytes working_set{};
};

/// What selective recomputation leaves out, beyond the scores of attention.
Bytes recomputed_modules(const Job& job, const model::ActivationBytes& all, LayerKind kind) {
  if (job.recompute != Recompute::selective) return Bytes(0);
  const RecomputeModules& modules = job.modules;
  Bytes saved{};
  const double third = job.model.gated_mlp ? 1.0 / 3.0 : 0.5;  // the activation's output of an MLP
  if (kind == LayerKind::dense && modules.mlp) saved += all.mlp;
  if (kind == LayerKind::experts) {
    if (modules.experts) {
      saved += all.mlp;
    } else if (modules.expert_activation) {
      saved += all.mlp * third;
    }
  }
  if (modules.norms) saved += all.replicated / 2.0;
  if (modules.latent_up && job.model.latent_attention) saved += all.attention / 2.0;
  return saved;
}

LayerActivations layer_activations(const Framework& framework, const Job& job, LayerKind kind) {
  model::ActivationSetting setting = activation_setting(framework, job);
  const bool experts = kind == LayerKind::experts;
  const auto bytes = [&] {
    return model::activation_bytes(job.model, job.seq_len, job.micro_batch, setting, experts);
  };
  LayerActivations result;
  const model::ActivationBytes stored = bytes();
  result.kept = stored.total() - recomputed_modules(job, stored, kind);
  if (job.recompute == Recompute::operators) result.kept *= 1.0 - framework.operators_share;
  if (job.recompute == Recompute::full) {
    setting.recompute = model::Recomputation::none;
    result.working_set = bytes().total();
  }
  return result;
}

/// What a layer left in 16 bits keeps more than the others of its kind.
std::array<Bytes, 2> wide_activations(const Framework& framework, const Job& job,
                                      const std::array<Bytes, 2>& kept) {
  std::array<Bytes, 2> more{};
  if (!leaves_wide(job)) return more;
  Job wide = job;
  wide.precision = model::Precision::bf16;
  if (job.model.moe_layers() < job.model.layers)
    more[0] = layer_activations(framework, wide, LayerKind::dense).kept - kept[0];
  if (job.model.experts)
    more[1] = layer_activations(framework, wide, LayerKind::experts).kept - kept[1];
  return more;
}

/// What is kept in 16 bits though weights of layers are in 8: embedding and head, and the layers
/// left wide.
Bytes wide_weights(const Framework& framework, const Job& job, std::size_t stage,
                   const std::array<double, 2>& wide) {
  if (!job.states.narrow_weights || shards_weights(job.sharding)) return Bytes(0);
  constexpr double of_16_bits = 2.0;
  double count = 0.0;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::experts}) {
    const double layers = wide[static_cast<std::size_t>(kind)];
    if (layers > 0.0) count += layer_parameters_per_rank(job, kind).total() * layers;
  }
  const bool last = stage + 1 == static_cast<std::size_t>(job.layout.pp);
  count +=
      vocabulary_parameters_per_rank(job) *
      ((stage == 0 ? 1.0 : 0.0) + (last && !(stage == 0 && job.model.tied_embeddings) ? 1.0 : 0.0));
  return Bytes(count * (of_16_bits - state_format(framework, job).weight));
}

/// Bytes a parameter on one rank when `shards` ranks divide the states.
model::StateBytes state_bytes(const Framework& framework, const Job& job, double shards) {
  model::StateFormat format = state_format(framework, job);
  model::StateSharding sharding = model::StateSharding::none;
  switch (job.sharding) {
    case Sharding::none:
      break;
    case Sharding::distributed_optimizer:
      sharding = model::StateSharding::optimizer;
      break;
    case Sharding::zero2:
      sharding = model::StateSharding::gradients;
      break;
    case Sharding::fsdp:
    case Sharding::fsdp_no_reshard:
      sharding = model::StateSharding::weights;
      break;
  }
  // Sharded states are kept whole in fp32 instead of as a bf16 copy and a master.
  if (shards_weights(job.sharding)) {
    format.weight = 0.0;
    if (!job.states.gradient_bytes) format.gradient = 4.0;
  }
  return model::state_bytes_per_parameter(format, sharding, shards);
}

LayerParameters stage_parameters(const Job& job, std::size_t stage,
                                 const std::array<double, 2>& layers) {
  const auto stages = static_cast<std::size_t>(job.layout.pp);
  LayerParameters sum;
  for (const LayerKind kind : {LayerKind::dense, LayerKind::experts}) {
    const double count = layers[static_cast<std::size_t>(kind)];
    if (count == 0.0) continue;
    const LayerParameters one = layer_parameters_per_rank(job, kind);
    sum.common += one.common * count;
    sum.experts += one.experts * count;
  }
  const double vocabulary = vocabulary_parameters_per_rank(job);
  const bool first = stage == 0, last = stage + 1 == stages;
  if (first) sum.common += vocabulary;
  // A tied output on another stage than the embedding is a copy of it.
  if (last && !(first && job.model.tied_embeddings)) sum.common += vocabulary;
  if (last && job.model.mtp_layers > 0) {
    const LayerKind kind = job.model.experts ? LayerKind::experts : LayerKind::dense;
    const LayerParameters one = layer_parameters_per_rank(job, kind);
    const auto modules = static_cast<double>(job.model.mtp_layers);
    const auto h = static_cast<double>(job.model.hidden);
    sum.common += modules * (one.common + 2.0 * h * h);
    sum.experts += modules * one.experts;
  }
  return sum;
}

/// Weights, gradients and optimizer states of one stage.
void add_states(const Framework& framework, const Job& job, const LayerParameters& parameters,
                double layers, StageMemory& stage) {
  const StateShards shards = state_shards(job);
  const auto add = [&](double count, double ranks) {
    const model::StateBytes states = state_bytes(framework, job, ranks);
    stage.weights += Bytes(states.weights * count);
    stage.gradients += Bytes(states.gradients * count);
    stage.optimizer += Bytes(states.optimizer * count);
  };
  if (!job.adapters) {
    add(parameters.common, shards.common);
    add(parameters.experts, shards.experts);
  } else {
    const bool sharded = shards_weights(job.sharding);
    stage.weights +=
        Bytes(job.adapters->frozen_bytes * (parameters.common / (sharded ? shards.common : 1.0) +
                                            parameters.experts / (sharded ? shards.experts : 1.0)));
    add(adapter_parameters_per_rank(job) * layers, shards.common);
  }
}

/// FSDP's gathered weights: of the layer at work and the next one, or of all where they stay.
Bytes gathered(const Framework& framework, const Job& job, const LayerParameters& stage,
               double layers) {
  if (!shards_weights(job.sharding)) return Bytes(0);
  const double element = gather_bytes(framework, job);
  const bool stay = job.sharding == Sharding::fsdp_no_reshard || job.layout.pp > 1;
  if (stay) return Bytes(element * stage.total());
  constexpr double layers_at_once = 2.0;
  return Bytes(element * std::max(stage.total() / std::max(1.0, layers) * layers_at_once,
                                  vocabulary_parameters_per_rank(job)));
}

model::PipelineSchedule schedule_of(const Job& job) {
  switch (job.schedule) {
    case Schedule::zero_bubble_1:
      return model::PipelineSchedule::zero_bubble_1;
    case Schedule::dual_pipe:
      return model::PipelineSchedule::dual_pipe;
    case Schedule::one_forward_one_backward:
      break;
  }
  return job.layout.vp > 1 ? model::PipelineSchedule::interleaved
                           : model::PipelineSchedule::one_forward_one_backward;
}

std::pair<std::string_view, Bytes> largest_term(const StageMemory& m) {
  const std::array<std::pair<std::string_view, Bytes>, 8> terms{
      {{"weights", m.weights},
       {"gradients", m.gradients},
       {"optimizer states", m.optimizer},
       {"activations", m.activations},
       {"logits", m.logits},
       {"the CUDA context", m.context},
       {"NCCL's buffers", m.buffers},
       {"fragmentation", m.fragmentation}}};
  return *std::max_element(terms.begin(), terms.end(),
                           [](const auto& a, const auto& b) { return a.second < b.second; });
}

double gib(Bytes bytes) {
  return bytes.value() / gibibytes(1.0).value();
}

std::string explain(const MemoryUse& use) {
  const StageMemory& stage = use.peak();
  const auto [term, bytes] = largest_term(stage);
  return fmt::format("stage {} needs {:.1f} GiB of {:.1f} GiB; {} take most: {:.1f} GiB",
                     stage.stage, gib(stage.total()), gib(use.hbm), term, gib(bytes));
}

const StageMemory& fullest(const std::vector<StageMemory>& stages) {
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
}

std::vector<StageMemory> stages_of(const Framework& framework, const Job& job) {
  const Layout& layout = job.layout;
  const std::vector<std::int64_t> layers = layers_of_stages(job);
  const auto kinds = kinds_of_stages(job, layers);
  const std::int64_t micro_batches = job.global_batch / (job.micro_batch * layout.dp);
  const model::PipelineSchedule schedule = schedule_of(job);
  const bool has_dense = job.model.moe_layers() < job.model.layers;
  LayerActivations dense, experts;
  if (has_dense) dense = layer_activations(framework, job, LayerKind::dense);
  if (job.model.experts) experts = layer_activations(framework, job, LayerKind::experts);
  const auto wide = wide_of_stages(job, layers);
  const std::array<Bytes, 2> wider = wide_activations(framework, job, {dense.kept, experts.kept});

  std::vector<StageMemory> stages;
  stages.reserve(layers.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const auto count = static_cast<double>(layers[i]);
    LayerParameters parameters = stage_parameters(job, i, kinds[i]);
    if (job.schedule == Schedule::dual_pipe) {  // the stage at the other end as well
      const std::size_t mirror = layers.size() - 1 - i;
      const LayerParameters other = stage_parameters(job, mirror, kinds[mirror]);
      parameters.common += other.common;
      parameters.experts += other.experts;
    }
    StageMemory stage;
    stage.stage = static_cast<int>(i);
    add_states(framework, job, parameters, count, stage);
    stage.weights += gathered(framework, job, parameters, count);
    stage.weights += wide_weights(framework, job, i, wide[i]);
    const double in_flight =
        model::in_flight_micro_batches(schedule, stage.stage, layout.pp, layout.vp, micro_batches);
    const double on_gpu =
        1.0 - std::min(1.0, static_cast<double>(job.offload_layers) / std::max(1.0, count));
    stage.activations = (dense.kept * kinds[i][0] + experts.kept * kinds[i][1] +
                         wider[0] * wide[i][0] + wider[1] * wide[i][1]) *
                            (in_flight * on_gpu) +
                        std::max(dense.working_set, experts.working_set);
    if (i + 1 == layers.size()) {
      stage.logits =
          model::logits_bytes(job.model, job.seq_len, job.micro_batch, layout.tp, layout.cp);
    }
    stage.context = framework.cuda_context;
    stage.buffers = framework.communication_buffers;
    stage.fragmentation = stage.total() * framework.fragmentation;
    stages.push_back(stage);
  }
  return stages;
}

}  // namespace

Bytes StageMemory::total() const {
  return weights + gradients + optimizer + activations + logits + context + buffers + fragmentation;
}

bool StageMemory::same_as(const StageMemory& other) const {
  return weights == other.weights && gradients == other.gradients && optimizer == other.optimizer &&
         activations == other.activations && logits == other.logits && context == other.context &&
         buffers == other.buffers && fragmentation == other.fragmentation;
}

const StageMemory& MemoryUse::peak() const {
  FLOWPLAN_ASSERT(!stages.empty());
  return fullest(stages);
}

MemoryUse memory_use(const Framework& framework, const Job& job, Bytes hbm) {
  MemoryUse use;
  use.hbm = hbm;
  use.stages = stages_of(framework, job);
  use.fits = use.peak().total() <= hbm;
  if (!use.fits) use.does_not_fit = explain(use);
  return use;
}

Bytes kept_activations(const Framework& framework, const Job& job, LayerKind kind) {
  return layer_activations(framework, job, kind).kept;
}

PeakMemory peak_memory(const Framework& framework, const Job& job) {
  const std::vector<StageMemory> stages = stages_of(framework, job);
  const StageMemory& peak = fullest(stages);
  return {peak.total(), peak.stage};
}

std::string peak_moment(const Job& job, const MemoryUse& use) {
  const StageMemory& stage = use.peak();
  const std::int64_t micro_batches = job.global_batch / (job.micro_batch * job.layout.dp);
  const double in_flight = model::in_flight_micro_batches(
      schedule_of(job), stage.stage, job.layout.pp, job.layout.vp, micro_batches);
  if (stage.stage + 1 == job.layout.pp) {
    return fmt::format(
        "the loss of a micro-batch on stage {}: activations of {:.3g} micro-batch{} and the logits",
        stage.stage, in_flight, in_flight == 1.0 ? "" : "es");
  }
  return fmt::format("the first backward pass on stage {}: activations of {:.3g} micro-batch{}",
                     stage.stage, in_flight, in_flight == 1.0 ? "" : "es");
}

}  // namespace flowplan::training
