#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// What a pipeline rank does for a while.
struct TimelineSpan {
  /// `weight`: gradients of weights, where a schedule has them apart.
  enum class What { forward, backward, weight, gradients, optimizer, overhead };
  What what{};
  int rank = 0;                  ///< of the pipeline, 0 .. pp - 1
  int chunk = 0;                 ///< virtual stage of the rank, of passes
  std::int64_t micro_batch = 0;  ///< of passes, within their direction
  int direction = 0;             ///< of passes: 1 for DualPipe's second
  Seconds from{}, to{};
};

/// One step of one pipeline: passes as they are played through, then what ends the step. In the
/// order in which they were added, per rank by time.
struct StepTimeline {
  std::vector<TimelineSpan> spans;
  Seconds end{};
};

/// Plays the step of a job through. Errors as `estimate`.
[[nodiscard]] Result<StepTimeline> step_timeline(const catalog::Catalog& catalog,
                                                 const topology::Cluster& cluster, const Job& job);

}  // namespace flowplan::training
