#pragma once

#include <string>
#include <string_view>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/compute/kernels.hpp"
#include "flowplan/model/precision.hpp"

namespace flowplan::training {

/// How a training framework behaves, as a constants set of kind "framework" says it: what it moves,
/// what it hides behind computation, what its host side costs. docs/models/training.md explains
/// each.
struct Framework {
  std::string id;  ///< of the set: "framework-megatron-core"

  /// Bytes a token and element that element-wise kernels move, over the ideal HBM rate.
  struct MemoryBound {
    double factor = 1.0;  ///< time over bytes / usable HBM: fusion, or the lack of it
    double hidden_forward = 0, hidden_backward = 0;        ///< a hidden element
    double gated_forward = 0, gated_backward = 0;          ///< an MLP element, gated
    double plain_forward = 0, plain_backward = 0;          ///< an MLP element, two matrices
    double attention_forward = 0, attention_backward = 0;  ///< a q, k, v or output element
    double dropout_hidden = 0,
           dropout_mlp = 0;  ///< added each way by bias and dropout kernels, two-matrix models
  } memory_bound;

  double cast_bytes = 0;   ///< moved a GEMM input element when operands are narrower than 16 bits
  double cast_factor = 1;  ///< time over bytes / usable HBM
  double logit_bytes = 0;  ///< moved a logit by the loss, forward and backward

  double narrow_gemm_factor = 1;  ///< time of narrow GEMMs over those of the GPU's set
  compute::AttentionKernels attention = compute::AttentionKernels::newest;
  bool fused_attention = true;
  double unfused_forward_passes = 0, unfused_backward_passes = 0;  ///< over the score matrix

  Seconds host_layer{};            ///< host time a layer and micro-batch
  Seconds host_recompute_layer{};  ///< the same with full recomputation
  Seconds host_micro_batch{};      ///< and a micro-batch
  int wide_tp = 0;                 ///< TP from which the host is slower by `wide_tp_factor`
  double wide_tp_factor = 1;
  double host_norm = 4;  ///< p of the p-norm that joins GPU and host

  double operators_share = 0;  ///< of a forward pass that `Recompute::operators` does again

  double tp_exposed = 1;             ///< share of TP communication not hidden by GEMMs
  double tp_async_exposed = 1;       ///< the same with asynchronous tensor parallelism
  double cp_exposed = 1;             ///< share of context-parallel traffic that costs time
  double ep_exposed = 1;             ///< share of expert exchanges that costs time
  double ep_overlapped_exposed = 1;  ///< the same behind another micro-batch
  double fsdp_contention = 0;  ///< time that overlapped weight and gradient traffic costs, a second
  double pp_exposed = 1;       ///< share of stage transfers not hidden in the steady state
  double dp_exposed = 1;       ///< share of gradient and weight communication not hidden
  double gradient_bytes = 4;   ///< a gradient element as stored and reduced
  double weight_gather_bytes =
      2;  ///< a weight element as gathered by the distributed optimizer, 16-bit GEMMs
  double narrow_gather_bytes = 2;  ///< the same with FP8 and narrower GEMMs
  double optimizer_bytes = 0;      ///< moved a parameter of the shard by the optimizer
  Seconds step_overhead{};         ///< data, logging, synchronisation, a step

  struct Moe {
    double permute_bytes = 0;    ///< moved a routed token and hidden element, there and back
    double permute_factor = 1;   ///< time over bytes / usable HBM
    Seconds expert{};            ///< a local expert, layer and micro-batch, beyond its products
    Seconds host_layer{};        ///< host time of an expert layer beyond a dense one's
    double captured_factor = 1;  ///< of host time in expert layers replayed from CUDA graphs
  } moe;

  double scan_factor = 1;  ///< time of linear attention's scan over bytes / usable HBM

  Bytes cuda_context{};           ///< held by the driver and libraries on each GPU
  Bytes communication_buffers{};  ///< NCCL channels, workspaces of the matrix library
  double fragmentation = 0;       ///< share of the allocated memory that the allocator cannot use
  bool dropout = false;           ///< two-matrix models keep dropout masks

  double band_p90 = 0;      ///< 90 % of left-out rows are within this many percent
  std::string band_regime;  ///< what these rows are

  [[nodiscard]] double gather_bytes(model::Precision gemms) const;
};

/// The framework of that name ("megatron-core": the set "framework-megatron-core"). Errors FP030
/// with the known ones, FP032 when the set lacks a figure.
[[nodiscard]] Result<Framework> framework(const catalog::Catalog& catalog, std::string_view name);

}  // namespace flowplan::training
