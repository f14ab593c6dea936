#include "flowplan/operations/money.hpp"

#include <map>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

namespace {

constexpr double seconds_per_hour = 3600.0;
constexpr double hours_per_day = 24.0;
constexpr double trillion = 1e12;
constexpr std::string_view block_purchase = "capacity_block";
constexpr std::string_view term_figure = "term_days";

/// The newest price of each purchase model, by its name.
std::map<std::string, catalog::Price> newest_prices(const catalog::Catalog& catalog,
                                                    const catalog::Instance& instance,
                                                    const std::string& region) {
  std::map<std::string, catalog::Price> newest;
  for (const catalog::Price& price : catalog.prices(instance.id, region))
    newest.emplace(price.purchase, price);  // they come newest first
  return newest;
}

std::vector<std::string> limits_of(const catalog::Catalog& catalog,
                                   const catalog::Instance& instance, std::string_view purchase,
                                   int units, double days) {
  std::vector<std::string> messages;
  for (const catalog::PurchaseLimit& limit :
       purchase_limits(catalog.purchase_rules(), instance, purchase, units, days))
    messages.push_back(limit.message);
  return messages;
}

/// Says what a commitment costs whose term is longer than the run.
void note_term(const catalog::Catalog& catalog, const RunBill& bill, RunCost& cost) {
  const catalog::Figure term = catalog::figure_of(catalog.purchase_rules().facts,
                                                  fmt::format("{}.{}", cost.purchase, term_figure));
  const double held = bill.wall.value() / seconds_per_day;
  if (!term || held >= term.value) return;
  cost.notes.push_back(fmt::format(
      "a commitment for {:.0f} days, {:.4g} million USD in all, of which the run uses {:.3g} %; "
      "the price holds when the rest is used too",
      term.value, term.value * hours_per_day * bill.units * cost.usd_per_unit_hour / 1e6,
      100.0 * held / term.value));
}

/// Capacity Blocks are paid for whole; hours count where that is not asked for.
void settle_blocks(const catalog::Catalog& catalog, const catalog::Instance& instance,
                   const RunBill& bill, RunCost& cost) {
  if (bill.policy == BeyondLimits::flag) return;
  cost.blocks = plan_blocks(catalog.purchase_rules(), instance, bill.units,
                            bill.wall.value() / seconds_per_day, bill.starts_in_days);
  if (bill.policy == BeyondLimits::refuse && !cost.limits.empty()) {
    cost.blocks.blocks.clear();
    return;
  }
  if (!cost.blocks.possible()) {
    cost.limits = cost.blocks.reasons;
    return;
  }
  cost.limits.clear();
  cost.unit_hours = cost.blocks.unit_days() * hours_per_day;
  for (const std::string& note : cost.blocks.notes)
    cost.notes.push_back(note);
}

}  // namespace

std::string_view name(BeyondLimits policy) {
  switch (policy) {
    case BeyondLimits::split:
      return "split";
    case BeyondLimits::refuse:
      return "refuse";
    case BeyondLimits::flag:
      break;
  }
  return "flag";
}

std::optional<BeyondLimits> find_beyond_limits(std::string_view wanted) {
  for (const BeyondLimits policy :
       {BeyondLimits::flag, BeyondLimits::split, BeyondLimits::refuse}) {
    if (name(policy) == wanted) return policy;
  }
  return std::nullopt;
}

std::vector<PurchaseCost> costs(const catalog::Catalog& catalog, const catalog::Instance& instance,
                                int count, const std::string& region,
                                std::optional<Seconds> duration) {
  const double days = duration ? duration->value() / seconds_per_day : 0.0;
  std::vector<PurchaseCost> rows;
  for (const auto& [purchase, price] : newest_prices(catalog, instance, region)) {
    PurchaseCost row{purchase,
                     price.region,
                     price.as_of,
                     price.source.text,
                     price.per_hour * static_cast<double>(count),
                     {},
                     limits_of(catalog, instance, purchase, count, days)};
    if (duration) row.total = row.per_hour * (duration->value() / seconds_per_hour);
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<RunCost> run_costs(const catalog::Catalog& catalog, const catalog::Instance& instance,
                               const RunBill& bill) {
  FLOWPLAN_ASSERT(bill.units >= 1 && bill.wall.value() > 0.0);
  std::vector<RunCost> rows;
  for (const auto& [purchase, price] : newest_prices(catalog, instance, bill.region)) {
    RunCost cost;
    cost.purchase = purchase;
    cost.region = price.region;
    cost.as_of = price.as_of;
    cost.source = price.source.text;
    cost.usd_per_unit_hour = price.per_hour.value();
    cost.unit_hours = bill.wall.value() / seconds_per_hour * bill.units;
    cost.limits =
        limits_of(catalog, instance, purchase, bill.units, bill.wall.value() / seconds_per_day);
    if (purchase == block_purchase) settle_blocks(catalog, instance, bill, cost);
    note_term(catalog, bill, cost);
    cost.refused = bill.policy == BeyondLimits::refuse && !cost.limits.empty();
    if (!cost.refused) {
      cost.compute = Usd(cost.usd_per_unit_hour * cost.unit_hours);
      cost.total = cost.compute + bill.storage + bill.requests;
      if (bill.tokens > 0.0) cost.per_trillion_tokens = cost.total / (bill.tokens / trillion);
    }
    rows.push_back(std::move(cost));
  }
  return rows;
}

}  // namespace flowplan::operations
