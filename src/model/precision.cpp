#include "flowplan/model/precision.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "flowplan/base/assert.hpp"

namespace flowplan::model {

namespace {

struct Row {
  Precision precision;
  std::string_view name;
  double bytes;
};

constexpr std::array<Row, 8> rows{{
    {Precision::fp32, "fp32", 4.0},
    {Precision::tf32, "tf32", 4.0},
    {Precision::bf16, "bf16", 2.0},
    {Precision::fp16, "fp16", 2.0},
    {Precision::fp8, "fp8", 1.0},
    {Precision::fp8_block, "fp8_block", 1.0 + 4.0 / 128.0},
    {Precision::mxfp8, "mxfp8", 1.0 + 1.0 / 32.0},
    {Precision::nvfp4, "nvfp4", 0.5 + 1.0 / 16.0},
}};

constexpr auto precisions = [] {
  std::array<Precision, rows.size()> all{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    all[i] = rows[i].precision;
  return all;
}();

const Row& row(Precision precision) {
  const auto index = static_cast<std::size_t>(precision);
  FLOWPLAN_ASSERT(index < rows.size() && rows[index].precision == precision);
  return rows[index];
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

}  // namespace

std::span<const Precision> all_precisions() {
  return precisions;
}

std::string_view name(Precision precision) {
  return row(precision).name;
}

std::optional<Precision> find_precision(std::string_view name) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const Row& r) { return same_letters(r.name, name); });
  if (found == rows.end()) return std::nullopt;
  return found->precision;
}

double bytes_per_element(Precision precision) {
  return row(precision).bytes;
}

}  // namespace flowplan::model
