#pragma once

#include <cstdint>
#include <span>

#include "flowplan/training/schedule.hpp"

namespace flowplan::training {

/// How long DualPipe takes for `micro_batches` on at least two stages, transfers left out: its
/// program's passes one after the other, each when what it needs is there. As
/// `dual_pipe_program`.
[[nodiscard]] Seconds dual_pipe_flush(std::span<const StagePass> stage, std::int64_t micro_batches);

}  // namespace flowplan::training
