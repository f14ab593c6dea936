#pragma once

#include <cstdint>

#include "flowplan/base/quantity.hpp"
#include "flowplan/model/precision.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::model {

/// Which model states data parallelism divides: nothing, the optimizer's (ZeRO-1, Megatron's
/// distributed optimizer), the gradients too (ZeRO-2), the weights too (ZeRO-3, FSDP).
enum class StateSharding { none, optimizer, gradients, weights };

/// Bytes that one parameter takes in each state. The default is mixed-precision training with bf16
/// weights and fp32 main gradients (Megatron-LM docs, dist_optimizer.md, d98e8a6).
struct StateFormat {
  double weight = 2.0;
  double gradient = 4.0;
  double gradient_copy = 0.0;  ///< fp32 copy of 16-bit gradients that the optimizer keeps
  double master = 4.0;         ///< fp32 copy of the weights
  double moments = 8.0;        ///< both Adam moments
};
[[nodiscard]] StateFormat bf16_states();
[[nodiscard]] StateFormat fp16_states();  ///< fp16 gradients, unscaled into an fp32 copy
[[nodiscard]] StateFormat fp32_states();
/// bf16 gradients and moments (precision-aware optimizer, as in DeepSeek-V3).
[[nodiscard]] StateFormat lean_bf16_states();
/// FP8 primary weights; `transposed_copy` where backward needs one (Hopper, and MXFP8 anywhere).
[[nodiscard]] StateFormat fp8_states(bool transposed_copy);

/// Bytes per parameter on one rank; `shards` >= 1 ranks divide what `sharding` says.
struct StateBytes {
  double weights = 0, gradients = 0, optimizer = 0;
  [[nodiscard]] double total() const { return weights + gradients + optimizer; }
};
[[nodiscard]] StateBytes state_bytes_per_parameter(const StateFormat& format,
                                                   StateSharding sharding, double shards);

/// What is kept for backward. `selective`: the attention core is recomputed (or never stored, as
/// fused attention does). `full`: only the input of each layer is kept.
enum class Recomputation { none, selective, full };

/// How activations are stored and divided.
struct ActivationSetting {
  int tp = 1, cp = 1;             ///< >= 1
  bool sequence_parallel = true;  ///< divides what tensor parallelism replicates
  Recomputation recompute = Recomputation::none;
  bool fused_attention = true;              ///< scores are never stored
  bool dropout = false;                     ///< masks of one byte an element
  bool recompute_mlp_activation = false;    ///< the output of SwiGLU or GELU is not kept
  Precision gemm_inputs = Precision::bf16;  ///< format of stored inputs of linear layers
  double expert_imbalance = 1.0;            ///< tokens of the most loaded rank over the mean, >= 1
};

/// Activation bytes of one layer by part, for one micro-batch on one rank; of a layer with full
/// attention.
struct ActivationBytes {
  Bytes replicated{};  ///< norms, residuals, masks: divided by TP with sequence parallelism only
  Bytes attention{};   ///< q, k, v, output, latents
  Bytes scores{};      ///< of unfused attention
  Bytes mlp{};         ///< dense, or routed and shared experts with dispatch and combine buffers
  [[nodiscard]] Bytes total() const { return replicated + attention + scores + mlp; }
};
/// The model of Korthikanti et al. 2022 with its tensors counted one by one, so that it holds for
/// any head and MLP shape, gated MLPs, latent attention and experts; equal to the paper's formulas
/// for a two-matrix MLP of 4h with dropout. The log-sum-exp of fused attention (4 bytes a head) is
/// left out. `experts`: a layer that has them.
[[nodiscard]] ActivationBytes activation_bytes(const Transformer& model, std::int64_t seq_len,
                                               std::int64_t micro_batch,
                                               const ActivationSetting& setting,
                                               bool experts = false);

enum class PipelineSchedule {
  gpipe,
  one_forward_one_backward,
  interleaved,
  zero_bubble_1,
  zero_bubble_2,
  dual_pipe
};

/// Micro-batches whose activations a stage holds at its peak, in units of all the stage's layers;
/// `stage` from 0, `stages` >= 1, `virtual_stages` >= 1 chunks a rank (interleaved only),
/// `micro_batches` >= 1 a step. Narayanan 2021, Korthikanti 2022 (interleaved:
/// p (1 + (p-1)/(p v)) at stage 0), Qi 2023, DeepSeek's DualPipe.
[[nodiscard]] double in_flight_micro_batches(PipelineSchedule schedule, int stage, int stages,
                                             int virtual_stages, std::int64_t micro_batches);

/// Logits of one micro-batch on the last stage: bf16 and their fp32 copy. `fused`: chunked
/// cross-entropy keeps none.
[[nodiscard]] Bytes logits_bytes(const Transformer& model, std::int64_t seq_len,
                                 std::int64_t micro_batch, int tp, int cp, bool fused = false);

/// Bytes that one more token of context takes in the KV cache, on all ranks together, summed over
/// the layers with full attention (not linear, no window): keys and values of GQA, the latent of
/// MLA, the indexer's keys.
[[nodiscard]] Bytes kv_bytes_per_token(const Transformer& model, Precision precision);
/// What layers of linear attention keep of a sequence, whatever its length, on all ranks together:
/// an fp32 state a value head and the convolution's last inputs; 0 without such layers.
[[nodiscard]] Bytes linear_state_bytes(const Transformer& model);
/// KV cache of a sequence of `tokens`: layers with a window keep at most that many, layers of
/// linear attention their state.
[[nodiscard]] Bytes kv_bytes(const Transformer& model, std::int64_t tokens, Precision precision);

}  // namespace flowplan::model
