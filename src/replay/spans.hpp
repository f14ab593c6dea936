#pragma once

#include <vector>

namespace flowplan::replay {

/// A stretch of time, in any unit.
struct Span {
  double begin = 0.0, end = 0.0;
};

/// In order, those that touch made one.
[[nodiscard]] std::vector<Span> merged(std::vector<Span> spans);
/// Sum of their lengths.
[[nodiscard]] double length(const std::vector<Span>& spans);
/// Of merged spans, for how long both hold.
[[nodiscard]] double overlap(const std::vector<Span>& a, const std::vector<Span>& b);

}  // namespace flowplan::replay
