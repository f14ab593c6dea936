#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace flowplan::compute {

/// A smooth correction of a kernel's law, learnt from measurements: the sum of tables over pairs of
/// features, each interpolated linearly between its knots and constant beyond them.
class Surface {
 public:
  static constexpr std::size_t most_features = 8;
  struct Pair {
    std::size_t first = 0, second = 0;  ///< features
  };

  Surface() = default;
  /// `knots[i]` of feature i, rising; `values` of all pairs one after the other, the second
  /// feature's knots varying fastest: natural logarithms of measured over law. Their number must be
  /// that of the pairs' knots (see `size`).
  Surface(std::vector<std::vector<double>> knots, std::vector<Pair> pairs,
          std::vector<double> values);

  [[nodiscard]] static std::size_t size(std::span<const std::vector<double>> knots,
                                        std::span<const Pair> pairs);
  /// What the law is multiplied by; 1 for an empty surface. As many features as knots.
  [[nodiscard]] double factor(std::span<const double> features) const;
  [[nodiscard]] bool empty() const { return values_.empty(); }

  /// How far a value enters `factor`'s logarithm, which is the sum of weight times value.
  struct Part {
    std::size_t value = 0;
    double weight = 0.0;
  };
  [[nodiscard]] std::vector<Part> parts(std::span<const double> features) const;
  /// Pairs of values whose knots stand next to each other, for fits that keep it smooth.
  [[nodiscard]] std::vector<std::array<std::size_t, 2>> neighbours() const;
  [[nodiscard]] std::size_t values() const { return values_.size(); }

 private:
  std::vector<std::vector<double>> knots_;
  std::vector<Pair> pairs_;
  std::vector<double> values_;
};

}  // namespace flowplan::compute
