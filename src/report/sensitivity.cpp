#include "flowplan/report/sensitivity.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "flowplan/report/saved.hpp"
#include "json_format.hpp"
#include "sizing_details.hpp"

namespace flowplan::report {

namespace {

using planner::Sensitivity;
using planner::SensitivitySide;
using planner::Swing;

std::string signed_percent(const std::optional<double>& relative) {
  return relative ? fmt::format("{:+.2f} %", 100.0 * *relative) : std::string("-");
}

ChartSeries tornado_series(const std::vector<Swing>& shown, const std::string& name,
                           std::optional<double> Swing::*side,
                           SensitivitySide planner::SensitivityRow::*end) {
  ChartSeries series;
  series.name = name;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    const std::optional<double>& value = shown[i].*side;
    if (!value) continue;
    const double percent_change = 100.0 * *value;
    series.x.push_back(static_cast<double>(i));
    series.low.push_back(std::min(0.0, percent_change));
    series.high.push_back(std::max(0.0, percent_change));
    series.labels.push_back(
        fmt::format("{}: {}", (shown[i].row->*end).value, signed_percent(value)));
  }
  return series;
}

Chart tornado(const std::vector<Swing>& shown, const std::string& metric, double by) {
  Chart chart;
  chart.kind = Chart::Kind::spans;
  chart.title = fmt::format("What moves {} most", metric);
  chart.about = fmt::format(
      "Each input {:g} % smaller and larger, one at a time; the bars are the change of the metric.",
      100.0 * by);
  chart.values.label = fmt::format("% change of {}", metric);
  for (const Swing& swing : shown)
    chart.categories.push_back(swing.row->label);
  chart.series = {tornado_series(shown, fmt::format("{:g} % less", 100.0 * by), &Swing::less,
                                 &planner::SensitivityRow::less),
                  tornado_series(shown, fmt::format("{:g} % more", 100.0 * by), &Swing::more,
                                 &planner::SensitivityRow::more)};
  chart.markers.push_back({0.0, "as it is"});
  return chart;
}

Section ranking_section(const Sensitivity& sensitivity, const std::string& metric,
                        std::size_t most_rows) {
  std::vector<Swing> shown = planner::swings(sensitivity, metric);
  const std::size_t all = shown.size();
  shown.resize(std::min(all, most_rows));
  Section section{fmt::format("What moves {}", metric),
                  {},
                  Table{{{"input", false},
                         {"as it is"},
                         {fmt::format("{:g} % less", 100.0 * sensitivity.by)},
                         {"then"},
                         {fmt::format("{:g} % more", 100.0 * sensitivity.by)},
                         {"then"}},
                        {}},
                  {}};
  for (const Swing& swing : shown) {
    section.table->rows.push_back({swing.row->label, swing.row->value, swing.row->less.value,
                                   signed_percent(swing.less), swing.row->more.value,
                                   signed_percent(swing.more)});
  }
  if (all > shown.size())
    section.remarks.push_back(fmt::format("and {} that move it less", all - shown.size()));
  if (shown.empty()) {
    section.table.reset();
    section.remarks.emplace_back("Nothing that was changed moves it.");
  } else {
    section.charts.push_back(tornado(shown, metric, sensitivity.by));
  }
  return section;
}

std::vector<std::string> chosen(const Sensitivity& sensitivity,
                                const std::vector<std::string>& metrics) {
  return metrics.empty() ? sensitivity.metrics : metrics;
}

Json metrics_json(const std::vector<Metric>& metrics) {
  Json json = Json::object();
  for (const Metric& metric : metrics)
    json[metric.id] = metric.value;
  return json;
}

Json side_of_row_json(const SensitivitySide& side) {
  Json json = Json::object();
  json["value"] = side.value;
  if (!side.fault.empty()) json["fault"] = side.fault;
  json["metrics"] = metrics_json(side.metrics);
  return json;
}

/// One line a metric and input, with exact numbers.
Table sensitivity_table(const Sensitivity& sensitivity, const std::vector<std::string>& metrics) {
  Table table{{{"metric", false},
               {"input", false},
               {"value", false},
               {"less", false},
               {"change_when_less"},
               {"more", false},
               {"change_when_more"}},
              {}};
  const auto number = [](const std::optional<double>& value) {
    return value ? fmt::format("{}", *value) : std::string();
  };
  for (const std::string& metric : metrics)
    for (const Swing& swing : planner::swings(sensitivity, metric))
      table.rows.push_back({metric, swing.row->input, swing.row->value, swing.row->less.value,
                            number(swing.less), swing.row->more.value, number(swing.more)});
  return table;
}

}  // namespace

std::vector<Section> sensitivity_sections(const Sensitivity& sensitivity,
                                          const std::vector<std::string>& metrics,
                                          std::size_t most_rows) {
  std::vector<Section> sections;
  for (const std::string& metric : chosen(sensitivity, metrics))
    sections.push_back(ranking_section(sensitivity, metric, most_rows));
  Section faults{"Inputs that could not be changed so", {}, {}, {}};
  for (const planner::SensitivityRow& row : sensitivity.rows)
    for (const SensitivitySide* side : {&row.less, &row.more})
      if (!side->fault.empty())
        faults.remarks.push_back(fmt::format("{} = {}: {}", row.label, side->value, side->fault));
  if (!faults.remarks.empty()) sections.push_back(std::move(faults));
  return sections;
}

Document sensitivity(const Sensitivity& sensitivity, const std::vector<std::string>& metrics,
                     std::size_t top) {
  Document document;
  document.title = sensitivity.name;
  document.lead = fmt::format("Each of {} inputs made {:g} % smaller and larger, one at a time.",
                              sensitivity.rows.size(), 100.0 * sensitivity.by);
  document.sections = sensitivity_sections(sensitivity, metrics, top);
  document.data = sensitivity_table(sensitivity, chosen(sensitivity, metrics));
  return document;
}

std::string sensitivity_json(const Sensitivity& sensitivity,
                             const std::vector<std::string>& metrics, std::size_t top) {
  Json json{{"format_version", result_format_version},
            {"kind", "sensitivity"},
            {"name", sensitivity.name},
            {"by", sensitivity.by},
            {"base", metrics_json(sensitivity.base)}};
  Json inputs = Json::array();
  for (const planner::SensitivityRow& row : sensitivity.rows)
    inputs.push_back({{"input", row.input},
                      {"value", row.value},
                      {"less", side_of_row_json(row.less)},
                      {"more", side_of_row_json(row.more)}});
  json["inputs"] = std::move(inputs);
  Json ranked = Json::object();
  for (const std::string& metric : chosen(sensitivity, metrics)) {
    Json list = Json::array();
    for (const Swing& swing : planner::swings(sensitivity, metric))
      list.push_back({{"input", swing.row->input},
                      {"less", swing.less ? Json(*swing.less) : Json(nullptr)},
                      {"more", swing.more ? Json(*swing.more) : Json(nullptr)}});
    ranked[metric] = std::move(list);
  }
  json["ranked"] = std::move(ranked);
  json["report"] = document_json(report::sensitivity(sensitivity, metrics, top));
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
