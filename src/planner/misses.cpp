#include "misses.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "clusters.hpp"
#include "judge.hpp"

namespace flowplan::planner {

namespace {

/// How far beyond the largest cluster searched, in its GPUs.
constexpr int most_times = 16;

std::string thousands(std::int64_t n) {
  std::string text = fmt::format("{}", n);
  for (std::size_t at = text.size(); at > 3; at -= 3)
    text.insert(at - 3, ",");
  return text;
}

std::string machines(const PlanCluster& cluster) {
  return fmt::format("{} x {}", thousands(cluster.count), cluster.instance->id);
}

std::string days_text(Seconds time) {
  const double days = time.value() / operations::seconds_per_day;
  return days >= 1.0 ? fmt::format("{:.3g} d", days) : fmt::format("{:.3g} h", days * 24.0);
}

std::string money_text(double usd) {
  constexpr double million = 1e6;
  return usd >= million ? fmt::format("{:.3g} M USD", usd / million)
                        : fmt::format("{} USD", thousands(std::llround(usd)));
}

/// The largest cluster searched of an instance.
int largest_count(const Plan& plan, const catalog::Instance* instance) {
  int most = 0;
  for (const PlanCluster& cluster : plan.clusters) {
    if (cluster.instance == instance) most = std::max(most, cluster.count);
  }
  return most;
}

/// The first larger cluster of that instance for which `good` holds.
template <class Good>
std::optional<PlanCluster> first_larger(const Plan& plan, const catalog::Instance* instance,
                                        const SearchMore& more, const Good& good) {
  const std::int64_t from = largest_count(plan, instance);
  for (int count = next_count(static_cast<int>(from)); count <= from * most_times;
       count = next_count(count)) {
    auto cluster = more(*instance, count);
    if (!cluster) return std::nullopt;
    if (good(*cluster)) return cluster;
  }
  return std::nullopt;
}

/// The row that is least by `of`, among those of the clusters' best for which `of` has a value.
template <class Of>
const PlanRow* least(const Plan& plan, const Of& of) {
  const PlanRow* best = nullptr;
  for (const PlanCluster& cluster : plan.clusters) {
    if (cluster.rows.empty() || !of(cluster.rows.front())) continue;
    if (best == nullptr || *of(cluster.rows.front()) < *of(*best)) best = &cluster.rows.front();
  }
  return best;
}

void add_memory(const Plan& plan, const SearchMore& more, std::vector<std::string>& said) {
  const PlanCluster* leanest = nullptr;
  const auto excess = [](const PlanCluster& cluster) {
    return cluster.leanest->result.memory / cluster.instance->hbm_per_gpu();
  };
  for (const PlanCluster& cluster : plan.clusters) {
    if (!cluster.leanest) continue;
    if (leanest == nullptr || excess(cluster) < excess(*leanest)) leanest = &cluster;
  }
  if (leanest == nullptr) {
    said.emplace_back("no layout of the space divides the GPUs, the model and the batch");
    return;
  }
  const auto gib = [](Bytes bytes) { return bytes.value() / gibibytes(1.0).value(); };
  said.push_back(
      fmt::format("the leanest layout needs {:.1f} GiB of the {:.1f} GiB of a GPU, on {}",
                  gib(leanest->leanest->result.memory),
                  gib(leanest->instance->hbm_per_gpu()) * (1.0 - *plan.limits.memory_headroom),
                  machines(*leanest)));
  const auto fits = first_larger(plan, leanest->instance, more,
                                 [](const PlanCluster& cluster) { return !cluster.rows.empty(); });
  said.push_back(
      fits ? fmt::format("needs {} GPUs to fit: {}", thousands(fits->gpus), machines(*fits))
           : fmt::format("does not fit on {} times as many GPUs either", most_times));
}

void add_deadline(const Plan& plan, const SearchMore& more, std::vector<std::string>& said) {
  const PlanRow* fastest =
      least(plan, [](const PlanRow& row) { return std::optional<double>(duration(row)); });
  if (!plan.limits.deadline || fastest == nullptr) return;
  if (!fastest->past_deadline) return;
  const PlanCluster& cluster = plan.clusters[fastest->cluster];
  said.push_back(
      fmt::format("the fastest takes {}: {}", days_text(*fastest->time), machines(cluster)));
  const auto soon = [&](const PlanCluster& larger) {
    return !larger.rows.empty() && !larger.rows.front().past_deadline;
  };
  const auto enough = first_larger(plan, cluster.instance, more, soon);
  said.push_back(enough ? fmt::format("needs {} GPUs to meet {}: {}", thousands(enough->gpus),
                                      days_text(*plan.limits.deadline), machines(*enough))
                        : fmt::format("no cluster of {} times as many GPUs meets {} either: the "
                                      "global batch limits the data-parallel ranks",
                                      most_times, days_text(*plan.limits.deadline)));
}

void add_budget(const Plan& plan, std::vector<std::string>& said) {
  if (!plan.limits.budget) return;
  const PlanRow* cheapest = least(plan, money);
  if (cheapest == nullptr) return;
  if (cheapest->over_budget) {
    said.push_back(fmt::format("the cheapest is {}: {}, {}", money_text(*money(*cheapest)),
                               machines(plan.clusters[cheapest->cluster]),
                               days_text(*cheapest->time)));
    return;
  }
  const PlanRow* affordable = least(plan, [](const PlanRow& row) {
    return row.priced && !row.over_budget ? std::optional<double>(duration(row)) : std::nullopt;
  });
  if (affordable != nullptr && affordable->past_deadline) {
    said.push_back(fmt::format("within the budget the fastest takes {}: {}",
                               days_text(*affordable->time),
                               machines(plan.clusters[affordable->cluster])));
  }
  const PlanRow* timely =
      least(plan, [](const PlanRow& row) { return row.past_deadline ? std::nullopt : money(row); });
  if (timely != nullptr && timely->over_budget) {
    said.push_back(fmt::format("within the deadline the cheapest is {}: {}",
                               money_text(*money(*timely)),
                               machines(plan.clusters[timely->cluster])));
  }
}

void add_purchase(const Plan& plan, std::vector<std::string>& said) {
  if (!plan.limits.only_purchasable) return;
  for (const PlanCluster& cluster : plan.clusters) {
    if (cluster.fate != Fate::not_purchasable) continue;
    const operations::PurchaseCost* cost = cluster.rows.front().cost();
    said.push_back(cost != nullptr && !cost->limits.empty()
                       ? fmt::format("would do, but cannot be bought: {}", cost->limits.front())
                       : fmt::format("would do, but no price is known: {}", machines(cluster)));
    return;
  }
}

}  // namespace

std::vector<std::string> nearest_misses(const Plan& plan, const SearchMore& more) {
  std::vector<std::string> said;
  const bool any_fits = std::any_of(plan.clusters.begin(), plan.clusters.end(),
                                    [](const PlanCluster& c) { return !c.rows.empty(); });
  if (!any_fits) {
    add_memory(plan, more, said);
    return said;
  }
  add_deadline(plan, more, said);
  add_budget(plan, said);
  add_purchase(plan, said);
  return said;
}

}  // namespace flowplan::planner
