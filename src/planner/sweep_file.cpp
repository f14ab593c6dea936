#include "flowplan/planner/sweep_file.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/base/assert.hpp"
#include "flowplan/base/fingerprint.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::planner {

namespace {

using RowJson = nlohmann::ordered_json;

constexpr int sweep_format_version = 1;
constexpr std::size_t largest_file = std::size_t{8} << 30;

RowJson axes_json(const Grid& grid) {
  RowJson axes = RowJson::array();
  for (const Axis& axis : grid.axes) {
    RowJson values = RowJson::array();
    for (const std::string& value : axis.values)
      values.push_back(RowJson::parse(value));
    axes.push_back({{"path", axis.path}, {"values", std::move(values)}});
  }
  return axes;
}

Diagnostic bad_line(const std::string& file, std::size_t line, std::string what) {
  return error(Code::bad_sweep_file, in_file(file, static_cast<int>(line)), std::move(what),
               "`flowplan sweep` writes such files with -o jsonl=FILE");
}

bool is_head(const RowJson& json) {
  return json.is_object() && json.value("kind", "") == "sweep" && json.contains("vary") &&
         json.contains("points");
}

bool is_row(const RowJson& json) {
  return json.is_object() && json.contains("point") && json["point"].is_number_unsigned() &&
         json.contains("state") && json["state"].is_string();
}

}  // namespace

SweepHead sweep_head(const JsonDocument& scenario, Grid grid, std::string program_version,
                     std::string catalog_version) {
  SweepHead head;
  head.name = scenario.root().value("name", "");
  head.program_version = std::move(program_version);
  head.catalog_version = std::move(catalog_version);
  head.scenario_hash =
      fmt::format("{:016x}", fingerprint(scenario.root().dump() + axes_json(grid).dump()));
  head.grid = std::move(grid);
  return head;
}

std::string head_line(const SweepHead& head) {
  return RowJson{{"format_version", sweep_format_version},
                 {"kind", "sweep"},
                 {"name", head.name},
                 {"program", head.program_version},
                 {"catalog", head.catalog_version},
                 {"scenario_hash", head.scenario_hash},
                 {"points", head.grid.points()},
                 {"vary", axes_json(head.grid)}}
      .dump();
}

std::string row_line(const SweepRow& row, const Grid& grid) {
  RowJson set = RowJson::object();
  const std::vector<std::size_t> at = grid.indices(row.point);
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    set[grid.axes[i].path] = RowJson::parse(grid.axes[i].values[at[i]]);
  RowJson json{{"point", row.point}, {"set", std::move(set)}, {"state", name(row.state)}};
  if (row.state != SweepRow::State::ok) json["reason"] = row.reason;
  RowJson metrics = RowJson::object();
  for (const Metric& metric : row.metrics)
    metrics[metric.id] = metric.value;
  json["metrics"] = std::move(metrics);
  return json.dump();
}

Result<SweepFile> read_sweep_file(const std::string& path) {
  auto text = read_text(path, largest_file);
  if (!text) return fail(std::move(text.error()));
  SweepFile result;
  result.file = path;
  std::size_t begin = 0, number = 0;
  for (std::size_t end = text->find('\n'); end != std::string::npos;
       begin = end + 1, end = text->find('\n', begin)) {
    std::string line = text->substr(begin, end - begin);
    const RowJson json = RowJson::parse(line, nullptr, false);
    if (++number == 1) {
      if (!is_head(json))
        return fail(error(Code::wrong_kind_of_file, in_file(path, 1),
                          "these are no rows of a sweep",
                          "`flowplan sweep` writes such files with -o jsonl=FILE"));
      result.head = std::move(line);
    } else {
      if (!is_row(json)) return fail(bad_line(path, number, "this line is no row of a sweep"));
      result.points.push_back(json["point"].get<std::uint64_t>());
      result.lines.push_back(std::move(line));
    }
    result.complete_bytes = end + 1;
  }
  return result;
}

Result<SweepHead> parse_head(const SweepFile& file) {
  const RowJson json = RowJson::parse(file.head, nullptr, false);
  if (!is_head(json)) return fail(bad_line(file.file, 1, "the first line of a sweep is missing"));
  SweepHead head;
  head.name = json.value("name", "");
  head.program_version = json.value("program", "");
  head.catalog_version = json.value("catalog", "");
  head.scenario_hash = json.value("scenario_hash", "");
  for (const auto& axis : json["vary"]) {
    Axis read{axis.value("path", ""), {}, {}};
    const RowJson values = axis.value("values", RowJson::array());
    for (const auto& value : values)
      read.values.push_back(value.dump());
    if (read.path.empty() || read.values.empty())
      return fail(bad_line(file.file, 1, "an axis of the grid has no path or no values"));
    head.grid.axes.push_back(std::move(read));
  }
  return head;
}

SweepRow parse_row(std::string_view line) {
  const RowJson json = RowJson::parse(line, nullptr, false);
  FLOWPLAN_ASSERT(is_row(json));
  SweepRow row;
  row.point = json["point"].get<std::uint64_t>();
  const auto state = json["state"].get<std::string>();
  for (const auto one :
       {SweepRow::State::ok, SweepRow::State::does_not_fit, SweepRow::State::invalid})
    if (state == name(one)) row.state = one;
  row.reason = json.value("reason", "");
  const RowJson metrics = json.value("metrics", RowJson::object());
  for (const auto& [id, value] : metrics.items())
    row.metrics.push_back(
        {id, value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN()});
  return row;
}

Result<std::uint64_t> rows_done(const SweepFile& file, const std::string& head, Shard shard) {
  if (file.head.empty()) return 0;
  if (file.head != head)
    return fail(error(Code::bad_sweep_file, in_file(file.file, 1),
                      "these rows are of another scenario, grid, catalog or version",
                      "write to another file, or leave out --resume to start again"));
  for (std::size_t i = 0; i < file.points.size(); ++i)
    if (file.points[i] != shard.point(i))
      return fail(bad_line(file.file, i + 2,
                           fmt::format("point {} stands where this shard has point {}",
                                       file.points[i], shard.point(i))));
  return file.points.size();
}

Result<std::string> merge_sweeps(const std::vector<SweepFile>& shards) {
  FLOWPLAN_ASSERT(!shards.empty());
  std::vector<std::pair<std::uint64_t, const std::string*>> rows;
  for (const SweepFile& shard : shards) {
    if (shard.head.empty() || shard.head != shards.front().head)
      return fail(
          bad_line(shard.file, 1,
                   fmt::format("this is another sweep than that of {}", shards.front().file)));
    for (std::size_t i = 0; i < shard.points.size(); ++i)
      rows.emplace_back(shard.points[i], &shard.lines[i]);
  }
  const auto head = parse_head(shards.front());
  if (!head) return fail(head.error());
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  const std::uint64_t points = head->grid.points();
  std::string text = shards.front().head + "\n";
  if (!rows.empty() && rows.back().first >= points)
    return fail(error(Code::bad_sweep_file, fmt::format("point {} is outside the grid of {}",
                                                        rows.back().first, points)));
  for (std::uint64_t point = 0; point < std::max<std::uint64_t>(points, rows.size()); ++point) {
    if (point >= rows.size() || rows[point].first > point)
      return fail(error(Code::bad_sweep_file,
                        fmt::format("point {} of {} is missing", point, points),
                        "a shard is missing or was not finished: run it again with --resume"));
    if (rows[point].first < point)
      return fail(error(Code::bad_sweep_file,
                        fmt::format("point {} stands twice", rows[point].first),
                        "name each shard's file once"));
    text += *rows[point].second;
    text += '\n';
  }
  return text;
}

}  // namespace flowplan::planner
