#pragma once

#include <optional>
#include <string_view>

#include "flowplan/base/result.hpp"
#include "flowplan/storage/answer.hpp"
#include "flowplan/storage/path.hpp"
#include "flowplan/storage/repository.hpp"

namespace flowplan::storage {

/// What one GPU eats.
struct DataDemand {
  Bytes sample{};               ///< > 0
  double samples_per_step = 0;  ///< > 0, of a GPU
  Seconds step{};               ///< > 0, computing alone
  double floor = 0.0;           ///< accelerator utilisation that a benchmark asks for; 0: none

  [[nodiscard]] BytesPerSecond per_gpu() const { return sample * samples_per_step / step; }
};

/// A workload of MLPerf Storage on an H100: "unet3d", "resnet50", "cosmoflow". Error FP030.
[[nodiscard]] Result<DataDemand> benchmark_demand(const catalog::Constants& defaults,
                                                  std::string_view name);

/// A dataset that is read while GPUs compute.
struct StreamPlan {
  Mount source;
  DataDemand demand;
  Bytes file{};                ///< of a shuffled object or file; 0: large sequential ones
  std::optional<Mount> cache;  ///< local disks that hold it after the first epoch
  Bytes dataset{};             ///< 0: endless
  const catalog::DataLoader* loader = nullptr;
};

/// What the source can deliver against what the GPUs eat. `time` is that of one step's data for all
/// GPUs; details: demand, supply, utilisation (computing over the step with its stall, as MLPerf
/// counts), GPUs that the source feeds. Not feasible where the dataset exceeds the cache. Errors:
/// those of `path`; FP063 for a demand that is not above 0.
[[nodiscard]] Result<Answer> stream(const Clients& clients, const StreamPlan& plan);

/// Seconds that a step waits for its data when loading is fully overlapped: what loading takes
/// beyond the computing.
[[nodiscard]] Seconds stall_per_step(const Transfer& data_of_step, Seconds computing);

/// The first epoch of data that stands in S3 and is read through a Lustre file system, whose
/// contents come at the first read.
struct FirstEpoch {
  Mount file_system;
  Bytes bytes{};       ///< of the dataset, > 0
  double objects = 0;  ///< that it is in; 0: large ones
  RepositoryRates rates;
  Seconds computing{};  ///< of the epoch, on all GPUs; 0: not asked
};
/// Time of the first epoch's reads; details: the later epochs', and with `computing` what the epoch
/// takes and its share of waiting.
[[nodiscard]] Result<Answer> first_epoch(const Clients& clients, const FirstEpoch& plan);

}  // namespace flowplan::storage
