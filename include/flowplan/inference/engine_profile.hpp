#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::inference {

/// How a serving engine behaves on GPUs of one generation, as a constants set of kind "engine" says
/// it. docs/models/serving-step.md explains each.
struct EngineProfile {
  std::string id;     ///< of the set: "engine-vllm"
  std::string about;  ///< one sentence

  // Kernels: the engine's own over those of compute::KernelTable.
  double product_scale = 1.0;
  /// Share of the quantise kernels' time that the engine hides in other kernels.
  double quantise_hidden = 0.0;
  Seconds quantise_fp8{}, quantise_fp8_block{}, quantise_nvfp4{};
  double decode_scale = 1.0, prefill_scale = 1.0;            ///< FP8 KV cache
  double decode_wide_scale = 1.0, prefill_wide_scale = 1.0;  ///< 16-bit KV cache
  double experts_scale = 1.0, experts_wide_scale = 1.0;      ///< 8 and 16 bits a weight
  Seconds experts_four_bit_saved{};  ///< that a call of the engine's MXFP4 and INT4 kernel saves
  double experts_nvfp4_scale = 1.0, experts_four_bit_scale = 1.0;  ///< NVFP4; MXFP4 and INT4

  /// Expert kernels of small batches for any routing, not for DeepSeek's alone.
  bool small_batches_of_any_routing = false;

  Seconds all_reduce{};          ///< beyond the kernel's own, an all-reduce
  Seconds layer{}, moe_layer{};  ///< small kernels and launches, a layer; an expert layer more
  Seconds attention_dp_layer{};  ///< waiting for the slowest rank, an expert layer
  Seconds gap{};                 ///< between two passes
  double hidden_bytes = 0, mlp_bytes = 0, attention_bytes = 0;  ///< element-wise, an element
  double element_hbm = 1.0;  ///< share of the HBM's rate that element-wise kernels reach
  double logit_bytes = 0;    ///< moved a logit by sampling
  double linear_peak = 1.0;  ///< share of the bf16 peak in chunks of linear attention
  Seconds eager_layer{};     ///< host time a layer of a pass outside captured graphs
  std::int64_t eager_above_tokens = 0;

  // Exchange of tokens with experts under attention DP, inside an NVLink domain.
  Seconds exchange_floor{};
  double exchange_nvlink = 1.0;  ///< share of the port's rate
  double expert_skew = 1.0;      ///< compute::ExpertsShape::skew
  double level_share = 1.0;      ///< redundant experts over all that level the load

  // LoRA adapters.
  Seconds lora_module{};       ///< shrink and expand of one module, launches
  BytesPerSecond host_link{};  ///< adapters from the host to a GPU

  // Scheduler.
  std::int64_t token_budget = 0;   ///< tokens a pass
  std::int64_t max_sequences = 0;  ///< running at once on an attention rank
  std::int64_t block_tokens = 0;   ///< of a KV block
  bool reserves_output = false;    ///< admits a request with room for its longest output only
  bool chunked_prefill = true;
  std::vector<std::int64_t> captured_tokens;  ///< increasing
  std::int64_t stream_interval_tokens = 1;
  Seconds api{};            ///< added to TTFT: HTTP, tokenising, first chunk
  Seconds api_token{};      ///< and a prompt token
  bool queued_pass = true;  ///< asynchronous scheduling has one pass queued when a request comes

  // Memory: kv = kv_fraction * (hbm_fraction * HBM - weights - other).
  double hbm_fraction = 0.0, kv_fraction = 0.0;
  Bytes other_memory{};  ///< activations, graphs, communication buffers, CUDA context

  double band_p90 = 0.0;    ///< 90 % of left-out TPOTs are within this many percent
  std::string band_regime;  ///< what these rows are
};

/// The engine of that name ("vllm", "vllm-0.15", "trtllm", "sglang": the set "engine-NAME") on GPUs
/// of a generation. Errors FP030 with the known ones, FP032 when the set lacks a figure.
[[nodiscard]] Result<EngineProfile> engine_profile(const catalog::Catalog& catalog,
                                                   std::string_view name,
                                                   catalog::GpuGeneration generation);
/// Names that engine_profile takes, in alphabetical order.
[[nodiscard]] std::vector<std::string> engine_names(const catalog::Catalog& catalog);

}  // namespace flowplan::inference
