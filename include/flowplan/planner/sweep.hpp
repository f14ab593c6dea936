#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/metric.hpp"
#include "flowplan/planner/grid.hpp"

namespace flowplan::planner {

/// The answer at one point of a grid.
struct SweepRow {
  enum class State { ok, does_not_fit, invalid };

  std::uint64_t point = 0;
  State state = State::ok;
  std::string reason;           ///< why it does not fit, or what is wrong; empty when ok
  std::vector<Metric> metrics;  ///< of the estimate, in its order; empty when invalid

  /// Null when the row does not have that metric.
  [[nodiscard]] const double* value(std::string_view metric) const;
};
[[nodiscard]] std::string_view name(SweepRow::State state);

/// A part of a grid: the points index, index + count, index + 2 count, ...
struct Shard {
  std::uint64_t index = 0;  ///< < count
  std::uint64_t count = 1;

  /// How many of `points` are in this shard, and the n-th of them.
  [[nodiscard]] std::uint64_t size(std::uint64_t points) const;
  [[nodiscard]] std::uint64_t point(std::uint64_t n) const { return index + n * count; }
};

/// Reads "i/n" with 0 <= i < n. Error FP090.
[[nodiscard]] Result<Shard> parse_shard(std::string_view text);

struct SweepOptions {
  Shard shard;
  std::uint64_t done = 0;  ///< points of the shard, from its first, that are not to be run again
  int threads = 0;         ///< 0: all
  std::string program_version;
};

/// Runs the scenario at every point of the shard, in parallel, and gives the rows to `sink` in
/// order, each as soon as it and all before it are there, from one thread at a time. A point that
/// is invalid or does not fit is a row, not an error. Errors: a path of the grid that `schema` does
/// not have (FP020).
[[nodiscard]] Result<void> sweep(const catalog::Catalog& catalog, const JsonDocument& scenario,
                                 const JsonDocument& schema, const Grid& grid,
                                 const SweepOptions& options,
                                 const std::function<void(const SweepRow&)>& sink);

}  // namespace flowplan::planner
