#include "flowplan/base/parse_quantity.hpp"

#include <charconv>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace flowplan {

namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr Unit byte_units[] = {{"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},
                               {"GB", 1e9},     {"TB", 1e12},    {"PB", 1e15},    {"KiB", 1024.0},
                               {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}, {"PiB", 0x1p50}};
constexpr Unit bandwidth_units[] = {
    {"bps", 1.0 / 8},  {"Kbps", 1e3 / 8}, {"Mbps", 1e6 / 8}, {"Gbps", 1e9 / 8}, {"Tbps", 1e12 / 8},
    {"B/s", 1},        {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},     {"TB/s", 1e12},
    {"KiB/s", 1024.0}, {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"TiB/s", 0x1p40}};
constexpr Unit count_units[] = {{"", 1},    {"K", 1e3}, {"k", 1e3}, {"M", 1e6},
                                {"B", 1e9}, {"G", 1e9}, {"T", 1e12}};
constexpr Unit duration_units[] = {{"s", 1},    {"ms", 1e-3}, {"us", 1e-6},
                                   {"min", 60}, {"h", 3600},  {"d", 86400}};
constexpr Unit nccl_units[] = {{"", 1},       {"K", 0x1p10}, {"k", 0x1p10}, {"M", 0x1p20},
                               {"m", 0x1p20}, {"G", 0x1p30}, {"g", 0x1p30}};

/// Beyond it a count of elements would not fit 64 bits with room to add.
constexpr double largest_message = 0x1p60;

/// A number and one of `units`, with nothing else around them.
Result<double> parse(std::string_view text, std::span<const Unit> units, std::string_view what,
                     std::string_view example) {
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, value);
  std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  while (unit.starts_with(' '))
    unit.remove_prefix(1);
  if (code == std::errc() && std::isfinite(value) && value >= 0.0) {
    for (const Unit& u : units) {
      if (u.name == unit) return value * u.factor;
    }
  }
  std::string names;
  for (const Unit& u : units) {
    if (!u.name.empty()) names += fmt::format("{}{}", names.empty() ? "" : ", ", u.name);
  }
  return fail(error(Code::bad_quantity, fmt::format("`{}` is not {}", text, what),
                    fmt::format("write it like `{}`; units: {}", example, names)));
}

Result<double> positive(Result<double> value, std::string_view text, std::string_view what) {
  if (value && *value <= 0.0) {
    return fail(error(Code::bad_quantity, fmt::format("`{}`: {} must be more than 0", text, what)));
  }
  return value;
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  return parse(text, byte_units, "a size in bytes", "64MiB").map([](double v) { return Bytes(v); });
}

Result<BytesPerSecond> parse_bandwidth(std::string_view text) {
  return parse(text, bandwidth_units, "a bandwidth", "400Gbps").map([](double v) {
    return BytesPerSecond(v);
  });
}

Result<double> parse_count(std::string_view text) {
  return positive(parse(text, count_units, "a count", "15T"), text, "a count");
}

Result<Seconds> parse_duration(std::string_view text) {
  return parse(text, duration_units, "a duration", "30d").map([](double v) { return Seconds(v); });
}

Result<Bytes> parse_nccl_size(std::string_view text) {
  auto size = positive(parse(text, nccl_units, "a message size", "16G"), text, "a message size");
  if (size && *size > largest_message) {
    return fail(error(Code::bad_quantity, fmt::format("`{}` is no message: over 1 EiB", text),
                      "sizes are bytes; G is 2^30"));
  }
  return size.map([](double v) { return Bytes(v); });
}

}  // namespace flowplan
