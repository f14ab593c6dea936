#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/storage/answer.hpp"
#include "flowplan/storage/path.hpp"

namespace flowplan::storage {

/// Replicas of an inference engine that start and read their weights.
struct LoadPlan {
  Bytes weights{};         ///< of the model, > 0
  int ranks = 1;           ///< GPUs of a replica (TP x PP), >= 1
  bool presharded = true;  ///< a file for each rank; false: every rank reads the whole
  Mount store;
  const catalog::DataLoader* loader = nullptr;
  Seconds engine_start{};  ///< beside reading
};

/// Time until all replicas that fit on the nodes are ready. `bytes` is what they keep; details:
/// what the store delivers (unsharded: `ranks` times as much), replicas. Weights that several
/// replicas read and that fit into the file servers' memory touch the disks once. Not feasible
/// where a rank's part exceeds its GPU. Errors: those of `path`; FP063 for ranks that do not divide
/// the GPUs.
[[nodiscard]] Result<Answer> load_model(const Clients& clients, const LoadPlan& plan);

}  // namespace flowplan::storage
