#include "flowplan/model/memory.hpp"

#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "real.hpp"

namespace flowplan::model {

namespace {

constexpr double wide = 2.0;  // bytes of a bf16 or fp16 element
constexpr double fp32_bytes = 4.0;
constexpr double mask_byte = 1.0;  // bytes of an element of a dropout mask

/// Bytes of one token in one layer, not yet divided among ranks.
struct TokenBytes {
  double replicated = 0, attention = 0, scores = 0, mlp = 0;
};

double attention_tokens(const Transformer& m, double input) {
  if (m.latent_attention) {
    const LatentAttention& l = *m.latent_attention;
    const double latents = real(l.q_rank + l.kv_rank + l.rope_dim);
    const double heads = real(m.heads) * real(2 * (l.nope_dim + l.rope_dim) + l.value_dim);
    return wide * (latents + heads) + input * real(m.heads * l.value_dim);
  }
  const double qkv = real(m.heads + 2 * m.kv_heads) * real(m.head_dim);
  return wide * qkv + input * real(m.heads * m.head_dim);
}

double score_tokens(const Transformer& m, double seq_len, const ActivationSetting& s) {
  if (s.fused_attention || s.recompute != Recomputation::none) return 0.0;
  const double scores = real(m.heads) * seq_len;
  return scores * (s.dropout ? 2.0 * wide + mask_byte : wide);  // softmax, its mask, masked softmax
}

/// One MLP of a width: its first matrices' outputs and the input of its last.
double mlp_tokens(const Transformer& m, std::int64_t width, const ActivationSetting& s,
                  double input) {
  const double before = wide * (m.gated_mlp ? 2.0 : 1.0) * real(width);
  return before + (s.recompute_mlp_activation ? 0.0 : input * real(width));
}

/// Of a block of linear attention: the projection's outputs, the convolution's, the values before
/// their gate and norm, and the input of the last projection.
double linear_tokens(const LinearAttention& l, double input) {
  return wide * real(l.inputs() + l.channels() + l.values()) + input * real(l.values());
}

TokenBytes token_bytes(const Transformer& m, std::int64_t seq_len, const ActivationSetting& s,
                       bool experts) {
  const double h = real(m.hidden);
  const double input = s.gemm_inputs == Precision::bf16 ? wide : bytes_per_element(s.gemm_inputs);
  TokenBytes t;
  if (s.recompute == Recomputation::full) {
    t.replicated = wide * h;
    return t;
  }
  const double mixers = m.full_share() + m.linear_share();
  const double norm_inputs = m.norms_per_layer * wide * h,
               linear_inputs = (mixers + 1.0) * input * h;
  const double masks = s.dropout ? 2.0 * mask_byte * h : 0.0;
  t.replicated = norm_inputs + linear_inputs + masks;
  t.attention = m.full_share() * attention_tokens(m, input);
  if (m.linear_attention)
    t.attention += m.linear_share() * linear_tokens(*m.linear_attention, input);
  t.scores = m.full_share() * score_tokens(m, real(seq_len), s);
  if (experts) {
    FLOWPLAN_ASSERT(m.experts.has_value());
    const Experts& e = *m.experts;
    const double dispatch_and_combine = 2.0 * wide * real(m.expert_hidden());
    const double routed = dispatch_and_combine + mlp_tokens(m, e.ffn, s, input);
    t.mlp = real(e.per_token) * s.expert_imbalance * routed +
            real(e.shared) * mlp_tokens(m, e.ffn, s, input);
  } else {
    t.mlp = mlp_tokens(m, m.ffn, s, input);
  }
  return t;
}

}  // namespace

StateFormat bf16_states() {
  return {};
}
StateFormat fp16_states() {
  return {2.0, 2.0, fp32_bytes, fp32_bytes, 2.0 * fp32_bytes};
}
StateFormat fp32_states() {
  return {fp32_bytes, fp32_bytes, 0.0, 0.0, 2.0 * fp32_bytes};
}
StateFormat lean_bf16_states() {
  return {2.0, 2.0, 0.0, fp32_bytes, 2.0 * wide};
}
StateFormat fp8_states(bool transposed_copy) {
  StateFormat format;
  format.weight = transposed_copy ? 2.0 : 1.0;
  return format;
}

StateBytes state_bytes_per_parameter(const StateFormat& format, StateSharding sharding,
                                     double shards) {
  FLOWPLAN_ASSERT(shards >= 1.0);
  const auto divided = [&](StateSharding from) { return sharding >= from ? shards : 1.0; };
  return {
      format.weight / divided(StateSharding::weights),
      format.gradient / divided(StateSharding::gradients),
      (format.gradient_copy + format.master + format.moments) / divided(StateSharding::optimizer)};
}

ActivationBytes activation_bytes(const Transformer& model, std::int64_t seq_len,
                                 std::int64_t micro_batch, const ActivationSetting& setting,
                                 bool experts) {
  FLOWPLAN_ASSERT(seq_len > 0 && micro_batch > 0 && setting.tp >= 1 && setting.cp >= 1);
  const TokenBytes token = token_bytes(model, seq_len, setting, experts);
  const double tokens = real(seq_len) * real(micro_batch) / setting.cp;
  const double split = tokens / setting.tp;
  const double whole = setting.sequence_parallel ? split : tokens;
  return {Bytes(token.replicated * whole), Bytes(token.attention * split),
          Bytes(token.scores * split), Bytes(token.mlp * split)};
}

double in_flight_micro_batches(PipelineSchedule schedule, int stage, int stages, int virtual_stages,
                               std::int64_t micro_batches) {
  FLOWPLAN_ASSERT(stage >= 0 && stage < stages && virtual_stages >= 1 && micro_batches >= 1);
  const double m = real(micro_batches), p = stages, v = virtual_stages;
  const double after = p - stage;  // stages from this one to the last
  switch (schedule) {
    case PipelineSchedule::gpipe:
      return m;
    case PipelineSchedule::one_forward_one_backward:
      return std::min(m, after);
    case PipelineSchedule::interleaved:
      if (stages == 1) return 1.0;
      if (virtual_stages == 1) return std::min(m, after);
      return std::min(m, (2.0 * (after - 1.0) + (v - 1.0) * p + 1.0) / v);
    case PipelineSchedule::zero_bubble_1:
      return std::min(m, p);
    case PipelineSchedule::zero_bubble_2:
      return std::min(m, 2.0 * p - 1.0);
    case PipelineSchedule::dual_pipe:
      return std::min(m, p + 1.0);
  }
  return m;
}

Bytes logits_bytes(const Transformer& model, std::int64_t seq_len, std::int64_t micro_batch, int tp,
                   int cp, bool fused) {
  FLOWPLAN_ASSERT(tp >= 1 && cp >= 1);
  if (fused) return Bytes(0.0);
  const double logits = real(seq_len) * real(micro_batch) * real(model.vocab) / tp / cp;
  return Bytes(logits * (wide + fp32_bytes));
}

namespace {

double kv_elements_per_layer(const Transformer& m) {
  double n = m.latent_attention ? real(m.latent_attention->kv_rank + m.latent_attention->rope_dim)
                                : 2.0 * real(m.kv_heads) * real(m.head_dim);
  if (m.sparse_attention) n += real(m.sparse_attention->head_dim);
  return n;
}

}  // namespace

Bytes kv_bytes_per_token(const Transformer& model, Precision precision) {
  const double full_layers = real(model.layers) * (model.full_share() - model.sliding_share);
  return Bytes(full_layers * kv_elements_per_layer(model) * bytes_per_element(precision));
}

Bytes linear_state_bytes(const Transformer& model) {
  if (!model.linear_attention) return Bytes(0.0);
  const LinearAttention& l = *model.linear_attention;
  const double state = real(l.value_heads * l.key_dim * l.value_dim) * fp32_bytes;
  const double inputs = real(2 * l.key_heads * l.key_dim + l.value_heads * l.value_dim);
  return Bytes(real(l.layers) * (state + real(l.convolution - 1) * inputs * wide));
}

Bytes kv_bytes(const Transformer& model, std::int64_t tokens, Precision precision) {
  FLOWPLAN_ASSERT(tokens >= 0);
  const double windowed_layers = real(model.layers) * model.sliding_share;
  const double kept = real(std::min(tokens, std::max<std::int64_t>(model.sliding_window, 0)));
  return real(tokens) * kv_bytes_per_token(model, precision) + linear_state_bytes(model) +
         Bytes(kept * windowed_layers * kv_elements_per_layer(model) *
               bytes_per_element(precision));
}

}  // namespace flowplan::model
