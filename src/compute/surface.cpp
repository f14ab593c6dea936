#include "flowplan/compute/surface.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "flowplan/base/assert.hpp"

namespace flowplan::compute {

namespace {

/// Where a value lies between two knots.
struct Between {
  std::size_t index = 0;
  double part = 0.0;  // of the knot after it
};

Between locate(const std::vector<double>& knots, double x) {
  if (x <= knots.front()) return {};
  if (x >= knots.back()) return {knots.size() - 1, 0.0};
  const auto above = std::upper_bound(knots.begin(), knots.end(), x);
  const auto index = static_cast<std::size_t>(above - knots.begin()) - 1;
  return {index, (x - knots[index]) / (knots[index + 1] - knots[index])};
}

}  // namespace

Surface::Surface(std::vector<std::vector<double>> knots, std::vector<Pair> pairs,
                 std::vector<double> values)
    : knots_(std::move(knots)), pairs_(std::move(pairs)), values_(std::move(values)) {
  FLOWPLAN_ASSERT(knots_.size() <= most_features && values_.size() == size(knots_, pairs_));
}

std::size_t Surface::size(std::span<const std::vector<double>> knots, std::span<const Pair> pairs) {
  std::size_t sum = 0;
  for (const Pair& pair : pairs)
    sum += knots[pair.first].size() * knots[pair.second].size();
  return sum;
}

double Surface::factor(std::span<const double> features) const {
  if (values_.empty()) return 1.0;
  FLOWPLAN_ASSERT(features.size() == knots_.size());
  std::array<Between, most_features> at{};
  for (std::size_t i = 0; i < knots_.size(); ++i)
    at[i] = locate(knots_[i], features[i]);
  double sum = 0.0;
  std::size_t start = 0;
  for (const Pair& pair : pairs_) {
    const std::size_t columns = knots_[pair.second].size();
    const Between& a = at[pair.first];
    const Between& b = at[pair.second];
    const auto value = [&](std::size_t row, std::size_t column) {
      return values_[start + row * columns + column];
    };
    const auto row = [&](std::size_t r) {
      const double first = value(r, b.index);
      return b.part > 0.0 ? first + b.part * (value(r, b.index + 1) - first) : first;
    };
    const double first = row(a.index);
    sum += a.part > 0.0 ? first + a.part * (row(a.index + 1) - first) : first;
    start += knots_[pair.first].size() * columns;
  }
  return std::exp(sum);
}

std::vector<Surface::Part> Surface::parts(std::span<const double> features) const {
  FLOWPLAN_ASSERT(features.size() == knots_.size());
  std::vector<Part> parts;
  std::size_t start = 0;
  for (const Pair& pair : pairs_) {
    const std::size_t columns = knots_[pair.second].size();
    const Between a = locate(knots_[pair.first], features[pair.first]);
    const Between b = locate(knots_[pair.second], features[pair.second]);
    for (const auto& [row, of_row] : {std::pair{a.index, 1.0 - a.part}, {a.index + 1, a.part}}) {
      for (const auto& [column, of_column] :
           {std::pair{b.index, 1.0 - b.part}, {b.index + 1, b.part}}) {
        if (of_row > 0.0 && of_column > 0.0)
          parts.push_back({start + row * columns + column, of_row * of_column});
      }
    }
    start += knots_[pair.first].size() * columns;
  }
  return parts;
}

std::vector<std::array<std::size_t, 2>> Surface::neighbours() const {
  std::vector<std::array<std::size_t, 2>> pairs;
  std::size_t start = 0;
  for (const Pair& pair : pairs_) {
    const std::size_t rows = knots_[pair.first].size(), columns = knots_[pair.second].size();
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::size_t column = 0; column < columns; ++column) {
        const std::size_t at = start + row * columns + column;
        if (column + 1 < columns) pairs.push_back({at, at + 1});
        if (row + 1 < rows) pairs.push_back({at, at + columns});
      }
    }
    start += rows * columns;
  }
  return pairs;
}

}  // namespace flowplan::compute
