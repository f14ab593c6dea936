#include "flowplan/inference/number_formats.hpp"

#include <array>

namespace flowplan::inference {

namespace {

struct NamedFormat {
  WeightFormat format;
  std::string_view name;
  double bytes;
};
// 4 bits: a scale byte for 16 (NVFP4), for 32 (MXFP4), 16 bits for 32 (integers); fp8_block: four
// bytes for 128 x 128.
constexpr std::array named_formats{
    NamedFormat{WeightFormat::bf16, "bf16", 2.0},
    NamedFormat{WeightFormat::fp8, "fp8", 1.0},
    NamedFormat{WeightFormat::fp8_block, "fp8_block", 1.0 + 4.0 / (128.0 * 128.0)},
    NamedFormat{WeightFormat::nvfp4, "nvfp4", 0.5 + 1.0 / 16.0},
    NamedFormat{WeightFormat::mxfp4, "mxfp4", 0.5 + 1.0 / 32.0},
    NamedFormat{WeightFormat::int4, "int4", 0.5 + 2.0 / 32.0}};
constexpr std::array every_format{WeightFormat::bf16,  WeightFormat::fp8,   WeightFormat::fp8_block,
                                  WeightFormat::nvfp4, WeightFormat::mxfp4, WeightFormat::int4};

const NamedFormat& named(WeightFormat format) {
  return named_formats[static_cast<std::size_t>(format)];
}

}  // namespace

std::span<const WeightFormat> all_weight_formats() {
  return every_format;
}

std::string_view name(WeightFormat format) {
  return named(format).name;
}

std::optional<WeightFormat> find_weight_format(std::string_view name) {
  if (name == "fp16") return WeightFormat::bf16;
  for (const NamedFormat& known : named_formats) {
    if (known.name == name) return known.format;
  }
  return std::nullopt;
}

double bytes_per_weight(WeightFormat format) {
  return named(format).bytes;
}

std::string_view product_type(WeightFormat format) {
  switch (format) {
    case WeightFormat::mxfp4:
    case WeightFormat::int4:
      return "int4_wo";
    default:
      return name(format);
  }
}

std::vector<std::string_view> experts_types(WeightFormat format, catalog::GpuGeneration generation,
                                            bool small_batches) {
  const bool blackwell = generation == catalog::GpuGeneration::blackwell;
  switch (format) {
    case WeightFormat::mxfp4:
      return {blackwell ? "w4a8_mxfp4_mxfp8" : "w4a16_mxfp4"};
    case WeightFormat::int4:
      return {"w4a16_mxfp4"};
    case WeightFormat::nvfp4:
      if (small_batches) return {"nvfp4", "nvfp4.min_latency"};
      return {"nvfp4"};
    case WeightFormat::fp8_block:
      if (blackwell) return {"fp8_block", "fp8"};
      return {"fp8_block"};
    default:
      return {name(format)};
  }
}

NumberFormats usual_formats(const model::Transformer& model, WeightFormat format) {
  NumberFormats formats{format, format, format, format != WeightFormat::bf16};
  const bool experts_only = format == WeightFormat::mxfp4 || format == WeightFormat::int4;
  if (model.experts && experts_only) formats.attention = formats.ffn = WeightFormat::bf16;
  if (model.experts && format == WeightFormat::nvfp4) formats.attention = WeightFormat::bf16;
  return formats;
}

}  // namespace flowplan::inference
