#include "flowplan/posttraining/batching.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

#include "flowplan/base/assert.hpp"

namespace flowplan::posttraining {

namespace {

std::int64_t rounded_up_to(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

/// Samples into as few rows as best fit decreasing finds; returns how many.
std::int64_t packs(std::span<const Sample> samples, std::int64_t row_tokens) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(samples.size());
  for (const Sample& sample : samples)
    lengths.push_back(sample.tokens());
  std::sort(lengths.begin(), lengths.end(), std::greater<>());
  std::multiset<std::int64_t> room;
  for (const std::int64_t length : lengths) {
    const auto tightest = room.lower_bound(length);
    std::int64_t left = row_tokens;
    if (tightest != room.end()) {
      left = *tightest;
      room.erase(tightest);
    }
    room.insert(left - length);
  }
  return static_cast<std::int64_t>(room.size());
}

}  // namespace

std::string_view name(Batching batching) {
  switch (batching) {
    case Batching::packed:
      return "packed";
    case Batching::padded:
      return "padded";
    case Batching::padded_to_longest:
      break;
  }
  return "padded_to_longest";
}

double Rows::waste() const {
  const double computed = static_cast<double>(rows) * static_cast<double>(row_tokens);
  return computed > 0.0 ? std::max(0.0, 1.0 - tokens / computed) : 0.0;
}

Rows rows_of(std::span<const Sample> samples, const BatchingRule& rule) {
  FLOWPLAN_ASSERT(!samples.empty() && rule.micro_batch >= 1 && rule.replicas >= 1);
  Rows result;
  double squares = 0.0;
  std::int64_t longest = 1;
  for (const Sample& sample : samples) {
    const double tokens = sample.tokens();
    result.tokens += tokens;
    squares += tokens * tokens;
    longest = std::max<std::int64_t>(longest, sample.tokens());
  }
  const std::int64_t whole = rule.micro_batch * rule.replicas;
  const auto count = static_cast<std::int64_t>(samples.size());
  if (rule.batching == Batching::packed) {
    result.row_tokens = rounded_up_to(std::max(longest, rule.pack_tokens), rule.multiple);
    const std::int64_t filled = packs(samples, result.row_tokens);
    result.rows = rounded_up_to(filled, whole);
    if (!rule.whole_packs) {
      const double each = result.tokens / static_cast<double>(result.rows);
      result.row_tokens =
          std::min(result.row_tokens,
                   rounded_up_to(std::max<std::int64_t>(1, static_cast<std::int64_t>(each + 0.999)),
                                 rule.multiple));
    }
  } else {
    result.rows = rounded_up_to(count, whole);
    double padded = 0.0, padded_squares = 0.0;
    for (std::int64_t first = 0; first < count; first += rule.micro_batch) {
      const std::int64_t last = std::min(count, first + rule.micro_batch);
      std::int64_t most = 1;
      for (std::int64_t i = first; i < last; ++i)
        most = std::max<std::int64_t>(most, samples[static_cast<std::size_t>(i)].tokens());
      const auto length = static_cast<double>(rounded_up_to(most, rule.multiple));
      padded += length * static_cast<double>(last - first);
      padded_squares += length * length * static_cast<double>(last - first);
    }
    if (rule.batching == Batching::padded) {
      const double each = padded / static_cast<double>(count);
      result.row_tokens = rounded_up_to(static_cast<std::int64_t>(each + 0.999), rule.multiple);
      squares = padded_squares;
    } else {
      result.row_tokens = rounded_up_to(longest, rule.multiple);
      const auto row = static_cast<double>(result.row_tokens);
      squares = row * row * static_cast<double>(result.rows);
    }
  }
  const auto row = static_cast<double>(result.row_tokens);
  result.attention_share = squares / (row * row * static_cast<double>(result.rows));
  return result;
}

}  // namespace flowplan::posttraining
