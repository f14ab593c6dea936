#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "flowplan/report/io.hpp"
#include "flowplan/storage/checkpoint.hpp"
#include "flowplan/storage/data_stream.hpp"
#include "flowplan/storage/model_load.hpp"
#include "flowplan/storage/mount.hpp"

namespace flowplan::cli {

/// What `flowplan io` moves.
enum class IoOperation {
  read,
  write,
  dataset,
  first_epoch,
  checkpoint,
  restore,
  load,
  import_data,
  export_data
};
[[nodiscard]] std::optional<IoOperation> find_io_operation(std::string_view name);

/// Everything that the options of `flowplan io` say, but for the mount itself.
struct IoRequest {
  IoOperation operation{};
  storage::Pattern pattern;  ///< of read and write
  Bytes bytes{};             ///< that are moved, all nodes together
  double objects = 0.0;      ///< that they are in; 0: large ones
  storage::CheckpointPlan checkpoint;
  storage::StreamPlan stream;
  storage::FirstEpoch first_epoch;
  storage::LoadPlan load;
  storage::RepositoryRates rates;
};

/// Reads the options. Errors FP090 for what is missing or does not go together, FP040 for
/// quantities, FP030 for names.
[[nodiscard]] Result<IoRequest> io_request(const Arguments& arguments,
                                           const catalog::Catalog& catalog,
                                           const storage::Clients& clients);
/// The mount that --storage, --capacity and so on describe; `read_as` says how the capacity was
/// read where that is not plain.
[[nodiscard]] Result<storage::Mount> io_mount(const Arguments& arguments,
                                              const catalog::Catalog& catalog,
                                              std::string& read_as);

/// Asks the storage module on one mount.
[[nodiscard]] Result<std::vector<report::IoPart>> io_parts(const storage::Clients& clients,
                                                           const IoRequest& request,
                                                           const storage::Mount& mount);

/// The options that both read.
[[nodiscard]] std::vector<Option> io_options();

}  // namespace flowplan::cli
