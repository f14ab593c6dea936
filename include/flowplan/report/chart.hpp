#pragma once

#include <optional>
#include <string>
#include <vector>

namespace flowplan::report {

/// An axis of numbers.
struct ChartAxis {
  std::string label;  ///< with the unit; empty: none
  bool logarithmic = false;
  std::optional<double> least, most;  ///< nothing: as the data has it
};

/// Numbers that share a colour. What its vectors mean depends on the chart's kind; those that a
/// kind does not use are empty, those that it uses are equally long.
struct ChartSeries {
  std::string name;
  std::vector<double> x, y;
  std::vector<double> low, high;    ///< ends of uncertainty, or of spans
  std::vector<std::string> labels;  ///< of single points or spans
  std::string tone;                 ///< "good", "bad", "muted"; empty: the next colour
};

/// A line across a chart: what fits, what is allowed.
struct ChartMarker {
  double value = 0.0;  ///< on the axis of values
  std::string label;
};

/// A picture of numbers, for formats that can draw. Its section says the same numbers in a table.
struct Chart {
  /// `bars`: lie, one a category: `y` by category, `low` and `high` as whiskers. `columns`: the
  /// same standing. `lines`: `x`, `y`, with `low` and `high` as a band. `points`: `x`, `y`,
  /// labelled. `spans`: from `low` to `high` in the category whose number is in `x`.
  enum class Kind { bars, columns, lines, points, spans };

  Kind kind = Kind::bars;
  std::string title;
  std::string about;  ///< one sentence for who does not see it
  ChartAxis values;   ///< the axis of `y`, or of spans
  ChartAxis along;    ///< the axis of `x`, of lines and points
  std::vector<std::string> categories;
  std::vector<ChartSeries> series;
  std::vector<ChartMarker> markers;
  bool stacked = false;
};

}  // namespace flowplan::report
