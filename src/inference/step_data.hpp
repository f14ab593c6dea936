#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "flowplan/compute/kernel_table.hpp"
#include "flowplan/inference/step_model.hpp"
#include "step_collectives.hpp"
#include "step_shapes.hpp"

namespace flowplan::inference {

/// What the parts of a pass are priced with: step_parts.cpp.
struct StepModel::Data {
  const catalog::Instance* instance = nullptr;
  model::Transformer model;
  Layout layout;
  NumberFormats formats;
  EngineProfile engine;
  int draft_tokens = 0;

  compute::KernelTable kernels;
  StepCollectives collectives;
  std::vector<ProductShape> shapes;
  AttentionLayers attention;
  catalog::GpuGeneration generation{};
  std::vector<std::string_view> expert_kernels;  // to choose from
  BytesPerSecond hbm{};
  std::vector<FlopsPerSecond> peaks;  // by WeightFormat

  [[nodiscard]] double layers() const { return real_of(model.layers); }
  [[nodiscard]] double moe_layers() const { return real_of(model.moe_layers()); }
  [[nodiscard]] FlopsPerSecond peak(WeightFormat format) const {
    return peaks[static_cast<std::size_t>(format)];
  }
  [[nodiscard]] BytesPerSecond element_rate() const { return hbm * engine.element_hbm; }
  [[nodiscard]] std::string_view cache() const { return formats.narrow_kv ? "fp8" : "bf16"; }

  [[nodiscard]] Seconds quantise(WeightFormat format) const;
  [[nodiscard]] Seconds product(const ProductShape& shape, double tokens) const;
  [[nodiscard]] Seconds element_wise(double tokens) const;
  [[nodiscard]] AdapterCost adapters(double rank) const;
  [[nodiscard]] double expert_scale() const;
  [[nodiscard]] Seconds routed(double tokens) const;
  [[nodiscard]] double own_tokens(double tokens) const;
  [[nodiscard]] Bytes sent_to_experts(double tokens) const;
  [[nodiscard]] Seconds direct_exchange(double tokens) const;
  [[nodiscard]] Seconds gathered_exchange(double tokens) const;
  [[nodiscard]] Seconds exchange(double tokens) const;
  [[nodiscard]] Seconds decode_of_kind(double sequences, double context, double window) const;
  [[nodiscard]] Seconds latent_decode_layer(double sequences, double context) const;
  [[nodiscard]] Seconds prefill_of_kind(double tokens, double window) const;
  [[nodiscard]] Seconds linear_decode(double sequences) const;
  [[nodiscard]] Seconds linear_prefill(double tokens) const;

  [[nodiscard]] DenseParts dense(double tokens) const;
  [[nodiscard]] ExpertParts experts(double tokens) const;
  [[nodiscard]] HeadParts head(double sequences) const;
  [[nodiscard]] Seconds decode(double sequences, double context) const;
  [[nodiscard]] Seconds prefill(double tokens) const;
};

}  // namespace flowplan::inference
