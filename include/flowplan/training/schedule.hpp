#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan::training {

/// Layers of each pipeline stage: all the same when pp * vp divides them; one less on the first and
/// the last stage when it divides layers + 2 (embedding and output head each take the place of a
/// layer). Nothing when neither does, or a stage would be empty.
[[nodiscard]] std::optional<std::vector<std::int64_t>> stage_layers(std::int64_t layers, int pp,
                                                                    int vp);

/// One pipeline flush (1F1B; interleaved with `vp` > 1).
struct PipelineTime {
  std::size_t slowest = 0;  ///< stage; the last of equals
  Seconds steady{};         ///< micro-batches times the slowest stage
  Seconds bubble{};         ///< the slowest stage's idle time: fill and drain of the others
};

/// `stage[i]`: forward and backward time of stage i for one micro-batch, at least one stage;
/// micro_batches >= 1. Equal stages give the bubble fraction (p - 1) / (m * v). Exact for 1F1B with
/// any stage times; transfers between stages are not in it.
[[nodiscard]] PipelineTime pipeline_time(std::span<const Seconds> stage, std::int64_t micro_batches,
                                         int vp);

}  // namespace flowplan::training
