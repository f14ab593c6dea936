#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan::training {

/// `one_forward_one_backward` is interleaved where there are virtual stages. `zero_bubble_1`: ZB-H1
/// (Qi 2023), weight gradients fill the drain. `dual_pipe`: micro-batches enter at both ends, each
/// rank holds two stages (DeepSeek-V3).
enum class Schedule { one_forward_one_backward, zero_bubble_1, dual_pipe };
[[nodiscard]] std::string_view name(Schedule schedule);

/// Layers of each pipeline stage: all the same when pp * vp divides them; one less on the first and
/// the last stage when it divides layers + 2 (embedding and output head each take the place of a
/// layer). Nothing when neither does, or a stage would be empty.
[[nodiscard]] std::optional<std::vector<std::int64_t>> stage_layers(std::int64_t layers, int pp,
                                                                    int vp);
/// Chunks as even as they can be, embedding, head and `prediction_modules` taking a layer's place
/// each. Nothing when a chunk would have no place.
[[nodiscard]] std::optional<std::vector<std::int64_t>> uneven_stage_layers(
    std::int64_t layers, int pp, int vp, std::int64_t prediction_modules);

/// A stage's time for one micro-batch.
struct StagePass {
  Seconds forward{}, backward{};
  Seconds weight{};  ///< the part of `backward` that makes weight gradients
  [[nodiscard]] Seconds total() const { return forward + backward; }
};

/// One pipeline flush.
struct PipelineTime {
  std::size_t slowest = 0;  ///< stage, or DualPipe's rank; the last of equals
  Seconds steady{};         ///< micro-batches times the slowest stage
  Seconds bubble{};         ///< the slowest stage's idle time: fill and drain of the others
};

/// `stage[i]`: stage i's time for one micro-batch, at least one stage; micro_batches >= 1. Equal
/// stages give the bubble fraction (p - 1) / (m * v) of 1F1B; ZB-H1 takes twice the weight
/// gradients off each stage of it. DualPipe, of an even number of stages, is played through for its
/// fewest micro-batches, 2 p; with B = 2 F and W = F that gives its authors' (p / 2 - 1)(F + 2 B -
/// 3 W). Exact for 1F1B with any stage times; transfers between stages are not in it.
[[nodiscard]] PipelineTime pipeline_time(std::span<const StagePass> stage,
                                         std::int64_t micro_batches, int vp,
                                         Schedule schedule = Schedule::one_forward_one_backward);
[[nodiscard]] PipelineTime pipeline_time(std::span<const Seconds> stage, std::int64_t micro_batches,
                                         int vp);

}  // namespace flowplan::training
