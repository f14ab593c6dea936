#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/catalog/hardware.hpp"
#include "flowplan/catalog/purchase.hpp"

namespace flowplan::operations {

/// One Capacity Block: charged up front for all its days.
struct CapacityBlock {
  int units = 0;          ///< instances, or UltraServers
  double days = 0.0;      ///< one of the durations that are sold
  double from_day = 0.0;  ///< of the run
};

/// A cluster as Capacity Blocks. Either blocks or reasons why there are none.
struct BlockPlan {
  std::vector<CapacityBlock> blocks;
  std::vector<std::string> reasons;  ///< why it cannot be bought so
  std::vector<std::string> notes;    ///< what a buyer has to know

  [[nodiscard]] bool possible() const { return !blocks.empty(); }
  /// What is paid for: the sum of units x days.
  [[nodiscard]] double unit_days() const;
};

/// The shortest duration that is sold and not shorter than `days` (> 0): whole days up to 14, then
/// multiples of 7 up to 182. Nothing beyond that.
[[nodiscard]] std::optional<double> sold_days(const catalog::PurchaseRules& rules, double days);

/// Splits `units` of an instance type, held for `days`, into blocks: side by side where one holds
/// too few units, one after the other where one is too short. Each block is long enough to end
/// after its share of the run, though its instances go some minutes earlier. `starts_in_days`: how
/// far ahead the run starts, against the lead times; nothing when it is not known.
[[nodiscard]] BlockPlan plan_blocks(const catalog::PurchaseRules& rules,
                                    const catalog::Instance& instance, int units, double days,
                                    std::optional<double> starts_in_days = {});

}  // namespace flowplan::operations
