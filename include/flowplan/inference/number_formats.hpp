#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "flowplan/catalog/hardware.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::inference {

/// How a serving engine stores a class of weights. `fp8`: one scale a tensor, activations quantised
/// as they come; `fp8_block`: a scale for 128 x 128; `nvfp4`, `mxfp4`: 4 bits with a scale for 16
/// and 32; `int4`: 4-bit weights that meet 16-bit activations.
enum class WeightFormat { bf16, fp8, fp8_block, nvfp4, mxfp4, int4 };
[[nodiscard]] std::span<const WeightFormat> all_weight_formats();
[[nodiscard]] std::string_view name(WeightFormat format);
/// The format of that name; "fp16" is bf16.
[[nodiscard]] std::optional<WeightFormat> find_weight_format(std::string_view name);
/// Bytes of one weight, scales included.
[[nodiscard]] double bytes_per_weight(WeightFormat format);

/// The name in compute::KernelTable of the format's matrix products.
[[nodiscard]] std::string_view product_type(WeightFormat format);
/// Names of kernels of routed experts that an engine may choose from, the format's own first: MXFP4
/// and 4-bit integers meet 16-bit activations before Blackwell, MXFP4 8-bit ones from there; NVFP4
/// has kernels of small batches, which not every engine has for every routing; on Blackwell kernels
/// of FP8 blocks reach at least what those with one scale a tensor do.
[[nodiscard]] std::vector<std::string_view> experts_types(WeightFormat format,
                                                          catalog::GpuGeneration generation,
                                                          bool small_batches);

/// Formats by class of weights, and of the KV cache.
struct NumberFormats {
  WeightFormat attention = WeightFormat::bf16;
  WeightFormat ffn = WeightFormat::bf16;      ///< dense MLPs and shared experts
  WeightFormat experts = WeightFormat::bf16;  ///< routed ones
  bool narrow_kv = false;                     ///< FP8 instead of 16 bits

  /// Bytes of an element of the KV cache.
  [[nodiscard]] double kv_bytes() const { return narrow_kv ? 1.0 : 2.0; }
};

/// What a checkpoint sold as `format` usually is: MXFP4 and 4-bit integers in the routed experts
/// only; NVFP4 of a model with experts leaves attention in 16 bits; a narrow KV cache but for
/// bf16. Embedding, head and router stay in 16 bits always.
[[nodiscard]] NumberFormats usual_formats(const model::Transformer& model, WeightFormat format);

}  // namespace flowplan::inference
