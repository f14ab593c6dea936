#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flowplan/catalog/figure.hpp"
#include "flowplan/catalog/hardware.hpp"

namespace flowplan::catalog {

/// What a purchase model says besides its limits: "charged up front".
struct PurchaseRule {
  std::string id;
  std::string purchase;
  std::string text;
  Source source;
};

/// Which units a purchase model sells.
struct SoldAs {
  std::string purchase;
  std::vector<std::string> instances;
};

/// How the capacity is bought.
struct PurchaseRules {
  std::vector<Fact> facts;  ///< "capacity_block.instances_per_block", ...
  std::vector<SoldAs> sold_as;
  std::vector<PurchaseRule> rules;

  /// Whether that purchase model sells this type at all.
  [[nodiscard]] bool sells(std::string_view purchase, std::string_view instance) const;
  /// The purchase models in the order of the file.
  [[nodiscard]] std::vector<std::string> purchase_models() const;
};

/// Why a number of units cannot be bought, as a warning to print.
struct PurchaseLimit {
  std::string id;  ///< stable: "capacity_block_organisation_limit"
  std::string message;
  Source source;
};

/// Every reason why `units` of an instance type or UltraServer, held for `days`, cannot be bought
/// under a purchase model; empty when nothing known speaks against it (quotas of an account are
/// never known). `days` 0: not asked.
[[nodiscard]] std::vector<PurchaseLimit> purchase_limits(const PurchaseRules& rules,
                                                         const Instance& instance,
                                                         std::string_view purchase, int units,
                                                         double days = 0.0);

}  // namespace flowplan::catalog
