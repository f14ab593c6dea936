#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/compute/gemm.hpp"
#include "flowplan/model/precision.hpp"

namespace flowplan::compute {

struct AttentionShape {
  std::int64_t batch = 0, heads = 0, kv_heads = 0, head_dim = 0, seq_len = 0;  ///< > 0, on one GPU
  std::int64_t value_dim = 0;  ///< width of a value head where it differs (MLA); 0: head_dim
  std::int64_t window = 0;     ///< keys that a query reads at most; 0: all before it
};

/// Which fused attention kernels a program has: `newest`, made for the GPU's generation (cuDNN,
/// FlashAttention-3), or FlashAttention-2, made for Ampere and slower on later ones.
enum class AttentionKernels { newest, flash_attention_2 };

/// How much longer kernels take inside a training step than alone in a benchmark loop (power limit,
/// the training libraries' kernels); multiplies the times of `Kernels`.
struct StepFactors {
  double gemm = 1.0;
  double grouped_gemm = 1.0;
  double attention_forward = 1.0;
  double attention_backward = 1.0;
};

/// How long kernels take on one GPU: the constants of its calibration set (kind "gpu_kernels") and
/// the GPU's peaks. Cheap to copy.
class Kernels {
 public:
  /// Errors FP030 when the calibration set does not exist, FP032 when it or the GPU lacks a figure.
  [[nodiscard]] static Result<Kernels> on(const catalog::Catalog& catalog, const catalog::Gpu& gpu);

  /// Whether the GPU has matrix units of that precision and the set knows their rate. FP16 counts
  /// as BF16; MXFP8 and blockwise FP8 take FP8's table.
  [[nodiscard]] bool supports(model::Precision precision) const;
  [[nodiscard]] FlopsPerSecond peak(
      model::Precision precision) const;  ///< dense; must be supported

  [[nodiscard]] KernelTime gemm(const GemmShape& shape, model::Precision precision) const;

  /// Causal, fused: 2 * batch * heads * head_dim * seq_len^2 FLOPs at a rate that grows with the
  /// sequence as s / (s + s_half).
  [[nodiscard]] KernelTime attention_forward(
      const AttentionShape& shape, AttentionKernels kernels = AttentionKernels::newest) const;
  /// Five matrix products against the forward pass's two.
  [[nodiscard]] KernelTime attention_backward(
      const AttentionShape& shape, AttentionKernels kernels = AttentionKernels::newest) const;
  /// Scores written to HBM and read again, no causal saving: two batched products and `passes` over
  /// the 16-bit score matrix. Forward; the backward pass does twice the products.
  [[nodiscard]] KernelTime attention_unfused(const AttentionShape& shape, double products,
                                             double passes) const;
  /// Element-wise work at the HBM's usable rate.
  [[nodiscard]] KernelTime memory_bound(Bytes moved) const;

  [[nodiscard]] StepFactors in_step(model::Precision precision,
                                    AttentionKernels kernels = AttentionKernels::newest) const;
  [[nodiscard]] BytesPerSecond usable_hbm() const;
  /// To or from the memory of the host, one direction.
  [[nodiscard]] BytesPerSecond host_link() const;
  [[nodiscard]] const std::string& calibration() const;  ///< id of the set

 private:
  struct Data;
  std::shared_ptr<const Data> data_;
};

}  // namespace flowplan::compute
