#include "plan_charts.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "plan_text.hpp"

namespace flowplan::report {

namespace {

using planner::Plan;
using planner::PlanRow;
using planner::ServingCandidate;
using planner::ServingPlan;

constexpr double dollars_a_million = 1e6;

/// Days where there are tokens to train on; hours for 10^12 tokens elsewhere.
double time_of_row(const PlanRow& row) {
  constexpr double trillion = 1e12;
  return row.time ? *row.time / days(1.0) : trillion / row.tokens_per_second / 3600.0;
}

/// Million USD where there is a whole, else USD a million tokens.
double money_of_row(const PlanRow& row) {
  const operations::PurchaseCost& cost = *row.cost();
  constexpr double seconds_an_hour = 3600.0;
  return cost.total
             ? cost.total->value() / dollars_a_million
             : cost.per_hour.value() / seconds_an_hour / row.tokens_per_second * dollars_a_million;
}

void add_plan_point(const Plan& plan, const PlanRow& row, ChartSeries& series) {
  series.x.push_back(time_of_row(row));
  series.y.push_back(money_of_row(row));
  series.labels.push_back(plan_machines(plan.clusters[row.cluster]));
}

void add_fleet(const ServingCandidate& one, ChartSeries& series) {
  constexpr double ms = 1e3;
  series.x.push_back(one.at_capacity.tpot_s.p50 * ms);
  series.y.push_back(one.usd_per_hour.value_or(0.0));
  series.labels.push_back(fmt::format("{} x {}", one.machines, one.instance->id));
}

bool same_fleet(const ServingCandidate& a, const ServingCandidate& b) {
  return a.instance == b.instance && a.weights == b.weights && a.machines == b.machines &&
         a.layout.tp == b.layout.tp && a.layout.pp == b.layout.pp &&
         a.layout.attention_dp == b.layout.attention_dp && a.layout.ep == b.layout.ep;
}

}  // namespace

std::vector<Chart> plan_charts(const Plan& plan) {
  if (plan.front.empty()) return {};
  const bool whole = plan.front.front().time.has_value();
  Chart chart;
  chart.kind = Chart::Kind::points;
  chart.title = "Time against money";
  chart.about =
      "Each point is the best layout of one cluster. Nothing that was searched is both faster and "
      "cheaper than the points of the front; the table lists these.";
  chart.along = {whole ? "days" : "hours for 10^12 tokens", false, 0.0, {}};
  chart.values = {whole ? "million USD" : "USD a million tokens", false, {}, {}};
  ChartSeries front, met, missed;
  front.name = "front";
  met.name = "meets the limits";
  missed.name = "misses a limit";
  missed.tone = "muted";
  for (const PlanRow& row : plan.front)
    add_plan_point(plan, row, front);
  for (const planner::PlanCluster& cluster : plan.clusters) {
    if (cluster.rows.empty() || cluster.rows.front().cost() == nullptr) continue;
    const PlanRow& row = cluster.rows.front();
    const bool on_front = std::any_of(plan.front.begin(), plan.front.end(),
                                      [&](const PlanRow& f) { return f.cluster == row.cluster; });
    if (on_front) continue;
    add_plan_point(plan, row, row.past_deadline || row.over_budget ? missed : met);
  }
  for (ChartSeries* series : {&front, &met, &missed})
    if (!series->x.empty()) chart.series.push_back(std::move(*series));
  return {chart};
}

std::vector<Highlight> plan_highlights(const Plan& plan) {
  std::vector<Highlight> all;
  if (plan.ranked.empty()) {
    for (const std::string& miss : plan.nearest_misses)
      all.push_back({"nearest", miss, {}});
    return all;
  }
  const PlanRow& best = plan.ranked.front();
  const planner::PlanCluster& cluster = plan.clusters[best.cluster];
  all.push_back({"cluster", plan_machines(cluster), fmt::format("{} GPUs", grouped(cluster.gpus))});
  // The band of the step, where it was estimated again.
  const Band band = plan.rechecked.empty() ? Band{} : plan.rechecked.front().iteration.band;
  const auto range = [&](double value) {
    return plan.rechecked.empty() ? std::optional<Highlight::Range>{}
                                  : Highlight::Range{value * band.low, value, value * band.high};
  };
  if (best.time) {
    Highlight time{"time, 100 % goodput", duration(*best.time), {}, range(best.time->value())};
    if (time.range)
      time.note = fmt::format("{} to {}", duration(*best.time * band.low),
                              duration(*best.time * band.high));
    all.push_back(std::move(time));
  }
  if (const auto* cost = best.cost()) {
    std::string bought = cost->purchase;
    std::replace(bought.begin(), bought.end(), '_', ' ');
    if (cost->total)
      all.push_back(
          {"money, 100 % goodput", usd(*cost->total), bought, range(cost->total->value())});
    else
      all.push_back({"money", usd(cost->per_hour) + " an hour", bought});
  }
  all.push_back({"speed", significant(best.tokens_per_second) + " tokens/s",
                 fmt::format("step {}, MFU {}", duration(best.step), percent(best.mfu))});
  all.push_back({"memory", percent(best.memory / best.hbm),
                 fmt::format("{} of {}", binary_bytes(best.memory), binary_bytes(best.hbm))});
  all.push_back({"layout", plan_layout(best.job), {}});
  return all;
}

Verdict plan_verdict(const Plan& plan) {
  if (plan.ranked.empty()) return {false, "Nothing that was searched meets the limits."};
  const PlanRow& best = plan.ranked.front();
  return {true, fmt::format("{} is the best of {} clusters and {} layouts that were searched.",
                            plan_machines(plan.clusters[best.cluster]),
                            grouped(static_cast<std::int64_t>(plan.clusters.size())),
                            grouped(plan.counts.raw))};
}

Table fleet_table(const ServingPlan& plan) {
  Table table;
  for (const char* name : {"rank", "instance", "count", "precision", "tp", "pp", "attention_dp",
                           "ep", "engines", "requests_per_s_an_engine", "ttft_p99_s", "tpot_p50_s",
                           "usd_per_hour", "purchase", "purchasable"})
    table.columns.push_back({name, false});
  const auto text = [](const auto& value) { return Cell(fmt::format("{}", value)); };
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const ServingCandidate& one = plan.ranked[i];
    table.rows.push_back({text(i + 1), text(one.instance->id), text(one.machines),
                          text(inference::name(one.weights)), text(one.layout.tp),
                          text(one.layout.pp), text(one.layout.attention_dp), text(one.layout.ep),
                          text(one.replicas), text(one.capacity_per_s),
                          text(one.at_capacity.ttft_s.p99), text(one.at_capacity.tpot_s.p50),
                          one.usd_per_hour ? text(*one.usd_per_hour) : Cell(), text(one.purchase),
                          text(one.limits.empty())});
  }
  return table;
}

std::vector<Chart> fleet_charts(const ServingPlan& plan) {
  if (plan.ranked.empty()) return {};
  Chart chart;
  chart.kind = Chart::Kind::points;
  chart.title = "Money against speed";
  chart.about = "Each point is a fleet that serves the load within its limits.";
  chart.along = {"ms an output token (p50, at capacity)", false, {}, {}};
  chart.values = {"USD an hour", false, {}, {}};
  ChartSeries front, others;
  front.name = "not beaten in both";
  others.name = "other fleets";
  others.tone = "muted";
  for (const ServingCandidate& one : plan.pareto)
    add_fleet(one, front);
  for (const ServingCandidate& one : plan.ranked) {
    const bool on_front =
        std::any_of(plan.pareto.begin(), plan.pareto.end(),
                    [&](const ServingCandidate& other) { return same_fleet(one, other); });
    if (!on_front) add_fleet(one, others);
  }
  for (ChartSeries* series : {&front, &others})
    if (!series->x.empty()) chart.series.push_back(std::move(*series));
  return {chart};
}

std::vector<Highlight> fleet_highlights(const ServingPlan& plan) {
  if (plan.ranked.empty()) return {};
  const ServingCandidate& best = plan.ranked.front();
  std::vector<Highlight> all;
  all.push_back({"machines", fmt::format("{} x {}", best.machines, best.instance->id),
                 fmt::format("{} engines, {} spare", best.replicas, plan.goal.spare_instances)});
  if (best.usd_per_hour) {
    std::string bought = best.purchase;
    std::replace(bought.begin(), bought.end(), '_', ' ');
    all.push_back({"money", significant(*best.usd_per_hour) + " USD an hour", bought});
  }
  all.push_back({"load", significant(plan.goal.rate_per_s) + " requests/s",
                 fmt::format("{} an engine at capacity", significant(best.capacity_per_s))});
  all.push_back(
      {"time to first token, p99", duration(Seconds(best.at_capacity.ttft_s.p99)), "at capacity"});
  all.push_back({"time per output token, p50", duration(Seconds(best.at_capacity.tpot_s.p50)),
                 "at capacity"});
  return all;
}

Verdict fleet_verdict(const ServingPlan& plan) {
  if (plan.ranked.empty()) return {false, "No fleet that was simulated keeps the limits."};
  const ServingCandidate& best = plan.ranked.front();
  return {true, fmt::format("{} x {} serve {} requests a second within the limits, the cheapest of "
                            "{} deployments.",
                            best.machines, best.instance->id, significant(plan.goal.rate_per_s),
                            plan.ranked.size() + plan.refused.size())};
}

}  // namespace flowplan::report
