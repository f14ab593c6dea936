#include "flowplan/report/markdown.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace flowplan::report {

namespace {

constexpr double markdown_bar_cells = 20;

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '|' || c == '<' || c == '*' || c == '`' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result;
}

std::string cell_text(const Cell& cell) {
  std::string text;
  if (cell.share) {
    const double clamped = std::clamp(std::isfinite(*cell.share) ? *cell.share : 0.0, 0.0, 1.0);
    for (long i = 0; i < std::lround(clamped * markdown_bar_cells); ++i)
      text += "█";
    return text;
  }
  for (int i = 0; i < cell.indent; ++i)
    text += "&emsp;";
  return text + escaped(cell.text);
}

void append(std::string& out, const Table& table) {
  out += "|";
  for (const Column& column : table.columns)
    out += " " + escaped(column.header) + " |";
  out += "\n|";
  for (const Column& column : table.columns)
    out += column.right ? " ---: |" : " --- |";
  out += "\n";
  for (const auto& row : table.rows) {
    out += "|";
    for (const Cell& cell : row)
      out += " " + cell_text(cell) + " |";
    out += "\n";
  }
}

}  // namespace

std::string to_markdown(const Document& document) {
  std::string out;
  if (!document.title.empty()) out += "# " + escaped(document.title) + "\n";
  if (!document.lead.empty()) out += "\n" + escaped(document.lead) + "\n";
  for (const Section& section : document.sections) {
    if (!out.empty()) out += "\n";
    if (!section.title.empty()) out += "## " + escaped(section.title) + "\n\n";
    if (!section.facts.empty()) {
      out += "| | |\n| --- | --- |\n";
      for (const auto& [name, value] : section.facts)
        out += "| " + escaped(name) + " | " + escaped(value) + " |\n";
    }
    if (section.table) {
      if (!section.facts.empty()) out += "\n";
      append(out, *section.table);
    }
    if (!section.remarks.empty() && (section.table || !section.facts.empty())) out += "\n";
    for (const std::string& remark : section.remarks)
      out += "- " + escaped(remark) + "\n";
  }
  return out;
}

}  // namespace flowplan::report
