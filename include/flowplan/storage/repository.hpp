#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/storage/answer.hpp"
#include "flowplan/storage/path.hpp"

namespace flowplan::storage {

/// What a file system's link to an object store moves. No service publishes these rates.
struct RepositoryRates {
  BytesPerSecond bytes{};      ///< 0: the share of the provisioned disks that one import reached
  double objects_per_s = 0.0;  ///< 0: what one import reached
};

/// Limits of the link of a Lustre file system to its object store, for data of so many objects:
/// max(bytes / bytes rate, objects / objects rate), and the store's requests. Warns where a rate
/// is the catalog's and not given.
void add_repository(const Clients& clients, const Mount& file_system, Direction direction,
                    const RepositoryRates& rates, Bytes bytes, double objects, Path& path);

/// An import (`read`: S3 to the file system) or export of data that no node waits for. Errors
/// FP063: the mount is not a Lustre file system, or there are no bytes; those of `check`.
[[nodiscard]] Result<Answer> move_repository(const Clients& clients, const Mount& file_system,
                                             Direction direction, const RepositoryRates& rates,
                                             Bytes bytes, double objects);

}  // namespace flowplan::storage
