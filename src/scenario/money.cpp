#include "flowplan/scenario/money.hpp"

#include <map>

namespace flowplan::scenario {

namespace {

constexpr double seconds_per_hour = 3600.0;

}  // namespace

std::vector<PurchaseCost> costs(const catalog::Catalog& catalog, const catalog::Instance& instance,
                                int count, const std::string& region,
                                std::optional<Seconds> duration) {
  // Prices come newest first within a purchase model.
  std::map<std::string, catalog::Price> newest;
  for (const catalog::Price& price : catalog.prices(instance.id, region))
    newest.emplace(price.purchase, price);

  const double days = duration ? duration->value() / seconds_per_day : 0.0;
  std::vector<PurchaseCost> rows;
  for (const auto& [purchase, price] : newest) {
    PurchaseCost row{purchase,
                     price.region,
                     price.as_of,
                     price.source.text,
                     price.per_hour * static_cast<double>(count),
                     {},
                     {}};
    if (duration) row.total = row.per_hour * (duration->value() / seconds_per_hour);
    for (const catalog::PurchaseLimit& limit :
         purchase_limits(catalog.purchase_rules(), instance, purchase, count, days)) {
      row.limits.push_back(limit.message);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace flowplan::scenario
