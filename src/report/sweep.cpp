#include "flowplan/report/sweep.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "flowplan/report/saved.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using planner::Grid;
using planner::SweepRow;

constexpr std::size_t summary_metrics = 4;
/// Rows that a chart shows.
constexpr std::size_t most_drawn = 20;

std::string_view family(std::string_view metric) {
  return metric.substr(0, metric.find('.'));
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\n\r") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

/// A JSON value as a table shows it: a string without its quotes.
std::string plain(const std::string& json) {
  const bool quoted = json.size() >= 2 && json.front() == '"' && json.back() == '"';
  return quoted ? json.substr(1, json.size() - 2) : json;
}

/// The metric that ranks rows when none is named.
std::string first_judged(const SweepRow& row) {
  for (const Metric& metric : row.metrics)
    if (find_metric(metric.id)->better != Better::neither) return metric.id;
  return {};
}

/// "count 16, tp 4": the last words of the paths.
std::string point_label(const Grid& grid, const SweepRow& row) {
  std::string label;
  const std::vector<std::size_t> at = grid.indices(row.point);
  for (std::size_t i = 0; i < at.size(); ++i) {
    const std::string& path = grid.axes[i].path;
    label += fmt::format("{}{} {}", label.empty() ? "" : ", ", path.substr(path.rfind('.') + 1),
                         plain(grid.axes[i].values[at[i]]));
  }
  return label;
}

Chart best_rows_chart(const Grid& grid, const std::vector<SweepRow>& best,
                      const std::string& metric) {
  Chart chart;
  const std::optional<MetricInfo> info = find_metric(metric);
  if (!info) return chart;
  chart.title = fmt::format("The best by {}", metric);
  chart.about = fmt::format("{}; {} is better.", info->description,
                            info->better == Better::lower ? "less" : "more");
  chart.values = {std::string(info->unit), false, 0.0, {}};
  ChartSeries series;
  for (const SweepRow& row : best) {
    if (chart.categories.size() == most_drawn) break;
    chart.categories.push_back(point_label(grid, row));
    series.y.push_back(*row.value(metric));
  }
  chart.series.push_back(std::move(series));
  return chart;
}

bool is_better(const std::string& metric, double a, double b) {
  return find_metric(metric)->better == Better::lower ? a < b : a > b;
}

}  // namespace

std::vector<std::string> sweep_columns(const SweepRow& row) {
  std::vector<std::string> columns;
  for (const MetricInfo& info : metric_registry()) {
    const bool wanted = std::any_of(row.metrics.begin(), row.metrics.end(), [&](const Metric& one) {
      return family(one.id) == family(info.id);
    });
    if (wanted) columns.emplace_back(info.id);
  }
  return columns;
}

std::string sweep_csv_head(const Grid& grid, const std::vector<std::string>& metrics) {
  std::string line = "point";
  for (const planner::Axis& axis : grid.axes)
    line += "," + csv_cell(axis.path);
  line += ",state,reason";
  for (const std::string& metric : metrics)
    line += "," + csv_cell(metric);
  return line + "\n";
}

std::string sweep_csv_row(const SweepRow& row, const Grid& grid,
                          const std::vector<std::string>& metrics) {
  std::string line = fmt::format("{}", row.point);
  const std::vector<std::size_t> at = grid.indices(row.point);
  for (std::size_t i = 0; i < grid.axes.size(); ++i)
    line += "," + csv_cell(plain(grid.axes[i].values[at[i]]));
  line += fmt::format(",{},{}", planner::name(row.state), csv_cell(row.reason));
  for (const std::string& metric : metrics) {
    const double* const value = row.value(metric);
    line += value == nullptr ? "," : fmt::format(",{}", *value);
  }
  return line + "\n";
}

void SweepSummary::add(const SweepRow& row) {
  switch (row.state) {
    case SweepRow::State::does_not_fit:
      if (unfit_++ == 0) first_unfit_ = row.reason;
      return;
    case SweepRow::State::invalid:
      if (invalid_++ == 0) first_invalid_ = row.reason;
      return;
    case SweepRow::State::ok:
      ++ok_;
  }
  if (metric_.empty()) metric_ = first_judged(row);
  const double* const value = row.value(metric_);
  if (value == nullptr) return;
  const auto place =
      std::upper_bound(best_.begin(), best_.end(), *value, [&](double mine, const SweepRow& other) {
        return is_better(metric_, mine, *other.value(metric_));
      });
  best_.insert(place, row);
  if (best_.size() > top_) best_.pop_back();
}

Document SweepSummary::document(const planner::SweepHead& head) const {
  Document document;
  document.title = head.name.empty() ? "Sweep" : head.name;
  document.lead = fmt::format("{} points: {} fit, {} do not fit, {} are invalid", rows(), ok_,
                              unfit_, invalid_);
  if (!best_.empty()) {
    Section section{fmt::format("Best by {}", metric_), {}, {}, {}};
    Table table;
    table.columns.push_back({"point"});
    for (const planner::Axis& axis : head.grid.axes)
      table.columns.push_back({axis.path});
    std::vector<std::string> shown{metric_};
    for (const Metric& metric : best_.front().metrics)
      if (shown.size() < summary_metrics && metric.id != metric_) shown.push_back(metric.id);
    for (const std::string& metric : shown)
      table.columns.push_back({metric});
    for (const SweepRow& row : best_) {
      std::vector<Cell> cells{fmt::format("{}", row.point)};
      const std::vector<std::size_t> at = head.grid.indices(row.point);
      for (std::size_t i = 0; i < at.size(); ++i)
        cells.emplace_back(plain(head.grid.axes[i].values[at[i]]));
      for (const std::string& metric : shown) {
        const double* const value = row.value(metric);
        cells.emplace_back(value == nullptr ? "-"
                                            : metric_value(*value, find_metric(metric)->unit));
      }
      table.rows.push_back(std::move(cells));
    }
    section.table = std::move(table);
    section.charts.push_back(best_rows_chart(head.grid, best_, metric_));
    document.sections.push_back(std::move(section));
  }
  Section others{"Others", {}, {}, {}};
  if (unfit_ > 0) others.remarks.push_back("does not fit, for example: " + first_unfit_);
  if (invalid_ > 0) others.remarks.push_back("invalid, for example: " + first_invalid_);
  if (!others.remarks.empty()) document.sections.push_back(std::move(others));
  return document;
}

std::string SweepSummary::json(const planner::SweepHead& head) const {
  Json best = Json::array();
  for (const SweepRow& row : best_)
    best.push_back(Json::parse(planner::row_line(row, head.grid)));
  const Json json{{"format_version", result_format_version},
                  {"kind", "sweep_summary"},
                  {"name", head.name},
                  {"points", rows()},
                  {"ok", ok_},
                  {"does_not_fit", unfit_},
                  {"invalid", invalid_},
                  {"metric", metric_},
                  {"best", std::move(best)},
                  {"report", document_json(document(head))}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
