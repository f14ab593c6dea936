#include "flowplan/report/format.hpp"

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace flowplan::report {

namespace {

/// Thousands separators in the whole part of a plain decimal number.
std::string separate(std::string number) {
  if (number.find('e') != std::string::npos) return number;
  const std::size_t sign = number.rfind('-', 0) == 0 ? 1 : 0;
  std::size_t end = number.find('.');
  if (end == std::string::npos) end = number.size();
  while (end > sign + 3) {
    end -= 3;
    number.insert(end, ",");
  }
  return number;
}

struct Step {
  double size;
  std::string_view suffix;
};

}  // namespace

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return std::isnan(value) ? "-" : (value > 0 ? "inf" : "-inf");
  if (value == 0.0) return "0";
  auto exponent = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const double unit = std::pow(10.0, exponent - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  // 9.9996 becomes 10.00: one digit more before the point.
  exponent = static_cast<int>(std::floor(std::log10(std::abs(rounded)) + 1e-12));
  if (exponent < -5) return fmt::format("{:.{}e}", value, digits - 1);
  const int decimals = exponent >= digits - 1 ? 0 : digits - 1 - exponent;
  return separate(fmt::format("{:.{}f}", rounded, decimals));
}

std::string grouped(std::int64_t count) {
  return separate(fmt::format("{}", count));
}

std::string short_count(double value) {
  constexpr std::array<Step, 4> steps{{{1e12, " T"}, {1e9, " B"}, {1e6, " M"}, {1e3, " K"}}};
  for (const Step& step : steps) {
    if (std::abs(value) < step.size) continue;
    const double scaled = value / step.size;
    const bool whole = std::abs(scaled - std::round(scaled)) < 5e-4 * std::abs(scaled) / 10;
    return (whole ? fmt::format("{:.0f}", scaled) : significant(scaled, 3)) +
           std::string(step.suffix);
  }
  return fmt::format("{:g}", value);
}

std::string percent(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  return fmt::format("{:.1f} %", 100.0 * ratio);
}

std::string duration(Seconds time) {
  const double s = time.value();
  if (!std::isfinite(s)) return "-";
  const double size = std::abs(s);
  if (size >= 86400.0) return significant(s / 86400.0, 3) + " d";
  if (size >= 3600.0) return significant(s / 3600.0, 3) + " h";
  if (size >= 1.0 || size == 0.0) return significant(s, 4) + " s";
  if (size >= 1e-3) return significant(s * 1e3, 4) + " ms";
  return significant(s * 1e6, 4) + " us";
}

std::string binary_bytes(Bytes amount) {
  constexpr std::array<Step, 4> steps{
      {{0x1p40, " TiB"}, {0x1p30, " GiB"}, {0x1p20, " MiB"}, {0x1p10, " KiB"}}};
  for (const Step& step : steps) {
    if (std::abs(amount.value()) >= step.size) {
      return significant(amount.value() / step.size, 3) + std::string(step.suffix);
    }
  }
  return fmt::format("{:.0f} B", amount.value());
}

std::string gib(Bytes amount) {
  return fmt::format("{:.2f}", amount.value() / 0x1p30);
}

std::string usd(Usd amount) {
  return significant(amount.value(), 4) + " USD";
}

std::string metric_value(double value, std::string_view unit) {
  if (unit == "B") return binary_bytes(Bytes(value));
  if (unit == "USD") return usd(Usd(value));
  return unit.empty() ? significant(value) : fmt::format("{} {}", significant(value), unit);
}

std::string exact(double value) {
  return separate(fmt::format("{:.12g}", value));
}

std::string bandwidth(BytesPerSecond rate) {
  constexpr double tera = 1e12;
  if (rate.value() >= 10 * tera) return significant(rate.value() / tera, 4) + " TB/s";
  return significant(rate.value() / 1e9, 4) + " GB/s";
}

}  // namespace flowplan::report
