#include "flowplan/operations/capacity_blocks.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"

namespace flowplan::operations {

namespace {

constexpr double days_a_week = 7.0;
constexpr double minutes_a_day = 24.0 * 60.0;
constexpr std::string_view capacity_block = "capacity_block";

/// A figure of the rules; `otherwise` where nothing is known.
double rule(const catalog::PurchaseRules& rules, std::string_view name, double otherwise) {
  const catalog::Figure figure =
      catalog::figure_of(rules.facts, fmt::format("{}.{}", capacity_block, name));
  return figure ? figure.value : otherwise;
}

bool is_ultraserver(const catalog::Instance& instance) {
  return instance.kind == catalog::InstanceKind::ultraserver;
}

/// Limits that no splitting mends: who sells it, how many in all, how far ahead.
std::vector<std::string> unsplittable(const catalog::PurchaseRules& rules,
                                      const catalog::Instance& instance, int units,
                                      std::optional<double> starts_in_days) {
  std::vector<std::string> reasons;
  for (const catalog::PurchaseLimit& limit :
       purchase_limits(rules, instance, capacity_block, units)) {
    if (limit.id != "capacity_block_size_limit") reasons.push_back(limit.message);
  }
  if (!starts_in_days) return reasons;
  const double earliest = rule(rules, "start_earliest_minutes", 0.0);
  const double latest = rule(rules, "start_latest_days", HUGE_VAL);
  if (*starts_in_days * minutes_a_day < earliest) {
    reasons.push_back(
        fmt::format("a Capacity Block starts at the earliest {} minutes ahead", earliest));
  }
  if (*starts_in_days > latest) {
    reasons.push_back(fmt::format("a Capacity Block starts at most {} days ahead, not {:.4g}",
                                  latest, *starts_in_days));
  }
  return reasons;
}

std::vector<int> side_by_side(const catalog::PurchaseRules& rules,
                              const catalog::Instance& instance, int units) {
  const double most = rule(
      rules, is_ultraserver(instance) ? "ultraservers_per_block" : "instances_per_block", units);
  const int in_one = std::max(1, static_cast<int>(most));
  std::vector<int> blocks(static_cast<std::size_t>(units / in_one), in_one);
  if (units % in_one != 0) blocks.push_back(units % in_one);
  return blocks;
}

void add_notes(const catalog::PurchaseRules& rules, double early_minutes, std::size_t beside,
               int rounds, BlockPlan& plan) {
  if (beside > 1) {
    plan.notes.push_back(
        fmt::format("{} blocks side by side, which are not placed together", beside));
  }
  if (rounds > 1) {
    plan.notes.push_back(fmt::format(
        "{} blocks one after the other: the job moves between them, and each is bought at most {} "
        "days before it starts",
        rounds, rule(rules, "start_latest_days", HUGE_VAL)));
  }
  plan.notes.push_back(
      fmt::format("charged up front, cannot be cancelled; the capacity goes {} minutes before the "
                  "end; the quotas of an account are not known",
                  early_minutes));
}

}  // namespace

double BlockPlan::unit_days() const {
  double sum = 0.0;
  for (const CapacityBlock& block : blocks)
    sum += block.units * block.days;
  return sum;
}

std::optional<double> sold_days(const catalog::PurchaseRules& rules, double days) {
  FLOWPLAN_ASSERT(days > 0.0);
  const double whole = std::ceil(days);
  if (whole <= rule(rules, "days_in_1_day_steps", 0.0)) return whole;
  const double weeks = std::ceil(days / days_a_week) * days_a_week;
  if (weeks <= rule(rules, "days_in_7_day_steps", 0.0)) return weeks;
  return std::nullopt;
}

BlockPlan plan_blocks(const catalog::PurchaseRules& rules, const catalog::Instance& instance,
                      int units, double days, std::optional<double> starts_in_days) {
  FLOWPLAN_ASSERT(units >= 1 && days > 0.0);
  BlockPlan plan;
  plan.reasons = unsplittable(rules, instance, units, starts_in_days);
  if (!plan.reasons.empty()) return plan;

  const double early_minutes = rule(
      rules,
      is_ultraserver(instance) ? "ultraservers_end_early_minutes" : "instances_end_early_minutes",
      0.0);
  const double early = early_minutes / minutes_a_day;
  const double longest = rule(rules, "days_in_7_day_steps", 0.0);
  const std::vector<int> beside = side_by_side(rules, instance, units);
  int rounds = 0;
  for (double done = 0.0; done < days; ++rounds) {
    const double sold = sold_days(rules, days - done + early).value_or(longest);
    if (sold <= early) return plan;  // a catalog without durations sells nothing
    for (const int in_block : beside)
      plan.blocks.push_back({in_block, sold, done});
    done += sold - early;
  }
  add_notes(rules, early_minutes, beside.size(), rounds, plan);
  return plan;
}

}  // namespace flowplan::operations
