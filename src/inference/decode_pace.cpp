#include "decode_pace.hpp"

#include <algorithm>
#include <cmath>

#include "pass_parts.hpp"

namespace flowplan::inference {

namespace {

/// Steps i = 0, 1, ... with value + i * slope short of `limit`, where value < limit and slope > 0;
/// at least one.
std::uint64_t steps_short_of(double value, double slope, double limit, std::uint64_t most) {
  const double steps = std::max(1.0, std::ceil((limit - value) / slope));
  return steps < static_cast<double>(most) ? static_cast<std::uint64_t>(steps) : most;
}

std::uint64_t solve_in_piece(const DecodePace::Piece& piece, double until_s) {
  // n first + slope n (n - 1) / 2 = until, then put right by whole passes.
  const double half = piece.slope_s / 2.0, linear = piece.first_s - half;
  const double root = std::max(0.0, linear * linear + 4.0 * half * until_s);
  double n = std::ceil(2.0 * until_s / (linear + std::sqrt(root)));
  n = std::clamp(n, 1.0, static_cast<double>(piece.passes));
  auto passes = static_cast<std::uint64_t>(n);
  while (passes > 1 && piece.seconds(passes - 1) >= until_s)
    --passes;
  while (passes < piece.passes && piece.seconds(passes) < until_s)
    ++passes;
  return passes;
}

}  // namespace

DecodePace::DecodePace(const StepTable& table, const StepLoad& load, double extra_s,
                       double tokens_per_pass)
    : extra_s_(extra_s), tokens_per_pass_(tokens_per_pass) {
  if (!table.decode_attention_s.empty())
    attention_ = GridRow(table.decode_attention_s, static_cast<double>(load.decode_sequences));
  const PassParts parts = pass_parts(table, load);
  beside_s_ = parts.gpu_s + table.gap.value();
  if (table.host_overlapped) {
    host_s_ = parts.host_s;
  } else {
    beside_s_ += parts.host_s;
  }
}

DecodePace::Piece DecodePace::piece(double context, std::uint64_t most) const {
  Piece piece{most, beside_s_, 0.0};
  const std::span<const double> lines = attention_.columns();
  if (lines.size() == 1) piece.first_s += attention_.at_line(0);
  if (lines.size() > 1) {
    const std::size_t i = cell(lines, context);
    const double left = attention_.at_line(i), right = attention_.at_line(i + 1);
    piece.first_s += left + (right - left) * fraction(lines, i, context);
    piece.slope_s = (right - left) / (lines[i + 1] - lines[i]) * tokens_per_pass_;
    if (i + 2 < lines.size())
      piece.passes = steps_short_of(context, tokens_per_pass_, lines[i + 1], most);
  }
  if (piece.first_s < host_s_) {
    if (piece.slope_s > 0.0)
      piece.passes = steps_short_of(piece.first_s, piece.slope_s, host_s_, piece.passes);
    piece.first_s = host_s_;
    piece.slope_s = 0.0;
  } else if (piece.slope_s < 0.0 && host_s_ > 0.0) {
    piece.passes = steps_short_of(-piece.first_s, -piece.slope_s, -host_s_, piece.passes);
  }
  piece.first_s += extra_s_;
  return piece;
}

double DecodePace::seconds(double context, std::uint64_t passes) const {
  double sum = 0.0;
  walk_pieces(context, passes, [&](const Piece& piece) {
    sum += piece.seconds(piece.passes);
    return true;
  });
  return sum;
}

std::uint64_t DecodePace::passes_until(double context, double until_s, std::uint64_t most) const {
  std::uint64_t passes = 0;
  double spent_s = 0.0;
  walk_pieces(context, most, [&](const Piece& piece) {
    const double whole = piece.seconds(piece.passes);
    if (spent_s + whole >= until_s) {
      passes += solve_in_piece(piece, until_s - spent_s);
      return false;
    }
    spent_s += whole;
    passes += piece.passes;
    return true;
  });
  return std::max<std::uint64_t>(passes, 1);
}

void DecodePace::record(GapHistogram& gaps, double context, std::uint64_t passes,
                        double count) const {
  walk_pieces(context, passes, [&](const Piece& piece) {
    gaps.add_line(piece.first_s, piece.slope_s, piece.passes, count);
    return true;
  });
}

}  // namespace flowplan::inference
