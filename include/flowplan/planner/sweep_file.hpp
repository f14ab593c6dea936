#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/planner/sweep.hpp"

namespace flowplan::planner {

/// What rows of a sweep belong to; the first line of their file. The same for every shard.
struct SweepHead {
  std::string name;  ///< of the scenario; may be empty
  std::string program_version, catalog_version;
  std::string scenario_hash;  ///< 64-bit FNV-1a over the scenario and the grid, as hex
  Grid grid;
};

/// The head of a sweep of `scenario` (after --set) over `grid`.
[[nodiscard]] SweepHead sweep_head(const JsonDocument& scenario, Grid grid,
                                   std::string program_version, std::string catalog_version);

/// One line of JSON each, without its end. Rows repeat what their point sets, so that a line can be
/// read alone.
[[nodiscard]] std::string head_line(const SweepHead& head);
[[nodiscard]] std::string row_line(const SweepRow& row, const Grid& grid);

/// A file of rows, possibly cut off in the middle of a line.
struct SweepFile {
  std::string file;
  std::string head;                   ///< its first line; empty when not even that is complete
  std::vector<std::uint64_t> points;  ///< of each row, in the file's order
  std::vector<std::string> lines;     ///< of each row
  std::size_t complete_bytes = 0;     ///< up to the end of the last complete line
};

/// Reads a file of rows. A last line without its end is left out. Errors FP001, FP002; FP016 when
/// it is no such file; FP022 for a line that is no row, with its place.
[[nodiscard]] Result<SweepFile> read_sweep_file(const std::string& path);
/// The head that a first line states, the row of a line; as `head_line` and `row_line` wrote them.
[[nodiscard]] Result<SweepHead> parse_head(const SweepFile& file);
[[nodiscard]] SweepRow parse_row(std::string_view line);

/// How many rows of `shard` stand in a file that is to be continued. Errors: FP083 when its head is
/// another than `head`, or its rows are not the first of that shard.
[[nodiscard]] Result<std::uint64_t> rows_done(const SweepFile& file, const std::string& head,
                                              Shard shard);

/// The lines of all shards, head first, in the order of their points: what one sweep of the whole
/// grid writes. Errors FP083: heads differ, a point stands twice or is missing.
[[nodiscard]] Result<std::string> merge_sweeps(const std::vector<SweepFile>& shards);

}  // namespace flowplan::planner
