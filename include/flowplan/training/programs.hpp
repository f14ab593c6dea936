#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// A part of a stage's work on one micro-batch. `backward` is `input` and `weight` in one.
enum class PassPart { forward, backward, input, weight };

/// One pass of a pipeline rank's program.
struct Pass {
  PassPart part{};
  int chunk = 0;                 ///< virtual stage of the rank
  std::int64_t micro_batch = 0;  ///< of its direction
  /// DualPipe: 0 for micro-batches that enter at rank 0, 1 for those that enter at the last rank,
  /// to which rank r is stage pp - 1 - r.
  int direction = 0;
  /// It and the next one overlap: what either makes is there when both are done.
  bool with_next = false;
};

/// The order of a rank's passes for `micro_batches` in all, schedule by schedule:
/// - 1F1B, or Megatron's interleaved form of it where there are virtual stages;
/// - ZB-H1 (Qi et al. 2023, arXiv 2401.10241, section 2.3): 1F1B with weight gradients apart, rank
///   r's delayed by r micro-batches, so that every rank holds as many;
/// - DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1) as its authors' code orders it
///   (deepseek-ai/DualPipe, eight steps); a forward and a backward pass that overlap take as long
///   as both.
[[nodiscard]] std::vector<Pass> program_of(const Job& job, int rank, std::int64_t micro_batches);
/// That of DualPipe: `stages` even, `micro_batches` even and at least 2 stages.
[[nodiscard]] std::vector<Pass> dual_pipe_program(int rank, int stages, std::int64_t micro_batches);

}  // namespace flowplan::training
