#include "flowplan/report/html.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <kainjow/mustache.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/assert.hpp"
#include "flowplan/report/saved.hpp"
#include "page_files.hpp"

namespace flowplan::report {

namespace {

using kainjow::mustache::data;

/// Rows from which a table is folded, though open.
constexpr std::size_t long_table_rows = 16;
/// Characters from which a column of text gets room.
constexpr std::size_t wide_text = 40;
/// Characters from which a highlight is set smaller.
constexpr std::size_t long_value = 18;
/// Characters up to which a column of text is not broken.
constexpr std::size_t short_text = 20;
/// Height of what is not bars, in rows of bars.
constexpr double plot_rows = 9.0;

data object() {
  return {data::type::object};
}
data list() {
  return {data::type::list};
}

/// "Memory of one GPU, GiB" as "memory-of-one-gpu-gib", not taken yet.
std::string anchor(const std::string& title, std::set<std::string>& taken) {
  std::string slug;
  for (const char c : title) {
    const bool digit = c >= '0' && c <= '9';
    const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z';
    if (lower || digit) slug += c;
    if (upper) slug += static_cast<char>(c - 'A' + 'a');
    if (!lower && !upper && !digit && !slug.empty() && slug.back() != '-') slug += '-';
  }
  while (!slug.empty() && slug.back() == '-')
    slug.pop_back();
  std::string id = "part-" + slug;
  for (int n = 2; !taken.insert(id).second; ++n)
    id = fmt::format("part-{}-{}", slug, n);
  return id;
}

/// A number and its "%" stay in one line.
std::string worded(std::string text) {
  constexpr std::string_view parted = " %", joined = "\u00a0%";
  for (std::size_t at = text.find(parted); at != std::string::npos; at = text.find(parted, at))
    text.replace(at, parted.size(), joined);
  return text;
}

double percent_of(double share) {
  return std::isfinite(share) ? 100.0 * std::clamp(share, 0.0, 1.0) : 0.0;
}

/// Graphviz begins with an XML declaration and a document type, which do not stand inside HTML.
std::string_view svg_element(std::string_view svg) {
  const std::size_t begin = svg.find("<svg");
  return begin == std::string_view::npos ? std::string_view{} : svg.substr(begin);
}

data cell_data(const Cell& cell, bool first, const std::string& css) {
  data one = object();
  if (cell.share && !first) {
    data bar = object();
    bar.set("width", fmt::format("{:.1f}", percent_of(*cell.share)));
    one.set("bar", bar);
    return one;
  }
  data text = object();
  text.set("text", worded(cell.text));
  if (!css.empty()) text.set("css", css);
  if (cell.indent > 0) text.set("indent", fmt::format("{}", cell.indent));
  one.set(first ? "first" : "plain", text);
  return one;
}

std::vector<std::string> column_styles(const Table& table) {
  std::vector<std::string> styles;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t longest = 0;
    for (const auto& row : table.rows)
      if (c < row.size()) longest = std::max(longest, row[c].text.size());
    styles.emplace_back(table.columns[c].right  ? "right"
                        : longest > wide_text   ? "wide"
                        : longest <= short_text ? "short"
                                                : "");
  }
  return styles;
}

data table_data(const Table& table, bool detail) {
  data all = object(), columns = list(), rows = list();
  for (const Column& column : table.columns) {
    data one = object();
    one.set("header", column.header);
    if (column.right) one.set("right", data(true));
    columns.push_back(one);
  }
  const std::vector<std::string> styles = column_styles(table);
  for (const auto& row : table.rows) {
    data one = object(), cells = list();
    for (std::size_t c = 0; c < row.size(); ++c)
      cells.push_back(cell_data(row[c], c == 0, c < styles.size() ? styles[c] : ""));
    one.set("cells", cells);
    rows.push_back(one);
  }
  all.set("columns", columns);
  all.set("rows", rows);
  const bool folded = detail || table.rows.size() > long_table_rows;
  all.set("folded", data(folded));
  all.set("open", data(!detail));
  all.set("summary",
          fmt::format("{} {}", table.rows.size(), table.rows.size() == 1 ? "row" : "rows"));
  return all;
}

/// How tall a chart is, in rows of lying bars.
double chart_rows(const Chart& chart) {
  const auto categories = static_cast<double>(chart.categories.size());
  const bool lying = chart.kind == Chart::Kind::bars || chart.kind == Chart::Kind::spans;
  if (!lying) return plot_rows;
  const double side_by_side = chart.kind == Chart::Kind::bars && !chart.stacked
                                  ? 0.6 * static_cast<double>(chart.series.size())
                                  : 1.0;
  return std::clamp(categories * std::max(1.0, side_by_side), 1.0, 26.0);
}

data chart_data(const Chart& chart, std::size_t number) {
  data one = object();
  one.set("number", fmt::format("{}", number));
  one.set("title", chart.title);
  one.set("about", worded(chart.about));
  one.set("rows", fmt::format("{:.1f}", chart_rows(chart)));
  return one;
}

data section_data(const Section& section, std::set<std::string>& taken,
                  nlohmann::ordered_json& charts) {
  data one = object(), facts = list(), remarks = list(), drawn = list();
  const std::string heading = section.title.empty() ? "Summary" : section.title;
  one.set("heading", heading);
  one.set("id", anchor(heading, taken));
  for (const auto& [name, value] : section.facts) {
    data fact = object();
    fact.set("name", name);
    fact.set("value", worded(value));
    facts.push_back(fact);
  }
  for (const std::string& text : section.remarks) {
    data remark = object();
    remark.set("text", worded(text));
    remarks.push_back(remark);
  }
  if (has_charts()) {
    for (const Chart& chart : section.charts) {
      charts.push_back(chart_json(chart));
      drawn.push_back(chart_data(chart, charts.size()));
    }
  }
  one.set("has_facts", data(!section.facts.empty()));
  one.set("facts", facts);
  one.set("has_remarks", data(!section.remarks.empty()));
  one.set("remarks", remarks);
  one.set("charts", drawn);
  if (!section.picture.empty()) {
    one.set("picture", std::string(svg_element(section.picture)));
    one.set("picture_about", section.picture_about);
  }
  if (section.table) one.set("table", table_data(*section.table, section.detail));
  return one;
}

data highlights_data(const std::vector<Highlight>& highlights) {
  data all = list();
  for (const Highlight& highlight : highlights) {
    data one = object();
    one.set("label", highlight.label);
    one.set("value", worded(highlight.value));
    if (highlight.value.size() > long_value) one.set("long", data(true));
    if (!highlight.note.empty()) one.set("note", worded(highlight.note));
    if (highlight.range && highlight.range->high > highlight.range->low) {
      const Highlight::Range& r = *highlight.range;
      data range = object();
      range.set("at", fmt::format("{:.1f}", percent_of((r.expected - r.low) / (r.high - r.low))));
      one.set("range", range);
    }
    all.push_back(one);
  }
  return all;
}

/// JSON that may stand inside a script element.
std::string inside_script(const nlohmann::ordered_json& json) {
  std::string text;
  for (const char c : json.dump()) {
    if (c == '<')
      text += "\\u003c";
    else
      text += c;
  }
  return text;
}

}  // namespace

bool has_charts() {
  return !page_files::chart_library.empty();
}

std::string to_html(const Document& document) {
  data page = object();
  page.set("title", document.title);
  if (!document.lead.empty()) page.set("lead", document.lead);
  page.set("style", std::string(page_files::style));
  if (document.verdict) {
    data verdict = object();
    verdict.set("tone", document.verdict->good ? "good" : "bad");
    verdict.set("word", document.verdict->good ? "Yes." : "No.");
    verdict.set("text", worded(document.verdict->text));
    page.set("verdict", verdict);
  }
  page.set("has_highlights", data(!document.highlights.empty()));
  page.set("highlights", highlights_data(document.highlights));

  nlohmann::ordered_json charts = nlohmann::ordered_json::array();
  std::set<std::string> taken;
  data sections = list();
  for (const Section& section : document.sections)
    sections.push_back(section_data(section, taken, charts));
  page.set("sections", sections);
  page.set("chart_data", inside_script(charts));
  if (has_charts() && !charts.empty()) {
    page.set("library", std::string(page_files::chart_library));
    page.set("script", std::string(page_files::chart_script));
  }
  kainjow::mustache::mustache whole{std::string(page_files::page)};
  FLOWPLAN_ASSERT(whole.is_valid());
  return whole.render(page);
}

}  // namespace flowplan::report
