#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/number_formats.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::inference {

/// A whole number in arithmetic.
inline double real_of(std::int64_t n) {
  return static_cast<double>(n);
}

/// A matrix product that every token of a lane goes through on one rank: (m x k) times (k x n),
/// `groups` of them at once, in `layers` of the model's layers.
struct ProductShape {
  double n = 0, k = 0, groups = 1, layers = 0;
  WeightFormat format = WeightFormat::bf16;
  bool quantised = true;  ///< its input is quantised by a kernel of its own, unless fused
  bool of_attention = true;
};

/// Layers of each kind of attention.
struct AttentionLayers {
  double full = 0, windowed = 0, linear = 0;
};
[[nodiscard]] AttentionLayers attention_layers(const model::Transformer& model);

/// Projections, dense MLPs, shared experts, router of one rank.
[[nodiscard]] std::vector<ProductShape> product_shapes(const model::Transformer& model,
                                                       const Layout& layout,
                                                       const NumberFormats& formats);

}  // namespace flowplan::inference
