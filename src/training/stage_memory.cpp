#include "stage_memory.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "flowplan/model/memory.hpp"
#include "flowplan/training/schedule.hpp"
#include "layer.hpp"

namespace flowplan::training {

namespace {

model::Recomputation recomputation_of(Recompute recompute) {
  switch (recompute) {
    case Recompute::none:
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

LayerActivations layer_activations(const Framework& framework, const Job& job) {
  model::ActivationSetting setting = activation_setting(framework, job);
  LayerActivations result;
  result.kept = model::activation_bytes(job.model, job.seq_len, job.micro_batch, setting).total();
  if (job.recompute == Recompute::full) {
    setting.recompute = model::Recomputation::none;
    result.working_set =
        model::activation_bytes(job.model, job.seq_len, job.micro_batch, setting).total();
  }
  return result;
}

model::StateBytes state_bytes(const Framework& framework, const Job& job) {
  model::StateFormat format =
      job.precision == model::Precision::fp16 ? model::fp16_states() : model::bf16_states();
  if (job.precision != model::Precision::fp16) format.gradient = framework.gradient_bytes;
  const bool sharded = job.sharding == Sharding::distributed_optimizer;
  return model::state_bytes_per_parameter(
      format, sharded ? model::StateSharding::optimizer : model::StateSharding::none,
      static_cast<double>(job.layout.dp) * job.layout.cp);
}

double stage_parameters(const Job& job, std::size_t stage, std::int64_t layers) {
  const auto stages = static_cast<std::size_t>(job.layout.pp);
  double parameters = layer_parameters_per_rank(job) * static_cast<double>(layers);
  const double vocabulary = vocabulary_parameters_per_rank(job);
  const bool first = stage == 0, last = stage + 1 == stages;
  if (first) parameters += vocabulary;
  // A tied output on another stage than the embedding is a copy of it.
  if (last && !(first && job.model.tied_embeddings)) parameters += vocabulary;
  return parameters;
}

std::pair<std::string_view, Bytes> largest_term(const StageMemory& m) {
  const std::array<std::pair<std::string_view, Bytes>, 6> terms{{{"weights", m.weights},
                                                                 {"gradients", m.gradients},
                                                                 {"optimizer states", m.optimizer},
                                                                 {"activations", m.activations},
                                                                 {"logits", m.logits},
                                                                 {"workspace", m.workspace}}};
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

}  // namespace

Bytes StageMemory::total() const {
  return weights + gradients + optimizer + activations + logits + workspace;
}

const StageMemory& MemoryUse::peak() const {
  FLOWPLAN_ASSERT(!stages.empty());
  return *std::max_element(
      stages.begin(), stages.end(),
      [](const StageMemory& a, const StageMemory& b) { return a.total() < b.total(); });
}

MemoryUse memory_use(const Framework& framework, const Job& job, Bytes hbm) {
  const Layout& layout = job.layout;
  const auto layers = stage_layers(job.model.layers, layout.pp, layout.vp);
  FLOWPLAN_ASSERT(layers.has_value());
  const std::int64_t micro_batches = job.global_batch / (job.micro_batch * layout.dp);
  const auto schedule = layout.vp > 1 ? model::PipelineSchedule::interleaved
                                      : model::PipelineSchedule::one_forward_one_backward;
  const LayerActivations activations = layer_activations(framework, job);
  const model::StateBytes states = state_bytes(framework, job);

  MemoryUse use;
  use.hbm = hbm;
  for (std::size_t i = 0; i < layers->size(); ++i) {
    const std::int64_t count = (*layers)[i];
    const double parameters = stage_parameters(job, i, count);
    StageMemory stage;
    stage.stage = static_cast<int>(i);
    stage.weights = Bytes(states.weights * parameters);
    stage.gradients = Bytes(states.gradients * parameters);
    stage.optimizer = Bytes(states.optimizer * parameters);
    const double in_flight =
        model::in_flight_micro_batches(schedule, stage.stage, layout.pp, layout.vp, micro_batches);
    stage.activations =
        activations.kept * (static_cast<double>(count) * in_flight) + activations.working_set;
    if (i + 1 == layers->size()) {
      stage.logits =
          model::logits_bytes(job.model, job.seq_len, job.micro_batch, layout.tp, layout.cp);
    }
    stage.workspace = framework.cuda_context + framework.communication_buffers;
    stage.workspace += stage.total() * framework.fragmentation;
    use.stages.push_back(stage);
  }
  use.fits = use.peak().total() <= hbm;
  if (!use.fits) use.does_not_fit = explain(use);
  return use;
}

}  // namespace flowplan::training
