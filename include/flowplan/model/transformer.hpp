#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::model {

/// Mixture of experts in the layers that have one.
struct Experts {
  std::int64_t count = 0;         ///< routed experts a layer
  std::int64_t per_token = 0;     ///< top-k
  std::int64_t ffn = 0;           ///< width of one expert
  std::int64_t shared = 0;        ///< shared experts, in units of the expert width
  std::int64_t dense_layers = 0;  ///< leading layers with a dense MLP instead
  std::int64_t every = 1;         ///< after those, one layer in so many has experts
  bool shared_gate = false;       ///< a learned scalar gate before the shared experts
  /// Width of the routed experts' input and output where tokens are projected to fewer dimensions
  /// before they are dispatched (LatentMoE of Nemotron 3); 0: the model's.
  std::int64_t latent = 0;
};

/// Multi-head latent attention (DeepSeek-V2/V3).
struct LatentAttention {
  std::int64_t q_rank = 0;  ///< 0: queries are not compressed
  std::int64_t kv_rank = 0;
  std::int64_t nope_dim = 0, rope_dim = 0, value_dim = 0;
};

/// Attention to the `top_k` keys that a light indexer picks (DeepSeek-V3.2).
struct SparseAttention {
  std::int64_t top_k = 0;
  std::int64_t heads = 0, head_dim = 0;  ///< of the indexer
};

/// Blocks with a state of constant size: gated linear attention in some of the layers (Qwen3-Next,
/// Qwen3.5), or Mamba-2 (Nemotron-H and 3), whose groups' B and C are keys and queries, whose
/// states are key dimensions and whose heads' channels are values.
struct LinearAttention {
  std::int64_t layers = 0;       ///< so many blocks in the model
  std::int64_t full_layers = 0;  ///< and so many that attend to every key
  std::int64_t key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  std::int64_t convolution = 0;  ///< taps of the short convolution over q, k and v
  bool mamba = false;

  [[nodiscard]] std::int64_t keys() const { return key_heads * key_dim; }
  [[nodiscard]] std::int64_t values() const { return value_heads * value_dim; }
  /// Columns of the input projection: q, k, v, an output gate, and a step size a value head (and
  /// its decay where that is not learned alone).
  [[nodiscard]] std::int64_t inputs() const {
    return 2 * keys() + 2 * values() + (mamba ? 1 : 2) * value_heads;
  }
  /// Channels of the convolution.
  [[nodiscard]] std::int64_t channels() const { return 2 * keys() + values(); }
};

/// The dimensions of a decoder-only transformer. A layer is an MLP or experts with the mixers that
/// go with it; of a hybrid whose blocks stand alone (Nemotron-H) there are as many as MLPs, and
/// mixers and norms are averaged over them.
struct Transformer {
  std::string name;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t ffn = 0;    ///< width of the dense MLP
  std::int64_t heads = 0;  ///< query heads
  std::int64_t kv_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t vocab = 0;
  std::int64_t context = 0;  ///< longest position; 0 when unknown
  bool gated_mlp = true;     ///< SwiGLU: three matrices; false: two
  bool tied_embeddings = false;
  bool attention_bias = false;      ///< on the q, k and v projections
  bool output_bias = false;         ///< on the attention output projection
  bool mlp_bias = false;            ///< on the MLP matrices and the router
  bool learned_positions = false;   ///< a position embedding of `context` rows
  bool norm_bias = false;           ///< LayerNorm with bias instead of RMSNorm
  double norms_per_layer = 2;       ///< over the hidden width; 4 with norms after the blocks too
  bool qk_norm = false;             ///< a norm over each query and key head
  bool attention_sinks = false;     ///< one learned logit a head
  bool attention_gate = false;      ///< the query projection makes an output gate too
  std::int64_t mtp_layers = 0;      ///< multi-token prediction
  std::int64_t sliding_window = 0;  ///< 0: none
  double sliding_share = 0.0;       ///< share of the layers that use the window, 0..1
  std::optional<Experts> experts;
  std::optional<LatentAttention> latent_attention;
  std::optional<SparseAttention> sparse_attention;
  std::optional<LinearAttention> linear_attention;

  /// Blocks of full (or windowed) attention over layers, and of linear attention.
  [[nodiscard]] double full_share() const;
  [[nodiscard]] double linear_share() const;
  /// Width that routed experts read and write.
  [[nodiscard]] std::int64_t expert_hidden() const {
    return experts && experts->latent > 0 ? experts->latent : hidden;
  }
  /// Layers with experts; 0 for a dense model.
  [[nodiscard]] std::int64_t moe_layers() const;
  /// Layers with a dense MLP: the rest.
  [[nodiscard]] std::int64_t dense_layers() const { return layers - moe_layers(); }
  /// Whether layer `index` (from 0) has experts.
  [[nodiscard]] bool has_experts(std::int64_t index) const;
};

/// Reads a Hugging Face config.json. Errors FP021, FP022 and FP024 with the place, and FP073 for an
/// architecture that is not a decoder-only transformer of the kinds above.
[[nodiscard]] Result<Transformer> read_config(const JsonDocument& config, std::string name);

/// Parameters by part.
struct Parameters {
  double embedding = 0;  ///< input embedding, learned positions included; also the output when tied
  double output = 0;     ///< 0 when tied
  double attention = 0;  ///< of one layer; the mean where layers differ
  double dense_mlp = 0;  ///< of one dense layer
  double expert_mlp = 0;      ///< of one MoE layer: all routed and shared experts and the router
  double routed_experts = 0;  ///< the part of `expert_mlp` that expert parallelism divides
  double norms = 0;           ///< of one layer
  double final_norm = 0;
  double mtp = 0;     ///< all multi-token prediction modules; not in `total`
  double total = 0;   ///< of the model, as model cards count: without the MTP modules
  double active = 0;  ///< touched by one token, embeddings included, MTP modules left out
};
/// Counts them exactly, biases and norms included.
[[nodiscard]] Parameters count_parameters(const Transformer& model);

enum class AttentionCredit { causal_half, full };

/// Forward FLOPs of one token in one layer by part; a multiply-add is 2.
struct LayerFlops {
  double projections = 0;     ///< q, k, v and output
  double attention_core = 0;  ///< scores and values, mean over the sequence and over the layers
  double dense_mlp = 0;       ///< of a layer with a dense MLP
  double expert_mlp = 0;      ///< of a layer with experts: routed top-k and shared
  double router = 0;          ///< of a layer with experts
};
[[nodiscard]] LayerFlops layer_flops_per_token(
    const Transformer& model, std::int64_t seq_len,
    AttentionCredit credit = AttentionCredit::causal_half);

/// Model FLOPs of one token, forward and backward (3 x forward), no recomputation; `seq_len` in
/// tokens, > 0. MTP modules count as `mtp_layers` says; the router is not credited, as in
/// Megatron-LM (num_floating_point_operations), nor are norms and other element-wise work.
/// docs/catalog.md section "Model FLOPs"; checked against Megatron-Bridge's published TFLOP/s per
/// token/s.
[[nodiscard]] Flops training_flops_per_token(const Transformer& model, std::int64_t seq_len,
                                             AttentionCredit credit = AttentionCredit::causal_half);

}  // namespace flowplan::model
