#include "flowplan/compute/gemm.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "flowplan/base/assert.hpp"

namespace flowplan::compute {

namespace {

/// Seconds of arithmetic with one tile and one split of the depth.
double arithmetic(const GemmShape& shape, const GemmRates& rates, double rows, double columns,
                  double efficiency, double split) {
  const double tiles = std::ceil(static_cast<double>(shape.m) / rows) *
                       std::ceil(static_cast<double>(shape.n) / columns) *
                       static_cast<double>(shape.groups);
  const double filled = tiles * split / rates.units;
  const double waves = (1.0 - rates.wave_share) * filled + rates.wave_share * std::ceil(filled);
  const double depth = static_cast<double>(shape.k) / split + rates.extra_depth;
  const double flops = waves * rates.units * 2.0 * rows * columns * depth;
  return flops / (rates.peak.value() * rates.peak_fraction * efficiency);
}

double fastest_arithmetic(const GemmShape& shape, const GemmRates& rates, const GemmTiles& tiles) {
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < tiles.rows.size(); ++i) {
    for (const double split : tiles.splits) {
      best = std::min(best, arithmetic(shape, rates, tiles.rows[i], tiles.columns[i],
                                       tiles.efficiency[i], split));
    }
  }
  return best;
}

}  // namespace

KernelTime gemm_time(const GemmShape& shape, const GemmRates& rates, const GemmTiles& tiles) {
  FLOWPLAN_ASSERT(shape.m > 0 && shape.n > 0 && shape.k > 0 && shape.groups > 0);
  const auto m = static_cast<double>(shape.m);
  const auto n = static_cast<double>(shape.n);
  const auto k = static_cast<double>(shape.k);
  const double compute = fastest_arithmetic(shape, rates, tiles);
  const double bytes = (rates.input_bytes * (m * k + k * n) + rates.output_bytes * m * n) *
                       static_cast<double>(shape.groups);
  const double memory = bytes / rates.hbm.value();
  const double joined =
      std::pow(std::pow(compute, rates.norm) + std::pow(memory, rates.norm), 1.0 / rates.norm);

  struct Term {
    double time;
    const char* name;
  };
  std::array<Term, 3> terms{Term{compute, "tensor cores"}, Term{memory, "HBM"},
                            Term{rates.launch.value(), "launch"}};
  std::stable_sort(terms.begin(), terms.end(),
                   [](const Term& a, const Term& b) { return a.time > b.time; });
  return {Seconds(joined) + rates.launch, terms[0].name, terms[1].name};
}

}  // namespace flowplan::compute
