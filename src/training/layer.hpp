#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "flowplan/compute/kernels.hpp"
#include "flowplan/training/framework.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

/// One kind of GPU work of one micro-batch.
struct Work {
  Seconds forward{}, backward{};
  Seconds weight{};  ///< the part of `backward` that makes weight gradients
  const char* limit = "";
  const char* next = "";

  /// Adds another's times; the larger forward time keeps its limit.
  void add(const Work& other);
  [[nodiscard]] Work times(double factor) const;
};

/// A layer's MLP is dense or made of experts.
enum class LayerKind { dense, experts };

/// GPU work of one transformer layer on one rank, for one micro-batch. Communication is not in it.
struct LayerWork {
  Work gemm;             ///< projections, dense MLP, shared experts, router, adapters
  Work experts;          ///< products of routed experts
  Work attention;        ///< its core: scores and values, or the scan of a state
  Work memory_bound;     ///< norms, activations, residuals, rotary embedding
  Work routing;          ///< permutation to and from experts
  Work casts;            ///< to fewer than 16 bits
  Seconds recomputed{};  ///< what recomputation adds to the backward pass

  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;  ///< without `recomputed`
  [[nodiscard]] Seconds weight() const;
};
[[nodiscard]] LayerWork layer_work(const compute::Kernels& kernels, const Framework& framework,
                                   const Job& job, LayerKind kind);

/// Output projection and loss on the last stage: 16-bit GEMMs, then bytes per logit. One for each
/// prediction: the next token and `mtp_layers` more.
struct HeadWork {
  Work gemm;
  Seconds loss_forward{}, loss_backward{};
  Work prediction;  ///< all of the prediction modules' layers and projections, 0 without them
  [[nodiscard]] Seconds forward() const;
  [[nodiscard]] Seconds backward() const;
  [[nodiscard]] Seconds total() const { return forward() + backward(); }
};
[[nodiscard]] HeadWork head_work(const compute::Kernels& kernels, const Framework& framework,
                                 const Job& job, const LayerWork& last_layer);

/// Parameters of one layer on one rank. What expert parallelism divides is apart: other ranks hold
/// the same of it.
struct LayerParameters {
  double common = 0;   ///< GEMM weights divided by TP, norms and router whole
  double experts = 0;  ///< routed
  [[nodiscard]] double total() const { return common + experts; }
};
[[nodiscard]] LayerParameters layer_parameters_per_rank(const Job& job, LayerKind kind);
/// Of the embedding or the output head, vocabulary divided by TP.
[[nodiscard]] double vocabulary_parameters_per_rank(const Job& job);
/// Trained parameters of one layer's adapters on one rank; 0 without them.
[[nodiscard]] double adapter_parameters_per_rank(const Job& job);

/// Key and value heads of one rank: replicated when there are fewer than TP ranks.
[[nodiscard]] std::int64_t kv_heads_per_rank(const Job& job);

/// Sizes of one rank's share of a layer, for one micro-batch.
struct Share {
  double norms = 2;         ///< of a layer
  std::int64_t tokens = 0;  ///< of the micro-batch, on the ranks of a TP group together
  std::int64_t hidden = 0, heads = 0, kv_heads = 0;
  std::int64_t query_dim = 0, value_dim = 0;  ///< of a head
  std::int64_t mlp = 0;     ///< rows of the second MLP matrix, of shared experts in their layers
  std::int64_t mlp_in = 0;  ///< columns of the first: two halves when gated
  double split_tokens = 0;  ///< tokens of one rank where sequence parallelism divides them
  double routed_rows = 0;   ///< token copies that this rank's experts work on
  std::int64_t expert_ffn = 0, local_experts = 0;
  std::int64_t expert_hidden = 0;  ///< width that routed experts read and write
  double full = 1, linear = 0;     ///< blocks of full and of linear attention a layer

  [[nodiscard]] std::int64_t queries() const { return heads * query_dim; }
  [[nodiscard]] std::int64_t values() const { return heads * value_dim; }
  [[nodiscard]] std::int64_t qkv() const {
    return heads * query_dim + kv_heads * (query_dim + value_dim);
  }
};
[[nodiscard]] Share share_of(const Job& job, LayerKind kind);

/// Copies of a token that its experts get: top-k, or fewer where a capacity drops some, times the
/// imbalance of the most loaded rank.
[[nodiscard]] double routed_copies(const Job& job);

/// y = x W with W of `in` rows and `out` columns.
struct Linear {
  std::int64_t in = 0, out = 0;
  bool narrow = true;  ///< runs in the job's precision; else in bf16
  /// Adapters on it when the job has them, and the columns of them together.
  std::int64_t adapters = 0, adapted_out = 0;
};
/// Linear layers of a layer on one rank, without routed experts; `count` of the array are set.
struct Linears {
  std::array<Linear, 9> list{};
  std::size_t count = 0;
  void add(const Linear& linear) { list[count++] = linear; }
};
[[nodiscard]] Linears attention_linears(const Job& job, const Share& share);
/// Of a block of linear attention; empty for models without.
[[nodiscard]] Linears linear_attention_linears(const Job& job, const Share& share);
[[nodiscard]] Linears mlp_linears(const Job& job, const Share& share, LayerKind kind);

}  // namespace flowplan::training
