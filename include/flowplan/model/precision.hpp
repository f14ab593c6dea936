#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace flowplan::model {

/// Number formats of weights, activations and GEMMs.
enum class Precision { fp32, tf32, bf16, fp16, fp8, fp8_block, mxfp8, nvfp4 };

/// All of them, in that order.
[[nodiscard]] std::span<const Precision> all_precisions();
[[nodiscard]] std::string_view name(Precision precision);
/// The precision of that name ("bf16", "fp8", ...), whatever its case; nothing when there is none.
[[nodiscard]] std::optional<Precision> find_precision(std::string_view name);
/// Bytes of one element, block scales included (nvfp4: 0.5 + 1/16; mxfp8: 1 + 1/32; fp8_block: an
/// fp32 scale for each 128 x 1).
[[nodiscard]] double bytes_per_element(Precision precision);

}  // namespace flowplan::model
