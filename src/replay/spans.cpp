#include "spans.hpp"

#include <algorithm>
#include <cstddef>

namespace flowplan::replay {

std::vector<Span> merged(std::vector<Span> spans) {
  std::sort(spans.begin(), spans.end(),
            [](const Span& a, const Span& b) { return a.begin < b.begin; });
  std::vector<Span> out;
  for (const Span& span : spans) {
    if (out.empty() || span.begin > out.back().end)
      out.push_back(span);
    else
      out.back().end = std::max(out.back().end, span.end);
  }
  return out;
}

double length(const std::vector<Span>& spans) {
  double sum = 0.0;
  for (const Span& span : spans)
    sum += span.end - span.begin;
  return sum;
}

double overlap(const std::vector<Span>& a, const std::vector<Span>& b) {
  double sum = 0.0;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    sum += std::max(0.0, std::min(a[i].end, b[j].end) - std::max(a[i].begin, b[j].begin));
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return sum;
}

}  // namespace flowplan::replay
