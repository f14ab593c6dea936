#pragma once

#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/storage/transfer.hpp"

namespace flowplan::storage {

/// A figure of an answer that is not its time.
struct Detail {
  std::string id;     ///< with its unit: "demand_bytes_per_s_per_gpu"
  std::string label;  ///< for people
  double value = 0.0;
  std::string unit;  ///< "B", "B/s", "s", "", "USD"
};

/// What an operation on storage takes, and why.
struct Answer {
  bool feasible = true;
  std::string why_not;  ///< with numbers; empty when it can be done
  Bytes bytes{};        ///< that are wanted, all nodes together
  Seconds time{};
  BytesPerSecond rate{};  ///< bytes over the time that they move
  Breakdown breakdown;    ///< leaves sum to `time`
  std::string limit, next;
  Seconds next_time{};  ///< were the binding limit lifted
  std::vector<LimitUse> limits;
  std::vector<Detail> details;
  std::vector<Warning> warnings;
};

/// An answer whose only part is one transfer.
[[nodiscard]] Answer answer_of(std::string id, std::string label, const Movement& movement);
/// Appends a part that is not a transfer: an engine's start, say.
void add_part(Answer& answer, Breakdown part);

}  // namespace flowplan::storage
