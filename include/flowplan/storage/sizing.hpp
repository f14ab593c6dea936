#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/storage/cost.hpp"
#include "flowplan/storage/mount.hpp"

namespace flowplan::storage {

/// How long something takes on a mount, and what binds.
struct Timed {
  Seconds time{};
  std::string limit, next;
  bool feasible = true;  ///< false: it does not fit there
};

/// A file system that is looked for.
struct SizingQuestion {
  Seconds target{};  ///< > 0
  Access access = Access::efa;
  Bytes holds{};  ///< what it has to have room for
  std::string region;
  std::function<Result<Timed>(const Mount&)> time;
};

/// The smallest file system of one type that meets the target.
struct SizingRow {
  Mount mount;
  std::uint64_t steps = 0;  ///< file servers, or steps of capacity
  bool meets = false;       ///< false: none of this type does; the row is the largest one looked at
  Timed timed;
  Cost month;
};

/// One row for each type of FSx for Lustre that can be reached so: those that meet the target
/// first, by what a month costs (known prices first), then by throughput. A type is searched by
/// bisection over its steps, as time never grows with them. Errors: those of `time`; FP063 for a
/// target that is not above 0.
[[nodiscard]] Result<std::vector<SizingRow>> size_file_system(const catalog::Catalog& catalog,
                                                              const SizingQuestion& question);

}  // namespace flowplan::storage
