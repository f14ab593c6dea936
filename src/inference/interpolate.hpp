#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "flowplan/inference/step_table.hpp"

namespace flowplan::inference {

/// Number of the piece [x[i], x[i + 1]) that `at` is in, the outer ones going on; two points at
/// least.
inline std::size_t cell(std::span<const double> x, double at) {
  std::size_t low = 0, high = x.size() - 1;
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    (x[middle] <= at ? low : high) = middle;
  }
  return low;
}

/// Where `at` is in piece `i`: 0 at its left end, 1 at its right.
inline double fraction(std::span<const double> x, std::size_t i, double at) {
  return (at - x[i]) / (x[i + 1] - x[i]);
}

/// A grid at a fixed row: piecewise linear over its columns.
class GridRow {
 public:
  GridRow() = default;
  GridRow(const Grid& grid, double row);

  /// Value at column line `i`.
  [[nodiscard]] double at_line(std::size_t i) const {
    return low_[i] + (high_[i] - low_[i]) * between_;
  }
  [[nodiscard]] std::span<const double> columns() const { return columns_; }
  [[nodiscard]] double operator()(double column) const;

 private:
  std::span<const double> columns_, low_, high_;
  double between_ = 0.0;
};

inline GridRow::GridRow(const Grid& grid, double row) : columns_(grid.columns()) {
  const std::size_t width = columns_.size();
  const std::span<const double> all = grid.seconds();
  std::size_t i = 0;
  if (grid.rows().size() > 1) {
    i = cell(grid.rows(), row);
    between_ = fraction(grid.rows(), i, row);
  }
  low_ = all.subspan(i * width, width);
  high_ = grid.rows().size() > 1 ? all.subspan((i + 1) * width, width) : low_;
}

inline double GridRow::operator()(double column) const {
  if (columns_.size() < 2) return columns_.empty() ? 0.0 : at_line(0);
  const std::size_t i = cell(columns_, column);
  const double left = at_line(i);
  return left + (at_line(i + 1) - left) * fraction(columns_, i, column);
}

}  // namespace flowplan::inference
