#include "flowplan/catalog/figure.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace flowplan::catalog {

namespace {

using Suffix = std::pair<std::string_view, std::string_view>;

// What may follow the unit in a name.
constexpr std::array<std::string_view, 10> qualifiers{
    "_per_direction", "_per_gpu", "_per_interface", "_per_rail", "_total", "_bidir",
    "_max",           "_4k",      "_at_8192",       "_bf16"};

// The longer of two that fit stands first.
constexpr std::array<Suffix, 28> unit_suffixes{{
    {"gbytes_per_s", "GB/s"},
    {"tbytes_per_s", "TB/s"},
    {"mbytes_per_s", "MB/s"},
    {"gib_per_s", "GiB/s"},
    {"usd_per_hour", "USD/h"},
    {"bytes_per_token", "B/token"},
    {"gflop_per_token", "GFLOP/token"},
    {"tflops", "TFLOP/s"},
    {"pflops", "PFLOP/s"},
    {"tops", "TOP/s"},
    {"iops", "IOPS"},
    {"percent", "%"},
    {"minutes", "min"},
    {"days", "d"},
    {"bytes", "B"},
    {"gbps", "Gbit/s"},
    {"tbps", "Tbit/s"},
    {"mhz", "MHz"},
    {"ghz", "GHz"},
    {"mib", "MiB"},
    {"gib", "GiB"},
    {"gb", "GB"},
    {"tb", "TB"},
    {"mb", "MB"},
    {"us", "us"},
    {"ms", "ms"},
    {"w", "W"},
    {"s", "s"},
}};

bool ends_in_word(std::string_view name, std::string_view word) {
  if (!name.ends_with(word)) return false;
  return name.size() == word.size() || name[name.size() - word.size() - 1] == '_';
}

std::string_view unit_of_word(std::string_view word) {
  for (bool stripped = true; stripped;) {
    stripped = false;
    for (const std::string_view qualifier : qualifiers) {
      if (!word.ends_with(qualifier)) continue;
      word.remove_suffix(qualifier.size());
      stripped = true;
    }
  }
  for (const auto& [suffix, unit] : unit_suffixes) {
    if (ends_in_word(word, suffix)) return unit;
  }
  return {};
}

}  // namespace

const Fact* find(const std::vector<Fact>& facts, std::string_view name) {
  const auto found =
      std::find_if(facts.begin(), facts.end(), [&](const Fact& f) { return f.name == name; });
  return found == facts.end() ? nullptr : &*found;
}

Figure figure_of(const std::vector<Fact>& facts, std::string_view name) {
  const Fact* fact = find(facts, name);
  return fact == nullptr ? Figure{} : fact->figure;
}

std::string_view unit_of(std::string_view name) {
  while (!name.empty()) {  // "dense_tflops.bf16": the last group that has one
    const std::size_t dot = name.rfind('.');
    const std::string_view unit =
        unit_of_word(dot == std::string_view::npos ? name : name.substr(dot + 1));
    if (!unit.empty() || dot == std::string_view::npos) return unit;
    name = name.substr(0, dot);
  }
  return {};
}

}  // namespace flowplan::catalog
