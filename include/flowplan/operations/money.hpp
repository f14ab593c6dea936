#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/operations/capacity_blocks.hpp"

namespace flowplan::operations {

inline constexpr double seconds_per_day = 86400.0;

/// What a run costs under one purchase model: list price, 100 % goodput.
struct PurchaseCost {
  std::string purchase;  ///< "on_demand", "capacity_block", ...
  std::string region;    ///< as the price list names it
  std::string as_of;     ///< date of the price
  std::string source;
  Usd per_hour{};            ///< of the whole cluster
  std::optional<Usd> total;  ///< for the token budget; nothing without one
  std::vector<std::string>
      limits;  ///< why it cannot be bought so; empty when it can, as far as known
};

/// One row a purchase model that has a price in `region`, by name; the newest price of each.
/// `duration` is how long the cluster is used: nothing when it is not known.
[[nodiscard]] std::vector<PurchaseCost> costs(const catalog::Catalog& catalog,
                                              const catalog::Instance& instance, int count,
                                              const std::string& region,
                                              std::optional<Seconds> duration);

/// What becomes of a plan that Capacity Blocks cannot hold as one. `flag`: priced by the hour, with
/// what speaks against it. `split`: bought as several blocks, whole days, where that is possible.
/// `refuse`: no price.
enum class BeyondLimits { flag, split, refuse };
[[nodiscard]] std::string_view name(BeyondLimits policy);
[[nodiscard]] std::optional<BeyondLimits> find_beyond_limits(std::string_view name);

/// A run to be paid for.
struct RunBill {
  int units = 0;  ///< of the instance type, spares included, >= 1
  std::string region;
  Seconds wall{};       ///< how long they are held: goodput is in it
  double tokens = 0.0;  ///< trained in that time
  Usd storage{};        ///< of the whole run
  Usd requests{};       ///< the same
  BeyondLimits policy = BeyondLimits::flag;
  std::optional<double> starts_in_days;  ///< for the lead times of Capacity Blocks
};

/// What the run costs under one purchase model.
struct RunCost {
  std::string purchase, region, as_of, source;
  double usd_per_unit_hour = 0.0;
  double unit_hours = 0.0;  ///< that are paid for
  Usd compute{};            ///< their price
  Usd total{};              ///< with storage and requests
  Usd per_trillion_tokens{};
  BlockPlan blocks;                 ///< of Capacity Blocks that were planned
  std::vector<std::string> limits;  ///< why it cannot be bought so
  std::vector<std::string> notes;   ///< what the price assumes
  bool refused = false;             ///< by policy; without a price
};
/// One row a purchase model that has a price in the bill's region, by name.
[[nodiscard]] std::vector<RunCost> run_costs(const catalog::Catalog& catalog,
                                             const catalog::Instance& instance,
                                             const RunBill& bill);

}  // namespace flowplan::operations
