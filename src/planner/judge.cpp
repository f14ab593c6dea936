#include "judge.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <tuple>

namespace flowplan::planner {

namespace {

using operations::PurchaseCost;
using scenario::Objective;

constexpr std::array by_the_hour{"on_demand", "capacity_block"};
constexpr double seconds_per_hour = 3600.0;
constexpr double never = std::numeric_limits<double>::infinity();

bool may_be_judged(const Plan& plan, const PurchaseCost& cost) {
  if (plan.purchase) return cost.purchase == *plan.purchase;
  return std::find(by_the_hour.begin(), by_the_hour.end(), cost.purchase) != by_the_hour.end();
}

std::optional<std::size_t> judged(const Plan& plan, const PlanRow& row) {
  std::optional<std::size_t> best;
  const auto order = [&](std::size_t i) {
    return std::tuple(!row.costs[i].limits.empty(), row.costs[i].per_hour.value());
  };
  for (std::size_t i = 0; i < row.costs.size(); ++i) {
    if (!may_be_judged(plan, row.costs[i])) continue;
    if (!best || order(i) < order(*best)) best = i;
  }
  return best;
}

std::tuple<double, double, std::uint32_t> by_objective(const Plan& plan, const PlanRow& row) {
  const double time = duration(row), cost = money(row).value_or(never);
  switch (plan.objective) {
    case Objective::cost:
      return {cost, time, 0};
    case Objective::smallest:
      return {plan.clusters[row.cluster].gpus, time, 0};
    case Objective::time:
    case Objective::throughput:
      break;
  }
  return {time, cost, plan.clusters[row.cluster].gpus};
}

/// No other row is faster and no dearer, or cheaper and no slower.
std::vector<PlanRow> pareto(std::vector<PlanRow> rows) {
  std::erase_if(rows, [](const PlanRow& row) { return !money(row); });
  std::stable_sort(rows.begin(), rows.end(), [](const PlanRow& a, const PlanRow& b) {
    return std::tuple(duration(a), *money(a)) < std::tuple(duration(b), *money(b));
  });
  std::vector<PlanRow> front;
  for (PlanRow& row : rows) {
    if (front.empty() || *money(row) < *money(front.back())) front.push_back(std::move(row));
  }
  return front;
}

std::optional<std::size_t> dominating(const Plan& plan, const PlanRow& row) {
  for (const PlanRow& other : plan.front) {
    if (other.cluster == row.cluster || fate_of(plan, other) != Fate::listed) continue;
    if (duration(other) > duration(row)) continue;
    if (!money(row) || *money(other) <= *money(row)) return other.cluster;
  }
  return std::nullopt;
}

}  // namespace

const PurchaseCost* PlanRow::cost() const {
  return priced ? &costs[*priced] : nullptr;
}

bool PlanRow::purchasable() const {
  return priced && costs[*priced].limits.empty();
}

std::string_view name(Fate fate) {
  switch (fate) {
    case Fate::listed:
      return "listed";
    case Fate::ranked_below:
      return "ranked_below";
    case Fate::past_deadline:
      return "past_deadline";
    case Fate::over_budget:
      return "over_budget";
    case Fate::no_price:
      return "no_price";
    case Fate::not_purchasable:
      return "not_purchasable";
    case Fate::nothing_fits:
      return "nothing_fits";
    case Fate::no_layout:
      break;
  }
  return "no_layout";
}

double duration(const PlanRow& row) {
  return row.time ? row.time->value() : 1.0 / row.tokens_per_second;
}

std::optional<double> money(const PlanRow& row) {
  const PurchaseCost* cost = row.cost();
  if (cost == nullptr) return std::nullopt;
  return cost->per_hour.value() / seconds_per_hour * duration(row);
}

void judge(const catalog::Catalog& catalog, const Plan& plan, const PlanCluster& cluster,
           PlanRow& row) {
  if (plan.tokens) row.time = ranked_time(row.job, row.step, plan.tokens);
  row.costs = operations::costs(catalog, *cluster.instance, cluster.count, plan.region, row.time);
  row.priced = judged(plan, row);
  const scenario::SearchSection& limits = plan.limits;
  row.past_deadline = limits.deadline && row.time && *row.time > *limits.deadline;
  row.over_budget = limits.budget && row.priced && *money(row) > limits.budget->value();
}

Fate fate_of(const Plan& plan, const PlanRow& row) {
  if (row.past_deadline) return Fate::past_deadline;
  const bool needs_price = plan.limits.budget || plan.objective == Objective::cost;
  if (needs_price && !row.priced) return Fate::no_price;
  if (row.over_budget) return Fate::over_budget;
  if (plan.limits.only_purchasable && !row.purchasable()) return Fate::not_purchasable;
  return Fate::listed;
}

bool better(const Plan& plan, const PlanRow& a, const PlanRow& b) {
  return std::tuple(by_objective(plan, a), a.cluster) <
         std::tuple(by_objective(plan, b), b.cluster);
}

void rank(Plan& plan, int top) {
  std::vector<PlanRow> fastest;
  for (PlanCluster& cluster : plan.clusters) {
    plan.counts += cluster.counts;
    if (cluster.rows.empty()) {
      cluster.fate = cluster.leanest ? Fate::nothing_fits : Fate::no_layout;
      continue;
    }
    cluster.fate = fate_of(plan, cluster.rows.front());
    fastest.push_back(cluster.rows.front());
    for (const PlanRow& row : cluster.rows) {
      if (fate_of(plan, row) == Fate::listed) plan.ranked.push_back(row);
    }
  }
  plan.front = pareto(std::move(fastest));
  std::stable_sort(plan.ranked.begin(), plan.ranked.end(),
                   [&](const PlanRow& a, const PlanRow& b) { return better(plan, a, b); });
  if (plan.ranked.size() > static_cast<std::size_t>(top)) {
    plan.ranked.resize(static_cast<std::size_t>(top));
  }
  for (std::size_t i = 0; i < plan.clusters.size(); ++i) {
    PlanCluster& cluster = plan.clusters[i];
    if (cluster.fate != Fate::listed) continue;
    const bool shown = std::any_of(plan.ranked.begin(), plan.ranked.end(),
                                   [&](const PlanRow& row) { return row.cluster == i; });
    if (shown) continue;
    cluster.fate = Fate::ranked_below;
    cluster.dominated_by = dominating(plan, cluster.rows.front());
  }
}

}  // namespace flowplan::planner
