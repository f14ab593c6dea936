#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "flowplan/base/result.hpp"
#include "flowplan/inference/load.hpp"
#include "flowplan/inference/request.hpp"

namespace flowplan::inference {

struct TraceOptions {
  /// Tokens of a prefix block of the trace; Mooncake's have 512.
  std::uint32_t block_tokens = 512;
  double speed = 1.0;  ///< > 0; 2: twice the request rate
  std::uint64_t most_requests = std::numeric_limits<std::uint64_t>::max();  ///< the first ones
};

/// Largest trace file, in bytes.
inline constexpr std::size_t most_trace_bytes = std::size_t{4} << 30;

/// The requests of a trace, arrivals counted from the first one. CSV with a header row, or JSON
/// lines (text that begins with '{'). Known columns or keys, the format being told by them:
///
/// | format        | arrival           | tokens                         | more |
/// |---------------|-------------------|--------------------------------|---------------------------|
/// | flowplan      | arrival_s         | input_tokens, output_tokens    | prefix_block_ids, adapter
/// | | Azure         | TIMESTAMP         | ContextTokens, GeneratedTokens | | | Mooncake      |
/// timestamp (ms)    | input_length, output_length    | hash_ids                  | | inference-sim
/// | arrival_time_us   | input_tokens, output_tokens    | prefix_group,             | | | | |
/// prefix_length, adapter    |
///
/// Other columns are ignored. Block ids are separated by blanks in CSV. An id of a block that the
/// prompt does not fill is dropped: engines share full blocks only.
///
/// Errors, at most `most_trace_errors` with their lines: FP015 what is no CSV or JSON, FP021
/// missing columns, FP024 an empty trace, arrivals out of order, zero tokens, numbers out of range.
[[nodiscard]] Result<Workload> parse_trace(std::string_view text, const std::string& file,
                                           const TraceOptions& options = {});
/// Reads a file; "-" is standard input. Errors FP001 to FP003 besides those above.
[[nodiscard]] Result<Workload> read_trace(const std::string& path,
                                          const TraceOptions& options = {});

inline constexpr std::size_t most_trace_errors = 20;

/// Pairs of lengths from the same files; arrivals are not needed. Errors as `parse_trace`.
[[nodiscard]] Result<TokenPairs> parse_lengths(std::string_view text, const std::string& file);

/// A warning when requests are longer than the context limit of the model, which an engine refuses:
/// how many, and the first. Empty when there are none.
[[nodiscard]] Diagnostics beyond_context(const Workload& workload, std::int64_t context_limit);

}  // namespace flowplan::inference
