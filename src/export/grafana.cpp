// A classic dashboard; Grafana's newer models import it.
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/observation.hpp"

namespace flowplan::exporting {

namespace {

using Json = nlohmann::ordered_json;

constexpr int schema_version = 39;
constexpr int columns = 24;  // of Grafana's grid
constexpr int stat_width = 4, stat_height = 4;
constexpr int chart_width = 12, chart_height = 8;

Json data_source() {
  return {{"type", "prometheus"}, {"uid", "${datasource}"}};
}

Json target(const std::string& id, const std::string& expression, const std::string& legend) {
  return {
      {"refId", id}, {"datasource", data_source()}, {"expr", expression}, {"legendFormat", legend}};
}

/// Grafana's unit for a prediction, by the unit that its name ends in.
std::string grafana_unit(const std::string& name) {
  constexpr std::array<std::array<std::string_view, 2>, 7> by_ending{{{"_bytes_per_second", "Bps"},
                                                                      {"_seconds", "s"},
                                                                      {"_bytes", "bytes"},
                                                                      {"_ratio", "percentunit"},
                                                                      {"_usd", "currencyUSD"},
                                                                      {"_days", "d"},
                                                                      {"_kwh", "kwatth"}}};
  for (const auto& [ending, unit] : by_ending)
    if (std::string_view(name).ends_with(ending)) return std::string(unit);
  return "short";
}

class Dashboard {
 public:
  explicit Dashboard(const Observation& seen) : seen_(seen) {}

  Json make() {
    predictions();
    std::string section;
    for (const Comparison& one : seen_.comparisons) {
      if (one.section != section) row(one.section);
      section = one.section;
      chart(one);
    }
    return frame();
  }

 private:
  /// A place of that size after the last one, in the same line while it fits.
  Json place(int width, int height) {
    if (x_ + width > columns) end_line();
    Json position{{"h", height}, {"w", width}, {"x", x_}, {"y", y_}};
    x_ += width;
    line_height_ = std::max(line_height_, height);
    return position;
  }
  void end_line() {
    y_ += line_height_;
    x_ = line_height_ = 0;
  }

  void row(const std::string& title) {
    if (x_ > 0) end_line();
    panels_.push_back({{"id", next_id_++},
                       {"type", "row"},
                       {"title", title},
                       {"collapsed", false},
                       {"gridPos", place(columns, 1)},
                       {"panels", Json::array()}});
    end_line();
  }

  Json panel(const std::string& type, const std::string& title, const std::string& unit,
             Json position) {
    Json made{{"id", next_id_++}, {"type", type}, {"title", title}};
    made["datasource"] = data_source();
    made["gridPos"] = std::move(position);
    made["fieldConfig"] = {{"defaults", {{"unit", unit}}}, {"overrides", Json::array()}};
    return made;
  }

  [[nodiscard]] std::string selected(const std::string& name) const {
    return name + "{scenario=\"" + seen_.slug + "\"}";
  }

  void predictions() {
    row("Predicted");
    for (const Prediction& one : seen_.predictions) {
      if (!one.tier.empty()) continue;
      const std::string title = title_of(one.name);
      Json stat = panel("stat", title, grafana_unit(one.name), place(stat_width, stat_height));
      stat["description"] = one.help;
      stat["options"] = {{"reduceOptions", {{"calcs", Json::array({"lastNotNull"})}}},
                         {"graphMode", "none"}};
      stat["targets"] = Json::array({target("A", selected(one.name), "predicted")});
      panels_.push_back(std::move(stat));
    }
  }

  /// "training step time" of "flowplan_training_step_time_seconds".
  static std::string title_of(const std::string& name) {
    std::string title = name.substr(std::string_view("flowplan_").size());
    for (char& c : title)
      if (c == '_') c = ' ';
    return title;
  }

  void chart(const Comparison& one) {
    Json made = panel("timeseries", one.title, one.unit, place(chart_width, chart_height));
    made["fieldConfig"]["defaults"]["custom"] = {{"drawStyle", "line"}};
    made["options"] = {
        {"legend", {{"displayMode", "list"}, {"placement", "bottom"}, {"showLegend", true}}},
        {"tooltip", {{"mode", "multi"}, {"sort", "none"}}}};
    made["targets"] = {target("A", one.recorded, "measured {{instance}}{{Hostname}}{{job}}"),
                       target("B", selected(one.predicted), "predicted")};
    panels_.push_back(std::move(made));
  }

  Json frame() {
    Json dashboard;
    dashboard["__inputs"] = Json::array({{{"name", "DS_PROMETHEUS"},
                                          {"label", "Prometheus"},
                                          {"type", "datasource"},
                                          {"pluginId", "prometheus"},
                                          {"pluginName", "Prometheus"}}});
    dashboard["__requires"] = Json::array();
    const auto require = [&](const char* type, const char* id, const char* name,
                             const char* version) {
      dashboard["__requires"].push_back(
          {{"type", type}, {"id", id}, {"name", name}, {"version", version}});
    };
    require("grafana", "grafana", "Grafana", "11.0.0");
    require("datasource", "prometheus", "Prometheus", "1.0.0");
    require("panel", "stat", "Stat", "");
    require("panel", "timeseries", "Time series", "");
    dashboard["uid"] = uid();
    dashboard["title"] = "flowplan: " + seen_.title;
    dashboard["tags"] = Json::array({"flowplan"});
    dashboard["schemaVersion"] = schema_version;
    dashboard["version"] = 1;
    dashboard["editable"] = true;
    dashboard["timezone"] = "browser";
    dashboard["refresh"] = "1m";
    dashboard["graphTooltip"] = 1;
    dashboard["fiscalYearStartMonth"] = 0;
    dashboard["time"] = {{"from", "now-6h"}, {"to", "now"}};
    dashboard["timepicker"] = Json::object();
    dashboard["annotations"] = {{"list", Json::array()}};
    dashboard["links"] = Json::array();
    dashboard["templating"]["list"] = Json::array({{{"name", "datasource"},
                                                    {"type", "datasource"},
                                                    {"label", "Prometheus"},
                                                    {"query", "prometheus"},
                                                    {"current", Json::object()},
                                                    {"hide", 0}}});
    dashboard["panels"] = std::move(panels_);
    return dashboard;
  }

  /// At most 40 letters, as Grafana wants.
  [[nodiscard]] std::string uid() const { return ("fp-" + seen_.slug).substr(0, 40); }

  const Observation& seen_;
  Json panels_ = Json::array();
  int next_id_ = 1;
  int x_ = 0, y_ = 0, line_height_ = 0;
};

}  // namespace

std::string grafana_dashboard(const Observation& observation) {
  return Dashboard(observation).make().dump(1) + "\n";
}

}  // namespace flowplan::exporting
