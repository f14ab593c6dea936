#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "communication.hpp"
#include "exposed.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/training/schedule.hpp"
#include "layer.hpp"

namespace flowplan::training {

/// Everything that one layer of a kind costs for one micro-batch.
struct LayerTimes {
  LayerWork work;
  LayerWork wide;  ///< of a layer that a narrow recipe leaves in 16 bits, where there are some
  Exposed tp, cp, ep, shard;
  Seconds host{};
  Seconds offload{};  ///< what moving its activations to the host and back costs, where it does so
  [[nodiscard]] Seconds communication() const { return tp.time + cp.time + ep.time + shard.time; }
  [[nodiscard]] Seconds gpu() const {
    return work.forward() + work.backward() + work.recomputed + communication();
  }
};

/// One pipeline stage's time for one micro-batch, before any schedule.
struct StageTime {
  std::array<double, 2> layers{};  ///< by kind
  Seconds layer_work{};            ///< GPU and exposed communication of its layers
  Seconds offload{};               ///< part of it: activations moved to the host and back
  Seconds wide{};                  ///< part of it: what its layers in 16 bits take more
  Seconds host_excess{};           ///< what the host side adds to it
  Seconds head{};                  ///< of the last stage
  double head_share = 0.0;         ///< 1: it has the output head
  StagePass pass;                  ///< all of it
  [[nodiscard]] Seconds total() const { return layer_work + host_excess + head; }
  /// Makes `count` of its layers as wide as `layer.wide`.
  void add_wide(const LayerTimes& layer, double count);
};

/// Everything a step is made of: work of one micro-batch, times of the stages, of the schedule and
/// of what happens once a step. The breakdown is written from it, and so is a task graph.
struct StepTimes {
  std::int64_t micro_batches = 0;
  std::array<LayerTimes, 2> layer;  ///< by kind; zero where the model has none
  HeadWork head;
  Exposed head_shard;   ///< gathering embedding and output weights, a micro-batch
  Exposed pp_transfer;  ///< one transfer; `time` is the exposed part of it in the steady state
  std::vector<StageTime> stages;
  PipelineTime pipeline;
  StageTime busiest;  ///< what the slowest rank does for a micro-batch: of its two stages the mean
  Seconds pp{};       ///< a step
  Exposed dp;         ///< a step
  LayerParameters parameters;  ///< of the most loaded rank
  Seconds optimizer{};
  Seconds overhead{};

  [[nodiscard]] Seconds step() const {
    return pipeline.steady + pipeline.bubble + pp + dp.time + optimizer + overhead;
  }
};

/// Layers of each stage, as the job wants them. The layout has been checked.
[[nodiscard]] std::vector<std::int64_t> layers_of_stages(const Job& job);
/// How many layers of a stage are of each kind, when the stages have `layers`.
[[nodiscard]] std::vector<std::array<double, 2>> kinds_of_stages(
    const Job& job, std::span<const std::int64_t> layers);

/// Whether some layers stay in 16 bits though the others do not.
[[nodiscard]] bool leaves_wide(const Job& job);
/// How many layers of a stage these are, by kind.
[[nodiscard]] std::vector<std::array<double, 2>> wide_of_stages(
    const Job& job, std::span<const std::int64_t> layers);

/// One stage's forward pass of a micro-batch when nothing follows it: the host launches a third of
/// a step's kernels. `norm` joins GPU and host time.
[[nodiscard]] Seconds forward_alone(const StageTime& stage, double norm);

/// What `step_times` asks kernels for: remembers layers, so that jobs that share a layer's shape
/// share its times. For jobs of one model, sequence length, precision and framework.
class LayerCache;

/// What of a step to count: all, or all but context-parallel traffic.
enum class Include { all, no_context };

/// Times of a checked job. Failed predictions are in `communication.errors()`.
[[nodiscard]] StepTimes step_times(const compute::Kernels& kernels, const Framework& framework,
                                   const Job& job, Communication& communication,
                                   LayerCache* cache = nullptr, Include include = Include::all);

/// The step of a checked job as if nothing had to be communicated: never more than the step of
/// `step_times`.
[[nodiscard]] Seconds least_step(const compute::Kernels& kernels, const Framework& framework,
                                 const Job& job, LayerCache& cache);

/// The step taken apart; leaves sum to `times.step()`.
[[nodiscard]] Breakdown breakdown(const StepTimes& times, const Job& job);

}  // namespace flowplan::training
