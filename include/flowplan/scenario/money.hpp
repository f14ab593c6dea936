#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/catalog.hpp"

namespace flowplan::scenario {

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

}  // namespace flowplan::scenario
