#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "flowplan/report/chart.hpp"

namespace flowplan::report {

/// One cell of a table. A share is drawn as a bar.
struct Cell {
  std::string text;
  int indent = 0;               ///< levels, for trees
  std::optional<double> share;  ///< 0..1

  Cell() = default;
  Cell(std::string t) : text(std::move(t)) {}  // NOLINT: cells are mostly text
  Cell(const char* t) : text(t) {}             // NOLINT
  [[nodiscard]] static Cell bar(double share);
  [[nodiscard]] static Cell at_depth(std::string text, int indent);
};

struct Column {
  std::string header;  ///< with the unit
  bool right = true;   ///< numbers are aligned right, text left
};

struct Table {
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows;
};

/// A part of a report: any of facts (name and value), a table and remarks, in this order.
struct Section {
  std::string title;  ///< empty: no heading
  std::vector<std::pair<std::string, std::string>> facts;
  std::optional<Table> table;
  std::vector<std::string> remarks;
  std::vector<Chart> charts = {};  ///< drawn by HTML alone
  std::string picture = {};        ///< an SVG, shown by HTML alone
  std::string picture_about = {};  ///< one sentence for who does not see it
  bool detail = false;             ///< for who looks things up: HTML keeps its table folded
};

/// A figure that a decision is made by.
struct Highlight {
  std::string label, value;
  std::string note;  ///< what it assumes, or its range in words; may be empty
  /// Its uncertainty, in one unit; nothing when it has none.
  struct Range {
    double low = 0.0, expected = 0.0, high = 0.0;
  };
  std::optional<Range> range = {};
};

/// Whether it can be done, in a sentence.
struct Verdict {
  bool good = true;
  std::string text;
};

/// A report without a format. What it says is decided once; how it looks is each renderer's job.
struct Document {
  std::string title;
  std::string lead;  ///< a sentence under the title; may be empty
  std::vector<Section> sections;
  std::optional<Verdict> verdict = {};     ///< above all else in HTML
  std::vector<Highlight> highlights = {};  ///< the same
  std::optional<Table> data = {};          ///< exact numbers, for spreadsheets: CSV
};

}  // namespace flowplan::report
