#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "communication.hpp"
#include "flowplan/training/schedule.hpp"
#include "layer.hpp"

namespace flowplan::training {

/// One pipeline stage's time for one micro-batch, before any schedule.
struct StageTime {
  double layers = 0;
  Seconds layer_work{};   ///< GPU and exposed TP communication of its layers
  Seconds host_excess{};  ///< what the host side adds to it
  Seconds head{};         ///< of the last stage
  [[nodiscard]] Seconds total() const { return layer_work + host_excess + head; }
};

/// Exposed time of a kind of communication with what limits it.
struct Exposed {
  Seconds time{};    ///< exposed, of the unit that the name says
  Seconds whole{};   ///< with nothing hidden
  double bytes = 0;  ///< of one operation, as nccl-tests counts
  std::string limit, next;
};

/// Everything a step is made of: work of one micro-batch, times of the stages, of the schedule and
/// of what happens once a step. The breakdown is written from it, and so would be a task graph.
struct StepTimes {
  std::int64_t micro_batches = 0;
  LayerWork layer;
  Seconds recomputed{};  ///< a layer and micro-batch
  HeadWork head;
  Exposed tp;           ///< a layer and micro-batch
  Exposed pp_transfer;  ///< one transfer; `time` is the exposed part of it in the steady state
  std::vector<StageTime> stages;
  PipelineTime pipeline;
  Seconds pp{};           ///< a step
  Exposed dp;             ///< a step
  double parameters = 0;  ///< of the most loaded rank
  Seconds optimizer{};
  Seconds overhead{};

  [[nodiscard]] const StageTime& slowest() const { return stages[pipeline.slowest]; }
  [[nodiscard]] Seconds step() const {
    return pipeline.steady + pipeline.bubble + pp + dp.time + optimizer + overhead;
  }
};

/// Times of a checked job. Failed predictions are in `communication.errors()`.
[[nodiscard]] StepTimes step_times(const compute::Kernels& kernels, const Framework& framework,
                                   const Job& job, Communication& communication);

/// The step taken apart; leaves sum to `times.step()`.
[[nodiscard]] Breakdown breakdown(const StepTimes& times, const Job& job);

}  // namespace flowplan::training
