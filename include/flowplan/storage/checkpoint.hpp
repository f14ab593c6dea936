#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/model/memory.hpp"
#include "flowplan/storage/mount.hpp"
#include "flowplan/storage/transfer.hpp"

namespace flowplan::storage {

/// Bytes that a checkpoint keeps of a parameter: weights, their fp32 master copy and the moments;
/// gradients are not saved. bf16 with fp32 Adam: 14. `weights_only`: the weights.
[[nodiscard]] double checkpoint_bytes_per_parameter(const model::StateFormat& format,
                                                    bool weights_only = false);

/// `sync`: training waits until the store has everything. `async`: it waits for the copy into host
/// memory; the rest happens behind it.
enum class SaveMode { sync, async };
[[nodiscard]] std::string_view name(SaveMode mode);
[[nodiscard]] std::optional<SaveMode> find_save_mode(std::string_view name);

/// A checkpoint and where it goes.
struct CheckpointPlan {
  Bytes bytes{};  ///< of the whole checkpoint
  SaveMode mode = SaveMode::sync;
  Mount store;                                 ///< where it is safe
  std::optional<Mount> first;                  ///< local disks that take it before the store
  std::optional<Mount> export_to;              ///< an object store it is copied to afterwards
  bool sharded = true;                         ///< every node writes its part; false: one all of it
  int staged_copies = 1;                       ///< in host memory at a time (async), >= 1
  const catalog::DataLoader* saver = nullptr;  ///< null: no cap of its own
  /// Replicas that each read the weights at a restore, instead of one that hands them on, >= 1.
  double weight_readers = 1.0;
  Bytes weights{};               ///< the part of `bytes` that is weights; for `weight_readers`
  BytesPerSecond export_rate{};  ///< of the file system's link to S3; 0: the catalog's default
};

/// What a checkpoint costs. All times in seconds of wall clock, alone on the links.
struct CheckpointTimes {
  Bytes bytes{};                    ///< of the whole checkpoint
  Bytes per_node{};                 ///< that one node writes
  Seconds stall{};                  ///< that training waits for a save
  Seconds persist{};                ///< from the start of a save until the store has everything
  std::optional<Seconds> exported;  ///< until the object store has it
  Seconds restore{};                ///< from the store into the GPUs of all nodes
  std::optional<Seconds> restore_local;  ///< from the tier inside the nodes, where all survived
  std::string save_limit, save_next, restore_limit, restore_next;  ///< binding and next limits
  Seconds save_next_time{}, restore_next_time{};  ///< persist, restore: were the binding one lifted
  Breakdown stall_time, persist_time, restore_time;
  std::vector<LimitUse> save_limits, restore_limits;
  Bytes staged{};             ///< host memory of one node that staging takes
  std::optional<Bytes> room;  ///< that it may take; nothing: not known
  bool fits = true;           ///< when it does not, times are those of no save that can happen: 0
  std::string does_not_fit;   ///< why, with numbers
  std::vector<Warning> warnings;
};

/// Times of saving and restoring. Staging is held against host memory (and the first tier against
/// its disks) before any timing. Errors: those of `path()` for each mount; FP063 for no bytes.
[[nodiscard]] Result<CheckpointTimes> checkpoint(const Clients& clients,
                                                 const CheckpointPlan& plan);

}  // namespace flowplan::storage
