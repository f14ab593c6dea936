#include "flowplan/report/saved.hpp"

#include <cstddef>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "json_format.hpp"

namespace flowplan::report {

namespace {

constexpr std::string_view chart_kinds[] = {"bars", "columns", "lines", "points", "spans"};

/// Nulls, where JSON has no number: infinity, not a number.
Json saved_numbers(const std::vector<double>& values) {
  return values;
}

std::vector<double> read_numbers(const Json& json) {
  std::vector<double> values;
  for (const Json& one : json)
    values.push_back(one.is_null() ? std::numeric_limits<double>::quiet_NaN() : one.get<double>());
  return values;
}

Json axis_json(const ChartAxis& axis) {
  return {{"label", axis.label},
          {"logarithmic", axis.logarithmic},
          {"least", axis.least ? Json(*axis.least) : Json(nullptr)},
          {"most", axis.most ? Json(*axis.most) : Json(nullptr)}};
}

ChartAxis read_axis(const Json& json) {
  ChartAxis axis{json.at("label"), json.at("logarithmic"), {}, {}};
  if (!json.at("least").is_null()) axis.least = json.at("least").get<double>();
  if (!json.at("most").is_null()) axis.most = json.at("most").get<double>();
  return axis;
}

Chart read_chart(const Json& json) {
  Chart chart;
  const std::string kind = json.at("kind");
  for (std::size_t k = 0; k < std::size(chart_kinds); ++k)
    if (chart_kinds[k] == kind) chart.kind = static_cast<Chart::Kind>(k);
  chart.title = json.at("title");
  chart.about = json.at("about");
  chart.values = read_axis(json.at("values"));
  chart.along = read_axis(json.at("along"));
  chart.categories = json.at("categories").get<std::vector<std::string>>();
  for (const Json& one : json.at("series")) {
    chart.series.push_back({one.at("name"), read_numbers(one.at("x")), read_numbers(one.at("y")),
                            read_numbers(one.at("low")), read_numbers(one.at("high")),
                            one.at("labels").get<std::vector<std::string>>(), one.at("tone")});
  }
  for (const Json& one : json.at("markers"))
    chart.markers.push_back({one.at("value"), one.at("label")});
  chart.stacked = json.at("stacked");
  return chart;
}

/// A text, an indented one as {"text", "indent"}, a bar as {"share"}.
Json cell_json(const Cell& cell) {
  if (cell.share) {
    Json bar = Json::object();
    bar["share"] = *cell.share;
    return bar;
  }
  if (cell.indent > 0) return {{"text", cell.text}, {"indent", cell.indent}};
  return cell.text;
}

Cell read_cell(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.contains("share")) {
    const Json& share = json.at("share");
    return Cell::bar(share.is_null() ? std::numeric_limits<double>::quiet_NaN()
                                     : share.get<double>());
  }
  return Cell::at_depth(json.at("text"), json.at("indent"));
}

Json table_json(const Table& table) {
  Json columns = Json::array(), rows = Json::array();
  for (const Column& column : table.columns)
    columns.push_back({{"header", column.header}, {"right", column.right}});
  for (const auto& row : table.rows) {
    Json cells = Json::array();
    for (const Cell& cell : row)
      cells.push_back(cell_json(cell));
    rows.push_back(std::move(cells));
  }
  return {{"columns", std::move(columns)}, {"rows", std::move(rows)}};
}

Table read_table(const Json& json) {
  Table table;
  for (const Json& column : json.at("columns"))
    table.columns.push_back({column.at("header"), column.at("right")});
  for (const Json& row : json.at("rows")) {
    auto& cells = table.rows.emplace_back();
    for (const Json& cell : row)
      cells.push_back(read_cell(cell));
  }
  return table;
}

/// What a section does not have is left out.
Json section_json(const Section& section) {
  Json json = Json::object();
  json["title"] = section.title;
  if (!section.facts.empty()) {
    Json facts = Json::array();
    for (const auto& [name, value] : section.facts)
      facts.push_back({{"name", name}, {"value", value}});
    json["facts"] = std::move(facts);
  }
  if (section.table) json["table"] = table_json(*section.table);
  if (!section.remarks.empty()) json["remarks"] = section.remarks;
  if (!section.charts.empty()) {
    Json charts = Json::array();
    for (const Chart& chart : section.charts)
      charts.push_back(chart_json(chart));
    json["charts"] = std::move(charts);
  }
  if (!section.picture.empty())
    json["picture"] = {{"svg", section.picture}, {"about", section.picture_about}};
  if (section.detail) json["detail"] = true;
  return json;
}

Section read_section(const Json& json) {
  Section section;
  section.title = json.at("title");
  if (json.contains("facts"))
    for (const Json& fact : json.at("facts"))
      section.facts.emplace_back(fact.at("name"), fact.at("value"));
  if (json.contains("table")) section.table = read_table(json.at("table"));
  if (json.contains("remarks"))
    section.remarks = json.at("remarks").get<std::vector<std::string>>();
  if (json.contains("charts"))
    for (const Json& chart : json.at("charts"))
      section.charts.push_back(read_chart(chart));
  if (json.contains("picture")) {
    section.picture = json.at("picture").at("svg");
    section.picture_about = json.at("picture").at("about");
  }
  section.detail = json.contains("detail");
  return section;
}

Json highlight_json(const Highlight& highlight) {
  Json json{{"label", highlight.label}, {"value", highlight.value}, {"note", highlight.note}};
  if (highlight.range)
    json["range"] = {{"low", highlight.range->low},
                     {"expected", highlight.range->expected},
                     {"high", highlight.range->high}};
  return json;
}

Highlight read_highlight(const Json& json) {
  Highlight highlight{json.at("label"), json.at("value"), json.at("note")};
  if (json.contains("range")) {
    const Json& range = json.at("range");
    highlight.range = {range.at("low"), range.at("expected"), range.at("high")};
  }
  return highlight;
}

Document read_document(const Json& json) {
  Document document{json.at("title"), json.at("lead"), {}};
  for (const Json& section : json.at("sections"))
    document.sections.push_back(read_section(section));
  if (json.contains("verdict"))
    document.verdict = {json.at("verdict").at("good"), json.at("verdict").at("text")};
  if (json.contains("highlights"))
    for (const Json& highlight : json.at("highlights"))
      document.highlights.push_back(read_highlight(highlight));
  if (json.contains("data")) document.data = read_table(json.at("data"));
  return document;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

void append_csv(const Table& table, std::string& out) {
  for (std::size_t c = 0; c < table.columns.size(); ++c)
    out += (c == 0 ? "" : ",") + csv_field(table.columns[c].header);
  out += '\n';
  for (const auto& row : table.rows) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += ',';
      out += row[c].share ? fmt::format("{}", *row[c].share) : csv_field(row[c].text);
    }
    out += '\n';
  }
}

}  // namespace

Json chart_json(const Chart& chart) {
  Json json{{"kind", chart_kinds[static_cast<std::size_t>(chart.kind)]},
            {"title", chart.title},
            {"about", chart.about},
            {"values", axis_json(chart.values)},
            {"along", axis_json(chart.along)},
            {"categories", chart.categories}};
  Json series = Json::array(), markers = Json::array();
  for (const ChartSeries& one : chart.series) {
    series.push_back({{"name", one.name},
                      {"x", saved_numbers(one.x)},
                      {"y", saved_numbers(one.y)},
                      {"low", saved_numbers(one.low)},
                      {"high", saved_numbers(one.high)},
                      {"labels", one.labels},
                      {"tone", one.tone}});
  }
  for (const ChartMarker& marker : chart.markers)
    markers.push_back({{"value", marker.value}, {"label", marker.label}});
  json["series"] = std::move(series);
  json["markers"] = std::move(markers);
  json["stacked"] = chart.stacked;
  return json;
}

Json document_json(const Document& document) {
  Json json{{"title", document.title}, {"lead", document.lead}};
  if (document.verdict)
    json["verdict"] = {{"good", document.verdict->good}, {"text", document.verdict->text}};
  if (!document.highlights.empty()) {
    Json highlights = Json::array();
    for (const Highlight& highlight : document.highlights)
      highlights.push_back(highlight_json(highlight));
    json["highlights"] = std::move(highlights);
  }
  Json sections = Json::array();
  for (const Section& section : document.sections)
    sections.push_back(section_json(section));
  json["sections"] = std::move(sections);
  if (document.data) json["data"] = table_json(*document.data);
  return json;
}

Result<Document> saved_document(const JsonDocument& result) {
  const Json& root = result.root();
  if (!root.is_object() || !root.contains("format_version")) {
    return fail(error(Code::wrong_kind_of_file, result.place(""), "this is no saved result",
                      "save one with -o json=FILE"));
  }
  if (root.at("format_version") != result_format_version) {
    return fail(error(Code::unsupported_feature, result.place("/format_version"),
                      fmt::format("this release reads format version {}", result_format_version)));
  }
  if (!root.contains("report")) {
    return fail(error(Code::wrong_kind_of_file, result.place(""),
                      "this result carries no report to show again",
                      "results of run, plan, sensitivity and diff do"));
  }
  try {
    return read_document(root.at("report"));
  } catch (const Json::exception& fault) {
    return fail(error(Code::wrong_type, result.place("/report"),
                      fmt::format("the report is not as it was written: {}", fault.what())));
  }
}

std::string saved_json(const JsonDocument& result) {
  return result.root().dump(2) + "\n";
}

std::string to_csv(const Document& document) {
  std::string out;
  if (document.data) {
    append_csv(*document.data, out);
    return out;
  }
  for (const Section& section : document.sections) {
    if (!section.table) continue;
    if (!out.empty()) out += '\n';
    append_csv(*section.table, out);
  }
  return out;
}

}  // namespace flowplan::report
