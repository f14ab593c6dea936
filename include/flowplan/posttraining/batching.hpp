#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "flowplan/posttraining/samples.hpp"

namespace flowplan::posttraining {

/// How samples of different lengths become rows of equal length. `packed`: several samples one
/// after the other in a row of `pack_tokens`, each attending to itself (best fit, longest first).
/// `padded`: rows of a micro-batch as long as the longest of them. `padded_to_longest`: all rows as
/// long as the longest of the batch.
enum class Batching { packed, padded, padded_to_longest };
[[nodiscard]] std::string_view name(Batching batching);

struct BatchingRule {
  Batching batching = Batching::packed;
  std::int64_t pack_tokens = 0;  ///< of a row; a longer sample makes longer rows; 0: the longest
  std::int64_t micro_batch = 1;  ///< rows, >= 1
  std::int64_t replicas = 1;     ///< data-parallel ranks: rows fill whole micro-batches of all
  std::int64_t multiple = 1;     ///< row lengths are rounded up to it, as TP and CP want them
  bool whole_packs = true;       ///< packs are padded to `pack_tokens`, as pipelines need them
};

/// Rows that a training job computes.
struct Rows {
  std::int64_t rows = 0;         ///< a multiple of micro_batch * replicas
  std::int64_t row_tokens = 0;   ///< of each
  double tokens = 0.0;           ///< of the samples
  double attention_share = 1.0;  ///< work of attention over that of whole rows

  /// Share of the computed tokens that are padding, 0 .. 1.
  [[nodiscard]] double waste() const;
};

/// Rows of these samples in their order. `samples` is not empty.
[[nodiscard]] Rows rows_of(std::span<const Sample> samples, const BatchingRule& rule);

}  // namespace flowplan::posttraining
