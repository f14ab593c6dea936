#include "flowplan/catalog/purchase.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace flowplan::catalog {

namespace {

constexpr std::string_view block = "capacity_block";

/// A limit of the rules; nothing is known to be unlimited.
const Fact* limit(const PurchaseRules& rules, std::string_view name) {
  const Fact* fact = find(rules.facts, name);
  return fact != nullptr && fact->figure.known ? fact : nullptr;
}

void check_block_size(const PurchaseRules& rules, const Instance& instance, int units,
                      std::vector<PurchaseLimit>& limits) {
  const Fact* block_limit = limit(rules, "capacity_block.instances_per_block");
  const Fact* organisation = limit(rules, "capacity_block.instances_per_organisation");
  const double instances = static_cast<double>(units) * instance.instances;
  const bool ultraserver = instance.kind == InstanceKind::ultraserver;
  if (organisation != nullptr && instances > organisation->figure.value) {
    limits.push_back(
        {"capacity_block_organisation_limit",
         fmt::format(
             "{} x {}{} exceed the {} instances that an organisation may hold in Capacity "
             "Blocks at a time",
             units, instance.id,
             ultraserver ? fmt::format(" ({} instances of {})", instances, instance.member) : "",
             organisation->figure.value),
         organisation->figure.source});
  } else if (!ultraserver && block_limit != nullptr && instances > block_limit->figure.value) {
    limits.push_back({"capacity_block_size_limit",
                      fmt::format("{} x {} exceed the {} instances of one Capacity Block: it takes "
                                  "{} blocks, which are not placed together",
                                  units, instance.id, block_limit->figure.value,
                                  static_cast<int>((instances + block_limit->figure.value - 1) /
                                                   block_limit->figure.value)),
                      block_limit->figure.source});
  }
}

void check_block_days(const PurchaseRules& rules, double days, std::vector<PurchaseLimit>& limits) {
  const Fact* longest = limit(rules, "capacity_block.days_in_7_day_steps");
  if (longest == nullptr || days <= longest->figure.value) return;
  limits.push_back({"capacity_block_duration_limit",
                    fmt::format("{:.3g} days exceed the {} days of a Capacity Block", days,
                                longest->figure.value),
                    longest->figure.source});
}

}  // namespace

bool PurchaseRules::sells(std::string_view purchase, std::string_view instance) const {
  return std::any_of(sold_as.begin(), sold_as.end(), [&](const SoldAs& s) {
    return s.purchase == purchase &&
           std::find(s.instances.begin(), s.instances.end(), instance) != s.instances.end();
  });
}

std::vector<std::string> PurchaseRules::purchase_models() const {
  std::vector<std::string> models;
  for (const SoldAs& s : sold_as)
    models.push_back(s.purchase);
  return models;
}

std::vector<PurchaseLimit> purchase_limits(const PurchaseRules& rules, const Instance& instance,
                                           std::string_view purchase, int units, double days) {
  std::vector<PurchaseLimit> limits;
  if (instance.kind == InstanceKind::reference) {
    limits.push_back({"not_for_sale",
                      fmt::format("{} is a reference system, not something AWS sells", instance.id),
                      {}});
    return limits;
  }
  if (!rules.sells(purchase, instance.id)) {
    std::string others;
    for (const std::string& model : rules.purchase_models()) {
      if (rules.sells(model, instance.id)) others += (others.empty() ? "" : ", ") + model;
    }
    limits.push_back({"not_sold_so",
                      fmt::format("{} is not known to be sold as {}{}", instance.id, purchase,
                                  others.empty() ? std::string("; no purchase model is known")
                                                 : fmt::format("; it is sold as {}", others)),
                      {}});
    return limits;
  }
  if (purchase == block) {
    check_block_size(rules, instance, units, limits);
    check_block_days(rules, days, limits);
  }
  return limits;
}

}  // namespace flowplan::catalog
