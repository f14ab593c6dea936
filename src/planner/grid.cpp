#include "flowplan/planner/grid.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace flowplan::planner {

namespace {

constexpr double end_slack = 1e-6;   // of a step
constexpr double most_values = 1e6;  // of an axis

std::optional<double> number_of(std::string_view text) {
  double value = 0.0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::string number_text(double value) {
  constexpr double largest_whole = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) < largest_whole)
    return fmt::format("{}", static_cast<std::int64_t>(value));
  return fmt::format("{}", value);
}

struct Wrong {
  std::string what, hint;
};

/// "lo:hi:step" or "lo:hi:xFACTOR"; nothing when the text is no range at all.
std::optional<tl::expected<std::vector<std::string>, Wrong>> range_of(std::string_view text) {
  const std::size_t first = text.find(':');
  if (first == std::string_view::npos) return std::nullopt;
  const std::size_t second = text.find(':', first + 1);
  const auto low = number_of(text.substr(0, first));
  if (!low) return std::nullopt;  // a text with a colon in it
  const auto wrong = [&](std::string what) {
    return tl::make_unexpected(Wrong{std::move(what), "lo:hi:step, as 16:64:16, or lo:hi:xFACTOR"});
  };
  const auto high = number_of(
      text.substr(first + 1, second == std::string_view::npos ? second : second - first - 1));
  if (!high || *high < *low) return wrong("a range ends at or after its start");
  std::string_view by = second == std::string_view::npos ? "1" : text.substr(second + 1);
  const bool times = !by.empty() && by.front() == 'x';
  if (times) by.remove_prefix(1);
  const auto step = number_of(by);
  if (!step) return wrong("the step is no number");
  if (times ? *step <= 1.0 || *low <= 0.0 : *step <= 0.0)
    return wrong(times ? "a factor is above 1, and the start above 0" : "a step is above 0");
  const double count = times ? std::log(*high / *low) / std::log(*step) : (*high - *low) / *step;
  if (count >= most_values) return wrong("the range has too many values");
  std::vector<std::string> values;
  for (std::uint64_t i = 0;; ++i) {
    const auto n = static_cast<double>(i);
    const double value = times ? *low * std::pow(*step, n) : *low + *step * n;
    const double slack = end_slack * (times ? value * (*step - 1.0) : *step);
    if (value > *high + slack) return values;
    values.push_back(number_text(value));
  }
}

/// The list that a text means: JSON, a range, or values with commas.
tl::expected<std::vector<std::string>, Wrong> values_of(std::string_view text) {
  if (text.empty()) return tl::make_unexpected(Wrong{"there are no values", "path=1,2,4"});
  if (text.front() == '[') {
    const auto list = nlohmann::json::parse(text, nullptr, false);
    if (!list.is_array() || list.empty())
      return tl::make_unexpected(Wrong{"the list is no JSON", R"(path=["a","b"])"});
    std::vector<std::string> values;
    for (const auto& one : list)
      values.push_back(one.dump());
    return values;
  }
  if (auto range = range_of(text)) return std::move(*range);
  std::vector<std::string> values;
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string one(text.substr(0, comma));
    if (one.empty()) return tl::make_unexpected(Wrong{"a value is empty", "path=1,2,4"});
    const auto json = nlohmann::json::parse(one, nullptr, false);
    values.push_back(json.is_discarded() ? nlohmann::json(one).dump() : one);
    if (comma == std::string_view::npos) return values;
    text.remove_prefix(comma + 1);
  }
}

/// The values of `sweep.vary` at a path: a list of JSON values or the text of a range.
Result<Axis> axis_of(const JsonDocument& document, const std::string& path,
                     const nlohmann::ordered_json& values) {
  Axis axis{path, {}, document.place(child_pointer("/sweep/vary", path))};
  if (values.is_string()) {
    auto read = values_of(values.get<std::string>());
    if (!read)
      return fail(error(Code::bad_quantity, axis.place,
                        fmt::format("sweep.vary of {}: {}", path, read.error().what),
                        read.error().hint));
    axis.values = std::move(*read);
    return axis;
  }
  for (const auto& one : values)
    axis.values.push_back(one.dump());
  return axis;
}

void put(Grid& grid, Axis axis) {
  const auto same = std::find_if(grid.axes.begin(), grid.axes.end(),
                                 [&](const Axis& one) { return one.path == axis.path; });
  if (same == grid.axes.end())
    grid.axes.push_back(std::move(axis));
  else
    *same = std::move(axis);
}

/// Points, or more than `most_points` where there are more.
std::uint64_t count_points(const Grid& grid) {
  std::uint64_t count = 1;
  for (const Axis& axis : grid.axes) {
    count *= std::min<std::uint64_t>(axis.values.size(), most_points + 1);
    if (count > most_points) return most_points + 1;
  }
  return count;
}

}  // namespace

std::uint64_t Grid::points() const {
  return count_points(*this);
}

std::vector<std::size_t> Grid::indices(std::uint64_t point) const {
  std::vector<std::size_t> result(axes.size());
  for (std::size_t i = axes.size(); i-- > 0;) {
    result[i] = point % axes[i].values.size();
    point /= axes[i].values.size();
  }
  return result;
}

std::vector<std::string> Grid::overrides(std::uint64_t point) const {
  const std::vector<std::size_t> at = indices(point);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < axes.size(); ++i)
    result.push_back(axes[i].path + "=" + axes[i].values[at[i]]);
  return result;
}

Result<Axis> parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  const auto refuse = [&](std::string_view what, std::string hint) {
    return fail(error(Code::usage, fmt::format("--vary {}: {}", text, what), std::move(hint)));
  };
  if (equals == std::string_view::npos || equals == 0)
    return refuse("an axis is PATH=VALUES", "--vary cluster.count=16,32,64");
  auto values = values_of(text.substr(equals + 1));
  if (!values) return refuse(values.error().what, values.error().hint);
  return Axis{std::string(text.substr(0, equals)), std::move(*values), {}};
}

Result<Grid> read_grid(const JsonDocument& scenario, const std::vector<std::string>& typed) {
  Grid grid;
  Diagnostics faults;
  const auto add = [&](Result<Axis> axis) {
    if (axis)
      put(grid, std::move(*axis));
    else
      faults.insert(faults.end(), axis.error().begin(), axis.error().end());
  };
  const auto& root = scenario.root();
  if (root.contains("sweep") && root["sweep"].contains("vary"))
    for (const auto& [path, values] : root["sweep"]["vary"].items())
      add(axis_of(scenario, path, values));
  for (const std::string& text : typed)
    add(parse_axis(text));
  if (count_points(grid) > most_points)
    faults.push_back(error(Code::bad_quantity,
                           fmt::format("the grid has more than {} points", most_points),
                           "fewer values, or fewer axes"));
  if (!faults.empty()) return fail(std::move(faults));
  return grid;
}

}  // namespace flowplan::planner
