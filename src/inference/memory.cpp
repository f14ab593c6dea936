#include "flowplan/inference/memory.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "flowplan/model/memory.hpp"
#include "step_shapes.hpp"

namespace flowplan::inference {

namespace {

constexpr double wide_element = 2.0;

/// Share of the layers on the fullest stage.
double stage_share(const model::Transformer& m, int pp) {
  return std::ceil(real_of(m.layers) / pp) / real_of(m.layers);
}

/// One token in one layer of full or windowed attention, on one rank.
double token_bytes_a_layer(const model::Transformer& m, const Layout& l, const NumberFormats& f) {
  double elements = 2.0 * kv_heads_per_rank(m, l.tp) * real_of(m.head_dim);
  if (m.latent_attention)
    elements = real_of(m.latent_attention->kv_rank + m.latent_attention->rope_dim);
  double bytes = elements * f.kv_bytes();
  if (m.sparse_attention)
    bytes += real_of(m.sparse_attention->head_dim);  // FP8 keys of the indexer
  return bytes;
}

Bytes kv_room(const EngineProfile& engine, Bytes hbm, const WeightBytes& weights) {
  const Bytes left = hbm * engine.hbm_fraction - weights.total() - engine.other_memory;
  return std::max(Bytes(0.0), left * engine.kv_fraction);
}

Bytes kv_needed(const KvGeometry& kv, const KvDemand& demand) {
  const auto tokens = static_cast<std::int64_t>(std::ceil(demand.tokens));
  const double blocks = static_cast<double>(kv.blocks(tokens) + kv.blocks_per_sequence());
  return demand.sequences * blocks * kv.block_bytes();
}

/// Changes that are tried, each on its own, from the smallest on.
class Remedies {
 public:
  Remedies(const catalog::Instance& instance, const model::Transformer& model, const Layout& layout,
           const NumberFormats& formats, const EngineProfile& engine, const KvDemand& demand)
      : hbm_(instance.hbm_per_gpu()),
        domain_(instance.nvlink_domain_gpus),
        model_(model),
        layout_(layout),
        formats_(formats),
        engine_(engine),
        demand_(demand) {}

  std::vector<ServingRemedy> all() {
    fewer_sequences();
    narrow_cache();
    wider(&Layout::tp, "tp");
    if (model_.experts && layout_.attention_dp > 1) wider(&Layout::attention_dp, "attention_dp");
    deeper();
    narrower_weights();
    return std::move(found_);
  }

 private:
  bool try_it(const Layout& layout, const NumberFormats& formats, std::string change) {
    const Bytes room = kv_room(engine_, hbm_, weight_bytes(model_, layout, formats));
    const KvGeometry kv = kv_geometry(model_, layout, formats, engine_.block_tokens);
    if (room.value() <= 0.0 || kv_needed(kv, demand_) > room) return false;
    found_.push_back({std::move(change), room});
    return true;
  }
  void fewer_sequences() {
    const Bytes room = kv_room(engine_, hbm_, weight_bytes(model_, layout_, formats_));
    const KvGeometry kv = kv_geometry(model_, layout_, formats_, engine_.block_tokens);
    const double most = std::floor(room / kv_needed(kv, {1.0, demand_.tokens}));
    if (most < 1.0 || most >= demand_.sequences) return;
    found_.push_back(
        {fmt::format("{:.0f} sequences at once instead of {:.0f}", most, demand_.sequences), room});
  }
  void narrow_cache() {
    if (formats_.narrow_kv) return;
    NumberFormats narrow = formats_;
    narrow.narrow_kv = true;
    try_it(layout_, narrow, "KV cache in FP8");
  }
  void wider(int Layout::*degree, const char* what) {
    Layout wide = layout_;
    while (wide.ranks() * 2 <= domain_) {
      wide.*degree *= 2;
      if (wide.ep > 1) wide.ep *= 2;
      if (!check_layout(wide, model_)) return;
      if (try_it(wide, formats_, fmt::format("{} {}", what, wide.*degree))) return;
    }
  }
  void deeper() {
    Layout deep = layout_;
    constexpr int deepest = 16;
    while (deep.pp * 2 <= deepest) {
      deep.pp *= 2;
      if (!check_layout(deep, model_)) return;
      if (try_it(deep, formats_, fmt::format("pp {}", deep.pp))) return;
    }
  }
  void narrower_weights() {
    for (const WeightFormat format : {WeightFormat::fp8, WeightFormat::nvfp4}) {
      const NumberFormats narrow = usual_formats(model_, format);
      if (bytes_per_weight(format) >= bytes_per_weight(formats_.experts)) continue;
      if (try_it(layout_, narrow, fmt::format("weights in {}", name(format)))) return;
    }
  }

  Bytes hbm_;
  int domain_;
  const model::Transformer& model_;
  const Layout& layout_;
  const NumberFormats& formats_;
  const EngineProfile& engine_;
  const KvDemand& demand_;
  std::vector<ServingRemedy> found_;
};

}  // namespace

WeightBytes weight_bytes(const model::Transformer& model, const Layout& layout,
                         const NumberFormats& formats) {
  WeightBytes bytes;
  const double share = stage_share(model, layout.pp);
  for (const ProductShape& shape : product_shapes(model, layout, formats)) {
    const Bytes weights(share * shape.layers * shape.groups * shape.n * shape.k *
                        bytes_per_weight(shape.format));
    (shape.of_attention ? bytes.attention : bytes.ffn) += weights;
  }
  if (model.experts) {
    const model::Experts& e = *model.experts;
    const double matrices = model.gated_mlp ? 3.0 : 2.0;
    const double held = real_of(e.count + layout.redundant_experts) / layout.ranks();
    bytes.experts =
        Bytes(share * real_of(model.moe_layers()) * held * matrices *
              real_of(model.expert_hidden() * e.ffn) * bytes_per_weight(formats.experts));
  }
  const double matrix = real_of(model.vocab * model.hidden) * wide_element / layout.tp;
  const bool both = layout.pp == 1 && !model.tied_embeddings;
  bytes.embedding = Bytes(matrix * (both ? 2.0 : 1.0));
  return bytes;
}

KvGeometry kv_geometry(const model::Transformer& model, const Layout& layout,
                       const NumberFormats& formats, std::int64_t block_tokens) {
  KvGeometry kv;
  const AttentionLayers layers = attention_layers(model);
  const double share = stage_share(model, layout.pp);
  const double token = token_bytes_a_layer(model, layout, formats);
  kv.full_per_token = Bytes(share * layers.full * token);
  kv.windowed_per_token = Bytes(share * layers.windowed * token);
  kv.window_tokens = model.sliding_window;
  kv.state_per_sequence = share * model::linear_state_bytes(model) / layout.tp;
  kv.block_size_tokens = block_tokens;
  return kv;
}

double ServingMemory::sequences_of(double tokens) const {
  const auto whole = static_cast<std::int64_t>(std::ceil(tokens));
  const auto each = kv.blocks(whole) + kv.blocks_per_sequence();
  return each <= 0 ? 0.0 : std::floor(real_of(kv.capacity_blocks) / real_of(each));
}

ServingMemory serving_memory(const catalog::Instance& instance, const model::Transformer& model,
                             const Layout& layout, const NumberFormats& formats,
                             const EngineProfile& engine, const KvDemand& demand) {
  ServingMemory use;
  use.hbm = instance.hbm_per_gpu();
  use.allowed = use.hbm * engine.hbm_fraction;
  use.weights = weight_bytes(model, layout, formats);
  use.other = engine.other_memory;
  use.kv = kv_geometry(model, layout, formats, engine.block_tokens);
  use.kv_room = kv_room(engine, use.hbm, use.weights);
  if (use.kv.full_per_token.value() > 0.0) {
    use.kv.capacity_blocks =
        static_cast<std::int64_t>(std::floor(use.kv_room / use.kv.block_bytes()));
  }
  use.kv_needed = kv_needed(use.kv, demand);
  use.fits = use.kv_room.value() > 0.0 && use.kv_needed <= use.kv_room;
  if (use.fits) return use;
  use.binding = use.kv_room.value() > 0.0 ? "kv cache" : "weights";
  use.remedies = Remedies(instance, model, layout, formats, engine, demand).all();
  return use;
}

}  // namespace flowplan::inference
