#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/inference/step_table.hpp"

namespace flowplan::inference {

/// When a request is let into the batch. `reserve`: when its whole length, prompt and output, has
/// room (never evicted; TensorRT-LLM's guaranteed no-evict). `on_demand`: when its prompt has room;
/// sequences grow, and the last one admitted is preempted when there is no room (vLLM, max
/// utilisation).
enum class Admission { reserve, on_demand };

/// What becomes of a preempted sequence: its KV is computed again, or moved to the host and back.
enum class Preemption { recompute, swap };

/// `mixed`: decode tokens first, chunks of prompts fill the budget. `prefill_first`: passes of
/// prompts alone while there are any to admit, decoding waits.
enum class Scheduling { mixed, prefill_first };

/// Memory behind the GPU's that keeps evicted prefix blocks.
struct KvTier {
  std::string name;  ///< "host", "nvme"
  std::int64_t capacity_blocks = 0;
  BytesPerSecond read{};  ///< of one attention rank
  bool operator==(const KvTier&) const = default;
};

/// Draft tokens that one pass verifies.
struct Speculation {
  std::int64_t draft_tokens = 0;  ///< a pass, gamma; 0: none
  double tokens_per_pass = 1.0;   ///< accepted with the bonus token, 1 .. 1 + gamma
  Curve draft_s;                  ///< of one draft token, over decode sequences of a lane
  bool operator==(const Speculation&) const = default;
};

/// Expected tokens a pass with `draft_tokens` drafts of independent acceptance 0 <= alpha <= 1,
/// the bonus token counted: (1 - alpha^(gamma+1)) / (1 - alpha).
[[nodiscard]] double tokens_per_pass(double alpha, std::int64_t draft_tokens);

/// The same from a measured table whose entry g is the figure of g + 1 draft tokens; beyond its end
/// the last entry. 1 without drafts.
[[nodiscard]] double tokens_per_pass(const std::vector<double>& accepted,
                                     std::int64_t draft_tokens);

/// LoRA adapters served beside each other.
struct LoraServing {
  std::int64_t resident = 0;  ///< adapters that fit on the GPU at a time; 0: adapters are free
  Seconds load{};             ///< of an adapter, a pass waits for it
  Seconds per_pass{};         ///< of a pass with any adapter
  Seconds per_adapter{};      ///< and each different adapter of the pass
  Seconds per_token{};        ///< and each token of the fullest lane
  bool operator==(const LoraServing&) const = default;
};

/// How a serving engine is configured. Its budgets are of one attention rank.
struct EngineSpec {
  std::int64_t token_budget = 8192;  ///< of a pass and lane, >= 1
  std::int64_t max_sequences = 256;  ///< running at a time, of one attention rank, >= 1
  std::int64_t context_limit = std::numeric_limits<std::int64_t>::max();  ///< prompt and output
  Admission admission = Admission::on_demand;
  Preemption preemption = Preemption::recompute;
  Scheduling scheduling = Scheduling::mixed;
  /// Prompts are cut at the budget; false: each in one pass, one longer than the budget alone.
  bool chunked_prefill = true;
  double free_share = 0.0;  ///< of the KV blocks that admission leaves free, 0 .. 1
  /// The next pass is already scheduled while one runs: a request waits for one pass more.
  bool async_scheduling = false;
  Seconds api{};            ///< from the client to the queue, each request
  Seconds api_per_token{};  ///< and each prompt token
  bool prefix_caching = false;
  std::vector<KvTier> tiers;     ///< nearest first; need prefix caching
  BytesPerSecond swap_rate{};    ///< of one attention rank, each way; swap only
  std::int64_t swap_blocks = 0;  ///< room on the host; what does not fit is recomputed
  Speculation speculation;
  LoraServing lora;
  bool operator==(const EngineSpec&) const = default;
};

/// One serving instance: how long its passes take, what its cache holds, how it is configured.
struct Instance {
  StepTable table;
  KvGeometry kv;
  EngineSpec engine;
  int gpus = 1;
  bool operator==(const Instance&) const = default;
};

/// What is wrong with an instance: budgets below 1, no room for a block, shares out of range, tiers
/// without a rate (FP024); "" pointers below "/workload".
[[nodiscard]] Diagnostics check(const Instance& instance);

}  // namespace flowplan::inference
