#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::planner {

/// A value of a scenario and what it is to be in turn.
struct Axis {
  std::string path;                 ///< dotted: "workload.parallelism.tp"
  std::vector<std::string> values;  ///< JSON texts: "4", "\"p5.48xlarge\"", "true"; at least one
  Place place{};                    ///< where a scenario's file states it
};

/// All combinations of the axes' values. Point 0 has the first value of each; the last axis changes
/// fastest.
struct Grid {
  std::vector<Axis> axes;

  [[nodiscard]] std::uint64_t points() const;  ///< 1 without axes
  /// "path=value" for each axis, as `scenario::with_overrides` takes them; `point` < points().
  [[nodiscard]] std::vector<std::string> overrides(std::uint64_t point) const;
  /// Which value each axis has at a point.
  [[nodiscard]] std::vector<std::size_t> indices(std::uint64_t point) const;
};

/// Most points that a grid may have.
inline constexpr std::uint64_t most_points = 100'000'000;

/// Reads an axis as people type it. Errors: FP090.
///
///     cluster.count=16,32,64             a list
///     cluster.count=16:64:16             from 16 to 64 in steps of 16: 16, 32, 48, 64
///     cluster.count=8:64:x2              times 2: 8, 16, 32, 64
///     cluster.instance=p5.48xlarge,p6-b200.48xlarge
///
/// A list may also be JSON: path=["a,b","c"]. Ranges keep whole numbers whole; a last value within
/// a millionth of a step of the end counts.
[[nodiscard]] Result<Axis> parse_axis(std::string_view text);

/// The grid of a scenario's `sweep.vary`, in the file's order, then that of `typed` (each as
/// `parse_axis` reads it), which replaces an axis of the same path. Errors: FP040 for a range that
/// cannot be read and for more than `most_points`, FP090 for what was typed; all at once.
[[nodiscard]] Result<Grid> read_grid(const JsonDocument& scenario,
                                     const std::vector<std::string>& typed);

}  // namespace flowplan::planner
