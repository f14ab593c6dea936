#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flowplan/base/quantity.hpp"

namespace flowplan::report {

/// Rounded to `digits` significant digits, with thousands separated: "4,021,000", "4.713", "0.047".
/// Trailing zeros after the point are kept, so that columns tell how exact they are.
[[nodiscard]] std::string significant(double value, int digits = 4);
/// An exact count with thousands separated.
[[nodiscard]] std::string grouped(std::int64_t count);
/// "15 T", "70.6 B", "512".
[[nodiscard]] std::string short_count(double value);
/// A ratio as "41.7 %".
[[nodiscard]] std::string percent(double ratio);
/// "4.713 s", "12.3 ms", "43.1 d".
[[nodiscard]] std::string duration(Seconds time);
/// "61.2 GiB", "512 B".
[[nodiscard]] std::string binary_bytes(Bytes amount);
/// A bare number of GiB, for columns that say so in the header.
[[nodiscard]] std::string gib(Bytes amount);
/// "3,640,000 USD".
[[nodiscard]] std::string usd(Usd amount);
/// A value of a metric in its registry's unit: bytes and dollars as above, else "0.412", "43.1 d".
[[nodiscard]] std::string metric_value(double value, std::string_view unit);
/// A figure as its source gives it, all digits.
[[nodiscard]] std::string exact(double value);
/// "3,200 GB/s", "43.2 TB/s" (10^9 and 10^12 byte).
[[nodiscard]] std::string bandwidth(BytesPerSecond rate);

}  // namespace flowplan::report
