#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/storage.hpp"
#include "flowplan/estimate/breakdown.hpp"
#include "flowplan/storage/answer.hpp"
#include "flowplan/storage/checkpoint.hpp"
#include "flowplan/storage/cost.hpp"
#include "flowplan/storage/interference.hpp"
#include "flowplan/storage/repository.hpp"

namespace flowplan::scenario {

/// `storage.dataset`: what the run reads.
struct DatasetSection {
  storage::Mount mount;
  double bytes_per_token = 4.0;
  std::optional<Bytes> sample;  ///< of a sequence, instead: images, video
  Bytes file{};                 ///< of a shuffled object; 0: large sequential ones
  std::optional<Bytes> bytes;   ///< of the whole; nothing: as much as the run reads
  double objects = 0.0;         ///< that it is in; 0: large ones
  bool lazy_load = false;       ///< stands in S3, comes at the first read
  storage::RepositoryRates rates;
  const catalog::DataLoader* loader = nullptr;
};

/// `storage.checkpoint`: what the run saves.
struct SavesSection {
  storage::Mount mount;
  storage::SaveMode mode = storage::SaveMode::async;
  bool local = false;                ///< local disks first
  bool exported = false;             ///< to S3 afterwards
  BytesPerSecond export_rate{};      ///< 0: the catalog's
  std::optional<Bytes> bytes;        ///< nothing: weights, master copy, moments
  std::optional<Bytes> host_memory;  ///< of a node, that staging may count on; nothing: its own
  int copies = 1;
  double weight_readers = 1.0;
  const catalog::DataLoader* saver = nullptr;
  std::optional<Seconds> every;  ///< computing between saves, where `operations` does not say
  std::optional<std::int64_t> every_steps;
};

/// `storage.weights`: what a serving engine reads when it starts.
struct WeightsSection {
  storage::Mount mount;
  const catalog::DataLoader* loader = nullptr;
  std::optional<Seconds> engine_start;  ///< beside reading
  bool presharded = true;               ///< a file for each rank
};

/// `storage`: where the run's data is and its checkpoints go; of serving, its weights.
struct StorageSection {
  std::optional<DatasetSection> dataset;
  std::optional<SavesSection> checkpoint;
  std::optional<WeightsSection> weights;
};

/// What reading and saving make of a run.
struct StorageAnswer {
  bool fits = true;
  std::string does_not_fit;  ///< why; empty when it fits
  std::string binding;       ///< "host_memory", "local_disks" or "store"; empty when it fits

  std::string dataset_mount;
  std::optional<storage::Transfer> data;        ///< of one step, all nodes; of the first epoch's
  std::optional<storage::Transfer> later_data;  ///< of later epochs, where the first is lazy
  double first_epoch_steps = 0.0;               ///< lazy ones; 0: not known, or none
  Seconds data_stall{};                         ///< of a step, mean over the run

  std::string checkpoint_mount;
  std::optional<storage::CheckpointTimes> checkpoint;
  bool counted_by_operations = false;  ///< the stall is: then it is not in the step
  double interval_steps = 0.0;         ///< between saves; 0 when operations decides
  Seconds checkpoint_stall{};          ///< of a step, mean
  storage::Interference background;    ///< the persisting beside training
  bool shares_devices = false;         ///< the checkpoint goes over the devices of collectives
  Seconds background_stall{};          ///< of a step, mean

  Seconds step{};            ///< with all of it
  Seconds step_computing{};  ///< without
  Breakdown time;            ///< the parts that are added to the step
  bool io_bound = false;     ///< the step waits for data, or mostly for storage
  std::optional<storage::Cost> month;
  std::vector<Warning> warnings;
};

}  // namespace flowplan::scenario
