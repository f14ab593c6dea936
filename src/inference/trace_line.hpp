#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace flowplan::inference {

/// One request as a trace writes it.
struct TraceLine {
  double arrival_s = 0.0, input_tokens = 0.0, output_tokens = 0.0;
  std::vector<std::uint32_t> blocks;
  std::string prefix_group;
  double prefix_tokens = 0.0;
  std::string adapter;
};

/// Where the fields of a CSV trace stand, and the unit of its arrivals.
struct TraceColumns {
  enum Field { arrival, input, output, blocks, group, group_tokens, adapter, field_count };
  enum class Clock { seconds, milliseconds, microseconds, date };
  std::array<std::optional<std::size_t>, field_count> column{};
  Clock clock = Clock::seconds;
  /// What it lacks; empty when it is complete.
  [[nodiscard]] std::string missing(bool needs_arrivals) const;
};

[[nodiscard]] TraceColumns trace_columns(std::string_view header);
/// Reads one row; what is wrong with it, or nothing.
[[nodiscard]] std::string read_csv_line(std::string_view row, const TraceColumns& columns,
                                        TraceLine& line);
/// Reads one JSON object; what is wrong with it, or nothing.
[[nodiscard]] std::string read_json_line(std::string_view row, bool needs_arrivals,
                                         TraceLine& line);

}  // namespace flowplan::inference
