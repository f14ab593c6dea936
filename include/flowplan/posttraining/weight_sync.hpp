#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/storage/mount.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::posttraining {

/// How new weights get from the trainer to the engines. `broadcast`: tensor after tensor is
/// gathered from the trainer's shards and sent whole to every rollout GPU, which keeps its part
/// (what frameworks do by default). `reshard`: every rollout GPU gets its own shard only, straight
/// from GPUs that hold it. `storage`: written once, read by every replica.
enum class SyncPath { broadcast, reshard, storage };
[[nodiscard]] std::string_view name(SyncPath path);

/// Whose weights go where.
struct WeightSync {
  SyncPath path = SyncPath::broadcast;
  const model::Transformer* model = nullptr;
  double weight_bytes = 2.0;  ///< of a parameter as it is sent
  training::Layout trainer;
  training::Sharding sharding{};
  inference::Layout engine;                                 ///< of a replica
  std::vector<topology::GpuId> trainer_gpus, rollout_gpus;  ///< the same ones where colocated
  Seconds per_tensor{};  ///< host time of a tensor: naming, slicing, loading it
  Seconds per_tensor_least{}, per_tensor_most{};  ///< ends of what was measured
  const storage::Mount* mount = nullptr;          ///< of `storage`
};

/// Tensors of a model as checkpoints name them: each expert's matrices are tensors of their own.
[[nodiscard]] double tensor_count(const model::Transformer& model);

struct SyncTime {
  Seconds time{};           ///< sum of the parts of the breakdown
  Seconds least{}, most{};  ///< with the ends of what was measured of a tensor
  Bytes moved{};            ///< into all rollout GPUs
  /// Bytes on the wire over all links of a tier; not known of `storage`.
  std::vector<std::pair<topology::Tier, Bytes>> carried;
  Breakdown parts;
};

/// Time of one synchronisation, gathering and sending one after the other, tensor by tensor.
/// Errors: those of the collectives and of storage; FP063 for `storage` without a mount.
[[nodiscard]] Result<SyncTime> sync_time(const catalog::Catalog& catalog,
                                         const topology::Cluster& cluster, const WeightSync& sync);

}  // namespace flowplan::posttraining
