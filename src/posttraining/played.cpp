#include "flowplan/posttraining/played.hpp"

namespace flowplan::posttraining {

Result<Rollout> rollout_by(const Played* known, const inference::Fleet& fleet,
                           const RolloutLoad& load, const RolloutEnd& end,
                           const Verifier& verifier) {
  if (known != nullptr && known->load == load && known->end == end && known->verifier == verifier &&
      known->fleet == fleet)
    return known->rollout;
  return run_rollout(fleet, load, end, verifier);
}

Result<OverlapRun> overlapped_by(const Played* known, const inference::Fleet& fleet,
                                 const RolloutLoad& load, const Overlap& overlap) {
  if (known == nullptr || !known->overlap) return run_overlapped(fleet, load, overlap);
  if (known->load == load && *known->overlap == overlap && known->fleet == fleet)
    return known->overlapped;
  return run_overlapped(fleet, load, overlap, known->overlapped.times);
}

}  // namespace flowplan::posttraining
