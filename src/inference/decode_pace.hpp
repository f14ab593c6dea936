#pragma once

#include <cstdint>

#include "flowplan/inference/gap_histogram.hpp"
#include "flowplan/inference/step_table.hpp"
#include "interpolate.hpp"

namespace flowplan::inference {

/// Passes of one set of decode sequences, whose mean context grows by as many tokens in each. Pass
/// times are linear in the context between grid lines, so any number of passes is summed exactly,
/// piece by piece.
class DecodePace {
 public:
  DecodePace() = default;
  /// `load` without chunks; its context is not read. `extra_s` is added to every pass.
  DecodePace(const StepTable& table, const StepLoad& load, double extra_s, double tokens_per_pass);

  struct Piece {
    std::uint64_t passes = 0;
    double first_s = 0.0, slope_s = 0.0;  ///< pass i takes first + i * slope
    [[nodiscard]] double seconds(std::uint64_t n) const {
      const double count = static_cast<double>(n);
      return count * first_s + slope_s * (count * (count - 1.0) / 2.0);
    }
  };
  /// The passes from a mean context on that lie on one line; `most` >= 1 of them at most.
  [[nodiscard]] Piece piece(double context, std::uint64_t most) const;
  /// Of so many passes from that mean context on.
  [[nodiscard]] double seconds(double context, std::uint64_t passes) const;
  /// Fewest passes, 1 at least and `most` at most, that take `until_s` or more.
  [[nodiscard]] std::uint64_t passes_until(double context, double until_s,
                                           std::uint64_t most) const;
  /// Adds the passes' durations, each `count` times.
  void record(GapHistogram& gaps, double context, std::uint64_t passes, double count) const;

 private:
  /// Calls visit(piece) from a context on until it returns false or the passes are done.
  template <class Visit>
  void walk_pieces(double context, std::uint64_t passes, Visit&& visit) const {
    while (passes > 0) {
      const Piece next = piece(context, passes);
      if (!visit(next)) return;
      passes -= next.passes;
      context += tokens_per_pass_ * static_cast<double>(next.passes);
    }
  }

  GridRow attention_;
  double beside_s_ = 0.0, host_s_ = 0.0, extra_s_ = 0.0, tokens_per_pass_ = 1.0;
};

}  // namespace flowplan::inference
