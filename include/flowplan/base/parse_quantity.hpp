#pragma once

#include <optional>
#include <string_view>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan {

/// "64MiB", "1GB", "512B": a byte unit is required (b for bits is refused). Error FP040.
[[nodiscard]] Result<Bytes> parse_bytes(std::string_view text);
/// "3.2Tbps", "400Gbps" (bits) or "50GB/s" (bytes): the unit is required. Error FP040.
[[nodiscard]] Result<BytesPerSecond> parse_bandwidth(std::string_view text);
/// A count with an optional K, M, B (or G), T of 1000s: "15T" tokens. > 0. Error FP040.
[[nodiscard]] Result<double> parse_count(std::string_view text);
/// "30s", "5min", "12h", "30d". >= 0. Error FP040.
[[nodiscard]] Result<Seconds> parse_duration(std::string_view text);
/// nccl-tests' spelling: bare bytes, K/M/G = 2^10/2^20/2^30. > 0, at most 2^60. Error FP040.
[[nodiscard]] Result<Bytes> parse_nccl_size(std::string_view text);

}  // namespace flowplan
