#pragma once

#include <optional>

#include "flowplan/inference/serve.hpp"
#include "flowplan/posttraining/asynchronous.hpp"
#include "flowplan/posttraining/rollout.hpp"
#include "flowplan/posttraining/samples.hpp"

namespace flowplan::posttraining {

/// What a step asked of its engines and what came of it, for steps that differ a little: what they
/// ask in the same words is not played again.
struct Played {
  inference::Fleet fleet;
  RolloutLoad load;
  RolloutEnd end;
  Verifier verifier;
  Rollout rollout;
  std::optional<Overlap> overlap;  ///< where both pools run at the same time
  OverlapRun overlapped;
};

/// `run_rollout`, or what `known` (may be null) has of the same.
[[nodiscard]] Result<Rollout> rollout_by(const Played* known, const inference::Fleet& fleet,
                                         const RolloutLoad& load, const RolloutEnd& end,
                                         const Verifier& verifier);
/// `run_overlapped`, or what `known` (may be null) has of the same; of another overlap or engine it
/// says where to begin.
[[nodiscard]] Result<OverlapRun> overlapped_by(const Played* known, const inference::Fleet& fleet,
                                               const RolloutLoad& load, const Overlap& overlap);

}  // namespace flowplan::posttraining
