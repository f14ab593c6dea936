#include "flowplan/inference/step_table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "flowplan/base/assert.hpp"
#include "interpolate.hpp"
#include "pass_parts.hpp"

namespace flowplan::inference {

namespace {

bool strictly_increasing(std::span<const double> values) {
  return std::adjacent_find(values.begin(), values.end(), std::greater_equal<>()) == values.end();
}

std::int64_t chunk_tokens(const StepLoad& load) {
  std::int64_t tokens = 0;
  for (const Chunk& chunk : load.chunks)
    tokens += chunk.chunk_tokens;
  return tokens;
}

double prefill_attention(const StepTable& table, const StepLoad& load) {
  double seconds = 0.0;
  for (const auto& [done, chunk] : load.chunks)
    seconds += table.prefill_attention_s(static_cast<double>(done + chunk)) -
               table.prefill_attention_s(static_cast<double>(done));
  return seconds;
}

}  // namespace

Curve::Curve(std::vector<double> x, std::vector<double> y) : x_(std::move(x)), y_(std::move(y)) {
  FLOWPLAN_ASSERT(x_.size() == y_.size() && strictly_increasing(x_));
}

double Curve::operator()(double x) const {
  if (x_.size() < 2) return x_.empty() ? 0.0 : y_.front();
  const std::size_t i = cell(x_, x);
  return y_[i] + (y_[i + 1] - y_[i]) * fraction(x_, i, x);
}

Grid::Grid(std::vector<double> rows, std::vector<double> columns, std::vector<double> seconds)
    : rows_(std::move(rows)), columns_(std::move(columns)), seconds_(std::move(seconds)) {
  FLOWPLAN_ASSERT(rows_.size() * columns_.size() == seconds_.size());
  FLOWPLAN_ASSERT(strictly_increasing(rows_) && strictly_increasing(columns_));
}

double Grid::operator()(double row, double column) const {
  if (seconds_.empty()) return 0.0;
  return GridRow(*this, row)(column);
}

std::int64_t lane_tokens(const StepTable& table, const StepLoad& load) {
  const std::int64_t decode = load.decode_sequences * load.tokens_per_sequence;
  if (!load.chunks.empty()) return decode + chunk_tokens(load);
  const auto& sizes = table.captured_tokens;
  const auto captured = std::lower_bound(sizes.begin(), sizes.end(), decode);
  return captured == sizes.end() || decode == 0 ? decode : *captured;
}

PassParts pass_parts(const StepTable& table, const StepLoad& load) {
  const std::int64_t decode = load.decode_sequences * load.tokens_per_sequence;
  const std::int64_t tokens = lane_tokens(table, load);
  const std::int64_t padding = tokens - decode - chunk_tokens(load);
  const std::int64_t all_tokens = load.tokens_all_ranks + padding * table.attention_ranks;
  const std::int64_t logits = decode + load.finishing_sequences;
  PassParts parts;
  parts.gpu_s = table.dense_s(static_cast<double>(tokens)) +
                table.moe_s(static_cast<double>(all_tokens)) + prefill_attention(table, load);
  if (logits > 0) parts.gpu_s += table.head_s(static_cast<double>(logits));
  parts.host_s = table.host_s(static_cast<double>(load.sequences_all_lanes));
  return parts;
}

double step_seconds(const StepTable& table, const StepLoad& load) {
  if (lane_tokens(table, load) == 0) return 0.0;
  const PassParts parts = pass_parts(table, load);
  const double sequences = static_cast<double>(load.decode_sequences);
  double seconds = parts.gpu_s;
  if (load.decode_sequences > 0)
    seconds += table.decode_attention_s(sequences, load.decode_context_tokens / sequences);
  if (chunk_tokens(load) > table.eager_above_tokens)
    seconds = std::max(seconds, table.eager_floor.value());
  seconds += table.gap.value();
  return table.host_overlapped ? std::max(seconds, parts.host_s) : seconds + parts.host_s;
}

Bytes KvGeometry::block_bytes() const {
  return full_per_token * static_cast<double>(block_size_tokens);
}

std::int64_t KvGeometry::blocks(std::int64_t tokens) const {
  if (full_per_token.value() <= 0.0) return 0;
  return (tokens + block_size_tokens - 1) / block_size_tokens;
}

std::int64_t KvGeometry::blocks_per_sequence() const {
  const Bytes beside = windowed_per_token * static_cast<double>(window_tokens) + state_per_sequence;
  if (full_per_token.value() <= 0.0) return 1;
  return static_cast<std::int64_t>(std::ceil(beside / block_bytes()));
}

std::int64_t KvGeometry::longest_sequence() const {
  const std::int64_t blocks_left = capacity_blocks - blocks_per_sequence();
  if (blocks_left < 0) return 0;
  if (full_per_token.value() <= 0.0) return std::numeric_limits<std::int64_t>::max();
  return blocks_left * block_size_tokens;
}

Bytes KvGeometry::sequence_bytes(std::int64_t context_tokens) const {
  return full_per_token * static_cast<double>(context_tokens) +
         windowed_per_token * static_cast<double>(std::min(context_tokens, window_tokens)) +
         state_per_sequence;
}

}  // namespace flowplan::inference
