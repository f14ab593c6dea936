#include "flowplan/model/transformer.hpp"

#include <algorithm>

#include "flowplan/base/assert.hpp"
#include "real.hpp"

namespace flowplan::model {

namespace {

constexpr double backward_and_forward = 3.0;  // backward is two GEMMs for each of the forward
constexpr double multiply_add = 2.0;

/// Width of a head's query and key, and of its value.
double query_dim(const Transformer& m) {
  return m.latent_attention ? real(m.latent_attention->nope_dim + m.latent_attention->rope_dim)
                            : real(m.head_dim);
}
double value_dim(const Transformer& m) {
  return m.latent_attention ? real(m.latent_attention->value_dim) : real(m.head_dim);
}

/// The same of a block of linear attention: q, k, v and the output's gate; decay and step size a
/// value head; the convolution's taps; the output.
double linear_attention_matrices(const Transformer& m) {
  const LinearAttention& l = *m.linear_attention;
  return real(m.hidden) * real(l.inputs()) + real(l.convolution) * real(l.channels()) +
         real(l.values()) * real(m.hidden);
}

/// `full` and `linear` of one layer each, averaged over the layers.
double over_layers(const Transformer& m, double full, double linear) {
  return m.full_share() * full + m.linear_share() * linear;
}

/// Elements of the weight matrices of one block of full attention, the indexer's included.
double full_attention_matrices(const Transformer& m) {
  const double h = real(m.hidden), a = real(m.heads), g = real(m.kv_heads), d = real(m.head_dim);
  double n = 2.0 * h * d * (a + g) + (m.attention_gate ? h * d * a : 0.0);
  double query_source = h;
  if (m.latent_attention) {
    const LatentAttention& l = *m.latent_attention;
    const double qk = query_dim(m);
    query_source = l.q_rank > 0 ? real(l.q_rank) : h;
    n = (l.q_rank > 0 ? h * query_source : 0.0) + query_source * a * qk +
        h * real(l.kv_rank + l.rope_dim) + real(l.kv_rank) * a * real(l.nope_dim + l.value_dim) +
        a * real(l.value_dim) * h;
  }
  if (m.sparse_attention) {
    const SparseAttention& s = *m.sparse_attention;
    n += query_source * real(s.heads * s.head_dim) + h * real(s.head_dim) + h * real(s.heads);
  }
  return n;
}

double attention_matrices(const Transformer& m) {
  return over_layers(m, full_attention_matrices(m),
                     m.linear_attention ? linear_attention_matrices(m) : 0.0);
}

double attention_vectors(const Transformer& m) {
  const double h = real(m.hidden), a = real(m.heads), g = real(m.kv_heads), d = real(m.head_dim);
  double n = 0.0;
  if (m.attention_bias) n += (a + 2.0 * g) * d;
  if (m.output_bias) n += h;
  if (m.attention_sinks) n += a;
  return n;
}

double mlp_matrices(const Transformer& m, std::int64_t width) {
  return (m.gated_mlp ? 3.0 : 2.0) * real(m.hidden) * real(width);
}

double mlp_vectors(const Transformer& m, std::int64_t width) {
  if (!m.mlp_bias) return 0.0;
  return (m.gated_mlp ? 2.0 : 1.0) * real(width) + real(m.hidden);
}

double layer_norms(const Transformer& m) {
  const double norm = real(m.hidden) * (m.norm_bias ? 2.0 : 1.0);
  double n = m.norms_per_layer * norm;
  if (m.qk_norm) n += over_layers(m, 2.0 * real(m.head_dim), 0.0);
  if (m.linear_attention) {  // a norm over value heads, a decay and an offset a head
    const LinearAttention& l = *m.linear_attention;
    // Mamba-2: a norm over all values, three scalars a head, the convolution's offsets.
    n += over_layers(m, 0.0,
                     l.mamba ? real(l.values() + 3 * l.value_heads + l.channels())
                             : real(l.value_dim + 2 * l.value_heads));
  }
  if (m.latent_attention) n += real(m.latent_attention->q_rank + m.latent_attention->kv_rank);
  if (m.sparse_attention) n += 2.0 * real(m.sparse_attention->head_dim);
  return n;
}

/// A routed expert, at the width that experts see.
double expert_matrices(const Transformer& m) {
  return (m.gated_mlp ? 3.0 : 2.0) * real(m.expert_hidden()) * real(m.experts->ffn);
}

/// To the experts' width and back.
double latent_matrices(const Transformer& m) {
  return 2.0 * real(m.hidden) * real(m.experts->latent);
}

/// Mean number of keys that a query reads, over a sequence of `seq_len`.
double mean_keys(double seq_len, double window, AttentionCredit credit) {
  if (window > 0.0 && window < seq_len) {
    return credit == AttentionCredit::full ? window : window - window * window / (2.0 * seq_len);
  }
  return credit == AttentionCredit::full ? seq_len : seq_len / 2.0;
}

double attention_core(const Transformer& m, double seq_len, AttentionCredit credit) {
  const double per_key = multiply_add * real(m.heads) * (query_dim(m) + value_dim(m));
  const double everywhere = m.sparse_attention
                                ? mean_keys(seq_len, real(m.sparse_attention->top_k), credit)
                                : mean_keys(seq_len, 0.0, credit);
  const double windowed = mean_keys(seq_len, real(m.sliding_window), credit);
  double flops = per_key * ((1.0 - m.sliding_share) * everywhere + m.sliding_share * windowed);
  if (m.linear_attention) {  // the state is decayed, updated and read
    const LinearAttention& l = *m.linear_attention;
    constexpr double state_passes = 3.0;
    flops = over_layers(
        m, flops, multiply_add * state_passes * real(l.value_heads * l.key_dim * l.value_dim));
  }
  if (m.sparse_attention) {  // the indexer scores every key
    flops += multiply_add * real(m.sparse_attention->heads * m.sparse_attention->head_dim) *
             mean_keys(seq_len, 0.0, credit);
  }
  return flops;
}

}  // namespace

bool Transformer::has_experts(std::int64_t index) const {
  if (!experts || index < experts->dense_layers) return false;
  return (index - experts->dense_layers + 1) % experts->every == 0;
}

double Transformer::full_share() const {
  return linear_attention ? real(linear_attention->full_layers) / real(layers) : 1.0;
}

double Transformer::linear_share() const {
  return linear_attention ? real(linear_attention->layers) / real(layers) : 0.0;
}

std::int64_t Transformer::moe_layers() const {
  return experts ? (layers - experts->dense_layers) / experts->every : 0;
}

Parameters count_parameters(const Transformer& m) {
  Parameters p;
  p.embedding = real(m.vocab) * real(m.hidden);
  if (m.learned_positions) p.embedding += real(m.context) * real(m.hidden);
  if (!m.tied_embeddings) p.output = real(m.vocab) * real(m.hidden);
  p.attention = attention_matrices(m) + attention_vectors(m);
  p.norms = layer_norms(m);
  p.final_norm = real(m.hidden) * (m.norm_bias ? 2.0 : 1.0);
  p.dense_mlp = mlp_matrices(m, m.ffn) + mlp_vectors(m, m.ffn);

  double active_expert_mlp = 0.0;
  if (m.experts) {
    const Experts& e = *m.experts;
    const double expert = expert_matrices(m) + mlp_vectors(m, e.ffn);
    const double shared = real(e.shared) * (mlp_matrices(m, e.ffn) + mlp_vectors(m, e.ffn));
    const double gate = e.shared_gate ? real(m.hidden) : 0.0;
    const double router =
        real(m.hidden * e.count) + (m.mlp_bias ? real(e.count) : 0.0) + gate + latent_matrices(m);
    p.routed_experts = real(e.count) * expert;
    p.expert_mlp = p.routed_experts + shared + router;
    active_expert_mlp = real(e.per_token) * expert + shared + router;
  }

  const double moe = real(m.moe_layers()), dense = real(m.dense_layers());
  const double common =
      real(m.layers) * (p.attention + p.norms) + dense * p.dense_mlp + p.final_norm;
  p.total = p.embedding + p.output + common + moe * p.expert_mlp;
  p.active = p.embedding + p.output + common + moe * active_expert_mlp;
  // A module: one more layer, the projection of two concatenated states, their norms and its own.
  p.mtp = real(m.mtp_layers) * (p.attention + p.norms + (m.experts ? p.expert_mlp : p.dense_mlp) +
                                2.0 * real(m.hidden) * real(m.hidden) + 3.0 * p.final_norm);
  return p;
}

LayerFlops layer_flops_per_token(const Transformer& m, std::int64_t seq_len,
                                 AttentionCredit credit) {
  FLOWPLAN_ASSERT(seq_len > 0);
  LayerFlops f;
  f.projections = multiply_add * attention_matrices(m);
  f.attention_core = attention_core(m, real(seq_len), credit);
  f.dense_mlp = multiply_add * mlp_matrices(m, m.ffn);
  if (m.experts) {
    const Experts& e = *m.experts;
    f.expert_mlp = multiply_add * (real(e.per_token) * expert_matrices(m) +
                                   real(e.shared) * mlp_matrices(m, e.ffn) + latent_matrices(m));
    f.router = multiply_add * real(m.hidden * e.count);
  }
  return f;
}

Flops training_flops_per_token(const Transformer& m, std::int64_t seq_len, AttentionCredit credit) {
  const LayerFlops layer = layer_flops_per_token(m, seq_len, credit);
  const double logits = multiply_add * real(m.hidden) * real(m.vocab);
  const double attention = layer.projections + layer.attention_core;
  double forward = real(m.layers) * attention + real(m.dense_layers()) * layer.dense_mlp +
                   real(m.moe_layers()) * layer.expert_mlp + logits;
  forward += real(m.mtp_layers) * (attention + (m.experts ? layer.expert_mlp : layer.dense_mlp) +
                                   multiply_add * 2.0 * real(m.hidden) * real(m.hidden) + logits);
  return Flops(backward_and_forward * forward);
}

}  // namespace flowplan::model
