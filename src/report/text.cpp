#include "flowplan/report/text.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace flowplan::report {

namespace {

constexpr std::size_t bar_cells = 20;
constexpr std::string_view gap = "  ";

/// Characters that a terminal shows for UTF-8 text.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

std::string bar(double share, bool unicode) {
  const double clamped = std::clamp(std::isfinite(share) ? share : 0.0, 0.0, 1.0);
  std::string text;
  if (!unicode) {
    text.assign(static_cast<std::size_t>(std::lround(clamped * bar_cells)), '#');
    return text;
  }
  // Eighths of a block.
  static constexpr const char* eighth[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = static_cast<std::size_t>(std::lround(clamped * bar_cells * 8));
  for (std::size_t i = 0; i < eighths / 8; ++i)
    text += "█";
  return text + eighth[eighths % 8];
}

std::string spaces(std::size_t n) {
  return std::string(n, ' ');
}

void strip_trailing_spaces(std::string& text) {
  text.erase(text.find_last_not_of(' ') + 1);
}

class Writer {
 public:
  explicit Writer(const TextStyle& style) : style_(style) {}

  void heading(const std::string& title) { text_ += bold(title) + "\n"; }
  void line(const std::string& line) { text_ += line + "\n"; }

  void facts(const std::vector<std::pair<std::string, std::string>>& facts) {
    std::size_t widest = 0;
    for (const auto& [name, value] : facts)
      widest = std::max(widest, width(name));
    for (const auto& [name, value] : facts) {
      std::string row = std::string(gap) + name + spaces(widest - width(name) + gap.size()) + value;
      strip_trailing_spaces(row);
      line(row);
    }
  }

  void table(const Table& table) {
    std::vector<std::size_t> widths;
    for (const Column& column : table.columns)
      widths.push_back(width(column.header));
    std::vector<std::vector<std::string>> cells;
    for (const auto& row : table.rows) {
      auto& line_cells = cells.emplace_back();
      for (std::size_t c = 0; c < row.size(); ++c) {
        line_cells.push_back(cell(row[c]));
        widths[c] = std::max(widths[c], width(line_cells.back()));
      }
    }
    std::vector<std::string> headers;
    for (const Column& column : table.columns)
      headers.push_back(column.header);
    row(table, headers, widths);
    for (const auto& line_cells : cells)
      row(table, line_cells, widths);
  }

  void remark(const std::string& text) { line(std::string(gap) + "- " + text); }
  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  [[nodiscard]] std::string bold(const std::string& text) const {
    return style_.colour ? "\x1b[1m" + text + "\x1b[0m" : text;
  }

  [[nodiscard]] std::string cell(const Cell& cell) const {
    if (cell.share) return bar(*cell.share, style_.unicode);
    return spaces(static_cast<std::size_t>(2 * cell.indent)) + cell.text;
  }

  void row(const Table& table, const std::vector<std::string>& cells,
           const std::vector<std::size_t>& widths) {
    std::string text;
    for (std::size_t c = 0; c < cells.size(); ++c) {
      const std::string padding = spaces(widths[c] - width(cells[c]));
      text += gap;
      text += table.columns[c].right ? padding + cells[c] : cells[c] + padding;
    }
    strip_trailing_spaces(text);
    line(text);
  }

  TextStyle style_;
  std::string text_;
};

}  // namespace

std::string to_text(const Document& document, const TextStyle& style) {
  Writer writer(style);
  if (!document.title.empty()) writer.heading(document.title);
  if (!document.lead.empty()) writer.line(document.lead);
  bool first = document.title.empty() && document.lead.empty();
  for (const Section& section : document.sections) {
    if (!first) writer.line("");
    first = false;
    if (!section.title.empty()) writer.heading(section.title);
    writer.facts(section.facts);
    if (section.table) writer.table(*section.table);
    for (const std::string& remark : section.remarks)
      writer.remark(remark);
  }
  return writer.take();
}

}  // namespace flowplan::report
