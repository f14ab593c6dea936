#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flowplan/base/quantity.hpp"

namespace flowplan::inference {

/// A piecewise-linear function of one number: seconds over tokens or sequences. Between points
/// linear; outside the range the first or last piece goes on. No points: 0 everywhere.
class Curve {
 public:
  Curve() = default;
  /// `x` strictly increasing, as many `y` (seconds) as `x`; both may be empty.
  Curve(std::vector<double> x, std::vector<double> y);

  [[nodiscard]] double operator()(double x) const;
  [[nodiscard]] bool empty() const { return x_.empty(); }
  [[nodiscard]] std::span<const double> x() const { return x_; }
  [[nodiscard]] std::span<const double> y() const { return y_; }
  bool operator==(const Curve&) const = default;

 private:
  std::vector<double> x_, y_;
};

/// Seconds over two numbers, bilinear between the lines of a grid, the outer cells going on
/// outside. No lines: 0 everywhere.
class Grid {
 public:
  Grid() = default;
  /// `rows` and `columns` strictly increasing; `seconds` row after row.
  Grid(std::vector<double> rows, std::vector<double> columns, std::vector<double> seconds);

  [[nodiscard]] double operator()(double row, double column) const;
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] std::span<const double> rows() const { return rows_; }
  [[nodiscard]] std::span<const double> columns() const { return columns_; }
  [[nodiscard]] std::span<const double> seconds() const { return seconds_; }
  bool operator==(const Grid&) const = default;

 private:
  std::vector<double> rows_, columns_, seconds_;
};

/// How long one pass of an engine takes, as tables that a step model fills once per layout.
///
/// Tokens and sequences are those of one *lane*: one attention-DP rank's part of one pipeline
/// micro-batch. Lanes step together (the slowest decides), so an engine has
/// `attention_ranks * micro_batches` of them; a pass is through all pipeline stages, and every
/// micro-batch makes one in a step.
struct StepTable {
  int attention_ranks = 1;  ///< ranks that hold different sequences (attention DP), >= 1
  int micro_batches = 1;    ///< in flight, one a pipeline stage, >= 1
  Curve dense_s;            ///< over tokens of the lane: all but experts, head and attention
  Curve moe_s;              ///< over tokens of all attention ranks of a micro-batch; dense: empty
  Curve head_s;             ///< over sequences of the lane whose logits are needed
  Grid decode_attention_s;  ///< rows: decode sequences of the lane; columns: their mean context
  /// Over the tokens of a whole prompt, from 0; a chunk costs A(done + chunk) - A(done).
  Curve prefill_attention_s;
  Seconds gap{};  ///< of the host between two passes
  /// Host work over sequences of the whole engine: hidden behind the GPU when `host_overlapped`,
  /// else added.
  Curve host_s;
  bool host_overlapped = true;
  /// Token counts that graphs were captured for, increasing: a pass without prefill runs at the
  /// next larger one, if there is one.
  std::vector<std::int64_t> captured_tokens;
  /// A pass with prefill chunks of more than `eager_above_tokens` takes at least `eager_floor`.
  std::int64_t eager_above_tokens = 0;
  Seconds eager_floor{};
  bool operator==(const StepTable&) const = default;
};

/// A part of a prompt: `chunk_tokens` more after `done_tokens` whose KV is there.
struct Chunk {
  std::int64_t done_tokens = 0;
  std::int64_t chunk_tokens = 0;
};

/// What one pass has to do on its fullest lane.
struct StepLoad {
  std::span<const Chunk> chunks;         ///< prompts on the fullest lane
  std::int64_t decode_sequences = 0;     ///< on the lane
  std::int64_t tokens_per_sequence = 1;  ///< of a decode sequence: 1 + draft tokens
  double decode_context_tokens = 0.0;    ///< sum over the lane's decode sequences
  std::int64_t finishing_sequences = 0;  ///< on the lane whose prompt ends in this pass
  std::int64_t tokens_all_ranks = 0;     ///< over all attention ranks of a micro-batch
  std::int64_t sequences_all_lanes = 0;  ///< that the host looks after
};

/// Tokens that the lane computes: chunks and decode; without chunks padded to a captured size.
[[nodiscard]] std::int64_t lane_tokens(const StepTable& table, const StepLoad& load);

/// Seconds of one pass; 0 without any token:
/// dense(m) + moe(M) + head(b) + decode attention + prefill attention + gap, host and floor as in
/// `StepTable`. In decode, M grows by the lanes' padding as m does.
[[nodiscard]] double step_seconds(const StepTable& table, const StepLoad& load);

/// KV cache of one attention rank. Layers of full attention keep every token, windowed layers the
/// last `window_tokens`, others a state per sequence.
struct KvGeometry {
  Bytes full_per_token{};      ///< of all full layers, on one rank
  Bytes windowed_per_token{};  ///< of all windowed layers, on one rank
  std::int64_t window_tokens = 0;
  Bytes state_per_sequence{};           ///< linear attention and the like
  std::int64_t block_size_tokens = 16;  ///< >= 1
  std::int64_t capacity_blocks = 0;     ///< blocks of full layers that one rank has room for

  /// Bytes of one block of full layers on one rank.
  [[nodiscard]] Bytes block_bytes() const;
  /// Blocks that so many tokens of one sequence take in full layers, rounded up.
  [[nodiscard]] std::int64_t blocks(std::int64_t tokens) const;
  /// What a sequence takes beside them whatever its length, in blocks rounded up: its state and a
  /// full window.
  [[nodiscard]] std::int64_t blocks_per_sequence() const;
  /// Most tokens that one sequence alone can have.
  [[nodiscard]] std::int64_t longest_sequence() const;
  /// All bytes that `context_tokens` of one sequence take on a rank (for transfers), not rounded.
  [[nodiscard]] Bytes sequence_bytes(std::int64_t context_tokens) const;
  bool operator==(const KvGeometry&) const = default;
};

}  // namespace flowplan::inference
