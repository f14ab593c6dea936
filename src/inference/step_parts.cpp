#include <algorithm>
#include <cmath>
#include <string_view>

#include "step_data.hpp"

namespace flowplan::inference {

namespace {

constexpr double bf16_element = 2.0, fp32_element = 4.0, fp8_element = 1.0;
constexpr double two_flops = 2.0;
/// A chunk of linear attention and the passes over its state: three for each of two directions.
constexpr double linear_products = 6.0;
/// Prompts of a pass share one attention kernel: a prompt is priced as one of so many.
constexpr double prompts_a_pass = 2.0;
constexpr double dispatch_and_combine_bytes = 3.0;  // an element: FP8 out, 16 bits back

}  // namespace

Seconds StepModel::Data::quantise(WeightFormat format) const {
  switch (format) {
    case WeightFormat::fp8:
      return engine.quantise_fp8;
    case WeightFormat::fp8_block:
      return engine.quantise_fp8_block;
    case WeightFormat::nvfp4:
      return engine.quantise_nvfp4;
    default:
      return Seconds(0.0);
  }
}

Seconds StepModel::Data::product(const ProductShape& shape, double tokens) const {
  const double m = std::max(1.0, std::ceil(tokens));
  const std::string_view type = product_type(shape.format);
  Seconds alone{};
  if (shape.groups > 1.0) {
    const compute::GemmShape all{static_cast<std::int64_t>(m), static_cast<std::int64_t>(shape.n),
                                 static_cast<std::int64_t>(shape.k),
                                 static_cast<std::int64_t>(shape.groups)};
    alone = kernels.product(type, all)->time;
  } else {
    alone = *kernels.gemm(type, m, shape.n, shape.k);
  }
  Seconds time = alone * engine.product_scale;
  if (shape.quantised) time -= quantise(shape.format) * engine.quantise_hidden;
  const Bytes weights(shape.groups * shape.n * shape.k * bytes_per_weight(shape.format));
  const Flops flops(two_flops * m * shape.n * shape.k * shape.groups);
  return std::max({time, weights / hbm, flops / peak(shape.format)});
}

Seconds StepModel::Data::element_wise(double tokens) const {
  const double tp = layout.tp;
  double bytes = layers() * engine.hidden_bytes * real_of(model.hidden);
  bytes += real_of(model.dense_layers()) * engine.mlp_bytes * real_of(model.ffn) / tp;
  if (model.experts) {
    bytes +=
        moe_layers() * engine.mlp_bytes * real_of(model.experts->shared * model.experts->ffn) / tp;
  }
  const double heads = real_of(model.heads) / tp + 2.0 * kv_heads_per_rank(model, layout.tp);
  bytes += layers() * engine.attention_bytes * heads * real_of(model.head_dim);
  return Bytes(tokens * bytes) / element_rate();
}

/// Every projection reads its adapter, and writes and reads a row of the rank.
AdapterCost StepModel::Data::adapters(double rank) const {
  AdapterCost cost;
  for (const ProductShape& shape : shapes) {
    if (shape.groups > 1.0) continue;
    const Bytes weights(shape.layers * rank * (shape.n + shape.k) * bf16_element);
    const Bytes moved(shape.layers * (shape.n + shape.k + 2.0 * rank) * bf16_element);
    cost.per_pass += shape.layers * engine.lora_module;
    cost.per_adapter += weights / element_rate();
    cost.per_token += moved / element_rate();
    cost.adapter += weights;
  }
  return cost;
}

DenseParts StepModel::Data::dense(double tokens) const {
  DenseParts parts;
  for (const ProductShape& shape : shapes)
    parts.products += shape.layers * product(shape, tokens);
  if (layout.tp > 1) {
    const Bytes message(tokens * real_of(model.hidden) * bf16_element);
    parts.all_reduce =
        all_reduces_of_pass(model, layout) * (collectives.all_reduce(message) + engine.all_reduce);
  }
  parts.element_wise = element_wise(tokens);
  parts.launches = layers() * engine.layer;
  if (layout.pp > 1) {
    const Bytes message(tokens * real_of(model.hidden) * bf16_element / layout.tp);
    parts.stages = (layout.pp - 1.0) * collectives.send(message);
  }
  return parts;
}

double StepModel::Data::expert_scale() const {
  switch (formats.experts) {
    case WeightFormat::bf16:
      return engine.experts_wide_scale;
    case WeightFormat::fp8:
    case WeightFormat::fp8_block:
      return engine.experts_scale;
    case WeightFormat::nvfp4:
      return engine.experts_nvfp4_scale;
    case WeightFormat::mxfp4:
    case WeightFormat::int4:
      break;
  }
  return engine.experts_four_bit_scale;
}

/// Routed experts of one layer.
Seconds StepModel::Data::routed(double tokens) const {
  const model::Experts& e = *model.experts;
  compute::ExpertsShape shape;
  shape.tokens = std::max(1.0, tokens);
  shape.hidden = real_of(model.expert_hidden());
  shape.ffn = real_of(e.ffn);
  shape.per_token = real_of(e.per_token);
  shape.experts = real_of(e.count);
  shape.tp = layout.expert_tp();
  shape.ep = layout.ep;
  shape.skew = engine.expert_skew;
  // Copies of hot experts level the load.
  const double copies = real_of(layout.redundant_experts) / shape.experts;
  shape.skew *= std::max(0.0, 1.0 - copies / engine.level_share);
  Seconds fastest = *kernels.experts(expert_kernels.front(), shape);
  for (const std::string_view other : expert_kernels)
    fastest = std::min(fastest, kernels.experts(other, shape).value_or(fastest));
  Seconds time = fastest * expert_scale();
  if (formats.experts == WeightFormat::mxfp4 || formats.experts == WeightFormat::int4) {
    constexpr double most_saved = 0.5;
    time = std::max(time - engine.experts_four_bit_saved, time * most_saved);
  }
  const double rows = shape.tokens * shape.per_token / shape.ep;
  const double matrices = model.gated_mlp ? 3.0 : 2.0;
  const double width = matrices * shape.hidden * shape.ffn / shape.tp;
  WeightFormat arithmetic = formats.experts;
  if (arithmetic == WeightFormat::mxfp4 && generation == catalog::GpuGeneration::blackwell)
    arithmetic = WeightFormat::fp8;
  return std::max(time, Flops(two_flops * rows * width) / peak(arithmetic));
}

/// Tokens of one rank that it sends to their experts.
double StepModel::Data::own_tokens(double tokens) const {
  return std::max(1.0, tokens / layout.attention_dp / layout.tp);
}

/// Out of one GPU, inside an NVLink domain, dispatch and combine of one layer.
Bytes StepModel::Data::sent_to_experts(double tokens) const {
  const double copies =
      std::min(real_of(model.experts->per_token), static_cast<double>(layout.ranks()));
  return Bytes(own_tokens(tokens) * copies * real_of(model.expert_hidden()) *
               dispatch_and_combine_bytes);
}

Seconds StepModel::Data::direct_exchange(double tokens) const {
  return engine.exchange_floor +
         sent_to_experts(tokens) / (collectives.nvlink * engine.exchange_nvlink);
}

Seconds StepModel::Data::gathered_exchange(double tokens) const {
  return collectives.stage_all_reduce(Bytes(tokens * real_of(model.hidden) * bf16_element));
}

/// Dispatch and combine of one layer under attention DP.
Seconds StepModel::Data::exchange(double tokens) const {
  if (layout.attention_dp <= 1) return Seconds(0.0);
  if (collectives.stage_all_reduce.empty())
    return collectives.network_exchange(Bytes(own_tokens(tokens)));
  return std::min(gathered_exchange(tokens), direct_exchange(tokens));
}

Result<std::optional<ExchangeTraffic>> StepModel::exchange_traffic(const catalog::Catalog& catalog,
                                                                   double tokens) const {
  const Data& d = *data_;
  if (!d.model.experts || d.layout.attention_dp <= 1) return std::optional<ExchangeTraffic>();
  if (!d.collectives.stage_all_reduce.empty()) {
    if (d.gathered_exchange(tokens) < d.direct_exchange(tokens))
      return std::optional<ExchangeTraffic>();
    return std::optional(ExchangeTraffic{d.sent_to_experts(tokens), Bytes()});
  }
  const auto done = network_exchange(catalog, *d.instance, d.model, d.layout, d.own_tokens(tokens));
  if (!done) return fail(done.error());
  return std::optional(ExchangeTraffic{done->dispatch.nvlink + done->combine.nvlink,
                                       done->dispatch.network + done->combine.network});
}

ExpertParts StepModel::Data::experts(double tokens) const {
  ExpertParts parts;
  if (!model.experts) return parts;
  const double n = moe_layers();
  parts.waiting = n * engine.moe_layer;
  if (layout.attention_dp > 1) parts.waiting += n * engine.attention_dp_layer;
  parts.experts = n * routed(tokens);
  parts.exchange = n * exchange(tokens);
  if (!layout.two_batch_overlap || layout.attention_dp <= 1 || tokens < 2.0) return parts;
  // Halves: the exchange of one runs behind the kernels of the other, which lose efficiency.
  const double half = tokens / 2.0, own = tokens / layout.attention_dp;
  const Seconds kernels_of_halves = 2.0 * (n * routed(half) + dense(own / 2.0).products);
  const Seconds exchange_of_halves = 2.0 * n * exchange(half);
  const Seconds overlapped = std::max(kernels_of_halves, exchange_of_halves) - dense(own).products;
  if (overlapped < parts.experts + parts.exchange) {
    parts.exchange = std::max(Seconds(0.0), exchange_of_halves - kernels_of_halves);
    parts.experts = overlapped - parts.exchange;
  }
  return parts;
}

HeadParts StepModel::Data::head(double sequences) const {
  HeadParts parts;
  const double vocabulary = real_of(model.vocab);
  const ProductShape shape{std::ceil(vocabulary / layout.tp),
                           real_of(model.hidden),
                           1.0,
                           1.0,
                           WeightFormat::bf16,
                           false,
                           false};
  parts.product = product(shape, sequences);
  if (layout.tp > 1) {
    // A gather moves half of what an all-reduce of the same result does.
    parts.gather = collectives.all_reduce(Bytes(sequences * vocabulary * bf16_element / 2.0)) +
                   engine.all_reduce;
  }
  parts.sampling = Bytes(sequences * vocabulary * engine.logit_bytes) / element_rate();
  return parts;
}

Seconds StepModel::Data::decode_of_kind(double sequences, double context, double window) const {
  const double queries = 1.0 + draft_tokens;
  compute::DecodeShape shape;
  shape.batch = sequences;
  shape.context = context;
  shape.heads = real_of(model.heads) / layout.tp * queries;
  shape.kv_heads = kv_heads_per_rank(model, layout.tp);
  shape.head_dim = real_of(model.head_dim);
  shape.window = window;
  const double scale = formats.narrow_kv ? engine.decode_scale : engine.decode_wide_scale;
  const double read = window > 0.0 ? std::min(window, context) : context;
  const Bytes cache_read(sequences * read * 2.0 * shape.kv_heads * shape.head_dim *
                         formats.kv_bytes());
  return std::max(*kernels.decode(cache(), shape) * scale, cache_read / hbm);
}

Seconds StepModel::Data::latent_decode_layer(double sequences, double context) const {
  const model::LatentAttention& a = *model.latent_attention;
  const double scale = formats.narrow_kv ? engine.decode_scale : engine.decode_wide_scale;
  const double queries = 1.0 + draft_tokens;
  double read = context;
  Seconds indexer{};
  if (model.sparse_attention) {
    const model::SparseAttention& s = *model.sparse_attention;
    read = std::min(context, real_of(s.top_k));
    const Bytes keys(sequences * context * real_of(s.head_dim) * fp8_element);
    const Flops scores(two_flops * queries * sequences * context * real_of(s.heads * s.head_dim));
    indexer =
        std::max(keys / element_rate(), scores / (peak(WeightFormat::fp8) * engine.linear_peak));
  }
  const compute::LatentShape shape{sequences, read, real_of(model.heads) / layout.tp * queries};
  const Bytes cache_read(sequences * read * real_of(a.kv_rank + a.rope_dim) * formats.kv_bytes());
  return std::max(*kernels.latent_decode(cache(), shape) * scale, cache_read / hbm) + indexer;
}

/// States read and written, one layer.
Seconds StepModel::Data::linear_decode(double sequences) const {
  const model::LinearAttention& l = *model.linear_attention;
  const double state = real_of(l.value_heads * l.key_dim * l.value_dim) / layout.tp * fp32_element;
  return Bytes(2.0 * sequences * state) / element_rate();
}

Seconds StepModel::Data::linear_prefill(double tokens) const {
  const model::LinearAttention& l = *model.linear_attention;
  const Flops flops(tokens * two_flops * linear_products *
                    real_of(l.value_heads * l.key_dim * l.value_dim) / layout.tp);
  return flops / (peak(WeightFormat::bf16) * engine.linear_peak);
}

Seconds StepModel::Data::decode(double sequences, double context) const {
  Seconds time{};
  if (model.latent_attention) {
    time = attention.full * latent_decode_layer(sequences, context);
  } else {
    if (attention.full > 0.0) time += attention.full * decode_of_kind(sequences, context, 0.0);
    if (attention.windowed > 0.0) {
      time +=
          attention.windowed * decode_of_kind(sequences, context, real_of(model.sliding_window));
    }
  }
  if (attention.linear > 0.0) time += attention.linear * linear_decode(sequences);
  return time;
}

Seconds StepModel::Data::prefill_of_kind(double tokens, double window) const {
  const double prompts = prompts_a_pass;
  const double heads = real_of(model.heads) / layout.tp;
  const double scale = formats.narrow_kv ? engine.prefill_scale : engine.prefill_wide_scale;
  if (model.latent_attention) {
    const model::LatentAttention& a = *model.latent_attention;
    const compute::LatentShape shape{prompts, tokens, heads};
    const double width = real_of(a.nope_dim + a.rope_dim + a.value_dim);
    const Flops flops(prompts * heads * width * tokens * tokens);
    return std::max(*kernels.latent_prefill(cache(), shape) * scale,
                    flops / peak(WeightFormat::bf16)) /
           prompts;
  }
  compute::PrefillShape shape;
  shape.batch = prompts;
  shape.seq_len = tokens;
  shape.heads = heads;
  shape.kv_heads = kv_heads_per_rank(model, layout.tp);
  shape.head_dim = real_of(model.head_dim);
  shape.window = window;
  shape.narrow_kv = formats.narrow_kv;
  const Seconds wide = *kernels.prefill("bf16", shape);
  const auto narrow = formats.narrow_kv ? kernels.prefill("fp8", shape) : std::nullopt;
  const double keys = window > 0.0 ? std::min(window, tokens) : tokens;
  const Flops flops(prompts * heads * two_flops * shape.head_dim * tokens * keys);
  return std::max(narrow.value_or(wide) * scale,
                  flops / peak(narrow ? WeightFormat::fp8 : WeightFormat::bf16)) /
         prompts;
}

Seconds StepModel::Data::prefill(double tokens) const {
  Seconds time{};
  if (attention.full > 0.0) time += attention.full * prefill_of_kind(tokens, 0.0);
  if (attention.windowed > 0.0)
    time += attention.windowed * prefill_of_kind(tokens, real_of(model.sliding_window));
  if (attention.linear > 0.0) time += attention.linear * linear_prefill(tokens);
  return time;
}

}  // namespace flowplan::inference
