#include "flowplan/report/plan.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "flowplan/planner/candidate.hpp"
#include "flowplan/report/format.hpp"
#include "plan_charts.hpp"
#include "plan_text.hpp"

namespace flowplan::report {

namespace {

using operations::PurchaseCost;
using planner::Fate;
using planner::Plan;
using planner::PlanCluster;
using planner::PlanRow;

std::string spoken_name(std::string_view name) {
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string time_text(const PlanRow& row) {
  return row.time ? significant(row.time->value() / operations::seconds_per_day, 3) : "-";
}

const PurchaseCost* cost_of(const PlanRow& row, const std::string& purchase) {
  const auto found = std::find_if(row.costs.begin(), row.costs.end(),
                                  [&](const PurchaseCost& c) { return c.purchase == purchase; });
  return found == row.costs.end() ? nullptr : &*found;
}

/// Whole run where there are tokens to be trained on, else an hour.
std::string cost_text(const PurchaseCost* cost) {
  if (cost == nullptr) return "-";
  const double usd = cost->total ? cost->total->value() : cost->per_hour.value();
  return significant(usd, 4) + (cost->limits.empty() ? "" : " !");
}

std::string buy_text(const PlanRow& row) {
  if (row.cost() == nullptr) return "no price";
  return row.purchasable() ? spoken_name(row.cost()->purchase) : "NO";
}

std::set<std::string> purchases_of(const Plan& plan) {
  std::set<std::string> all;
  for (const auto* rows : {&plan.ranked, &plan.front}) {
    for (const PlanRow& row : *rows) {
      for (const PurchaseCost& cost : row.costs)
        all.insert(cost.purchase);
    }
  }
  return all;
}

std::string headroom(const PlanRow& row) {
  return percent(1.0 - row.memory / row.hbm);
}

std::string goal(const Plan& plan) {
  switch (plan.objective) {
    case scenario::Objective::time:
      return "soonest done";
    case scenario::Objective::cost:
      return plan.tokens ? "least money" : "least money a token";
    case scenario::Objective::throughput:
      return "most tokens a second";
    case scenario::Objective::smallest:
      break;
  }
  return "fewest GPUs";
}

std::string limits_text(const Plan& plan) {
  std::vector<std::string> parts;
  const scenario::SearchSection& limits = plan.limits;
  if (limits.deadline) parts.push_back(fmt::format("deadline {}", duration(*limits.deadline)));
  if (limits.budget) parts.push_back(fmt::format("budget {}", usd(*limits.budget)));
  if (limits.min_gpus) parts.push_back(fmt::format("at least {} GPUs", grouped(*limits.min_gpus)));
  if (limits.max_gpus) parts.push_back(fmt::format("at most {} GPUs", grouped(*limits.max_gpus)));
  if (limits.memory_headroom.value_or(0.0) > 0.0) {
    parts.push_back(fmt::format("{} of the memory free", percent(*limits.memory_headroom)));
  }
  if (limits.only_purchasable) parts.emplace_back("only what can be bought");
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

Section plan_summary(const Plan& plan) {
  Section section;
  auto& facts = section.facts;
  facts.emplace_back("model", fmt::format("{}, {} parameters, sequences of {}", plan.model.name,
                                          short_count(plan.parameters), grouped(plan.seq_len)));
  if (plan.tokens) facts.emplace_back("tokens", short_count(*plan.tokens));
  facts.emplace_back("objective", goal(plan));
  facts.emplace_back("limits", limits_text(plan));
  const auto searched = static_cast<std::int64_t>(plan.clusters.size());
  facts.emplace_back("searched",
                     fmt::format("{} {}, {} layouts", grouped(searched),
                                 searched == 1 ? "cluster" : "clusters", grouped(plan.counts.raw)));
  if (plan.ranked.empty()) {
    facts.emplace_back("answer", "NONE meets the limits");
    for (const std::string& miss : plan.nearest_misses)
      facts.emplace_back("nearest", miss);
    return section;
  }
  const PlanRow& best = plan.ranked.front();
  const PlanCluster& cluster = plan.clusters[best.cluster];
  std::string answer = fmt::format("{} ({} GPUs): {} tokens/s", plan_machines(cluster),
                                   grouped(cluster.gpus), significant(best.tokens_per_second));
  if (best.time) answer += ", " + duration(*best.time);
  if (const PurchaseCost* cost = best.cost()) {
    answer += cost->total ? fmt::format(", {} {}", usd(*cost->total), spoken_name(cost->purchase))
                          : fmt::format(", {} an hour {}", usd(cost->per_hour),
                                        spoken_name(cost->purchase));
  }
  facts.emplace_back("answer", answer);
  facts.emplace_back("layout", plan_layout(best.job));
  if (!best.purchasable()) {
    facts.emplace_back("buying it",
                       best.cost() == nullptr
                           ? fmt::format("no price is known in {}", plan.region)
                           : fmt::format("NO: {}", fmt::join(best.cost()->limits, "; ")));
  }
  return section;
}

Section ranking(const Plan& plan) {
  Section section;
  section.title = "Ranked";
  Table table;
  table.columns = {{"#"},        {"cluster", false}, {"GPUs"}, {"layout", false},
                   {"step (s)"}, {"tokens/s"},       {"MFU"},  {"memory free"}};
  if (plan.tokens) table.columns.push_back({"days"});
  const std::set<std::string> purchases = purchases_of(plan);
  const std::string_view unit = plan.tokens ? "USD" : "USD/h";
  for (const std::string& purchase : purchases)
    table.columns.push_back({fmt::format("{} ({})", spoken_name(purchase), unit)});
  table.columns.push_back({"buy", false});
  for (std::size_t i = 0; i < plan.ranked.size(); ++i) {
    const PlanRow& row = plan.ranked[i];
    const PlanCluster& cluster = plan.clusters[row.cluster];
    std::vector<Cell> cells{fmt::format("{}", i + 1),
                            plan_machines(cluster),
                            grouped(cluster.gpus),
                            plan_layout(row.job),
                            significant(row.step.value()),
                            significant(row.tokens_per_second),
                            percent(row.mfu),
                            headroom(row)};
    if (plan.tokens) cells.emplace_back(time_text(row));
    for (const std::string& purchase : purchases)
      cells.emplace_back(cost_text(cost_of(row, purchase)));
    cells.emplace_back(buy_text(row));
    table.rows.push_back(std::move(cells));
  }
  section.table = std::move(table);
  std::set<std::string> limits;
  for (const PlanRow& row : plan.ranked) {
    for (const PurchaseCost& cost : row.costs)
      limits.insert(cost.limits.begin(), cost.limits.end());
  }
  for (const std::string& limit : limits)
    section.remarks.push_back("! " + limit);
  return section;
}

Section front(const Plan& plan) {
  Section section;
  section.title = "Time against money";
  Table table;
  table.columns = {{plan.tokens ? "days" : "tokens/s"},
                   {plan.tokens ? "USD" : "USD/M tokens"},
                   {"GPUs"},
                   {"cluster", false},
                   {"bought", false},
                   {"limits", false}};
  constexpr double million = 1e6, seconds_per_hour = 3600.0;
  for (const PlanRow& row : plan.front) {
    const PlanCluster& cluster = plan.clusters[row.cluster];
    const PurchaseCost& cost = *row.cost();
    const double money =
        cost.total ? cost.total->value()
                   : cost.per_hour.value() / seconds_per_hour / row.tokens_per_second * million;
    std::string met = "met";
    if (row.past_deadline) met = "past deadline";
    if (row.over_budget) met = row.past_deadline ? "past deadline, over budget" : "over budget";
    table.rows.push_back(
        {row.time ? time_text(row) : significant(row.tokens_per_second), significant(money),
         grouped(cluster.gpus), plan_machines(cluster),
         row.purchasable() ? spoken_name(cost.purchase) : "NOT: " + spoken_name(cost.purchase),
         met});
  }
  section.table = std::move(table);
  section.remarks.emplace_back("no other cluster searched is both faster and cheaper than these");
  section.charts = plan_charts(plan);
  return section;
}

Section again(const Plan& plan) {
  Section section;
  section.title = "The best few simulated in full";
  Table table;
  table.columns = {{"#"},          {"step (s)"},        {"simulated (s)"},   {"difference"},
                   {"at 2:1 (s)"}, {"bound by", false}, {"90 % band", false}};
  for (std::size_t i = 0; i < plan.rechecked.size(); ++i) {
    const planner::Recheck& one = plan.rechecked[i];
    const auto shares = limits(one.iteration.time);
    table.rows.push_back(
        {fmt::format("{}", i + 1), significant(one.iteration.step.value()),
         significant(one.simulated.value()), fmt::format("{:+.2f} %", 100.0 * one.difference),
         one.step_at_two_to_one ? significant(one.step_at_two_to_one->value()) : "-",
         shares.empty() ? std::string("-")
                        : fmt::format("{} ({})", shares[0].limit,
                                      percent(shares[0].time / one.iteration.step)),
         fmt::format("{} to {}", duration(one.iteration.step * one.iteration.band.low),
                     duration(one.iteration.step * one.iteration.band.high))});
  }
  section.table = std::move(table);
  section.remarks.emplace_back("simulated: the pipeline played through as a task graph of passes");
  section.remarks.emplace_back(
      "2:1: leaf switches with half the bandwidth upwards; AWS publishes no ratio");
  return section;
}

Section losers(const Plan& plan) {
  Section section;
  section.title = "Why the rest lost";
  Table table;
  table.columns = {{"layouts"}, {"share"}, {"why", false}};
  const planner::LayoutCounts& counts = plan.counts;
  const auto add = [&](std::int64_t count, std::string why) {
    if (count == 0) return;
    const double share = static_cast<double>(count) / static_cast<double>(counts.raw);
    table.rows.push_back({grouped(count), percent(share), std::move(why)});
  };
  add(counts.invalid, "degrees do not divide heads, layers, experts, batch or ranks");
  add(counts.too_large, "does not fit in memory");
  add(counts.out_of_reach,
      "slower than the best of its cluster even if part of its communication took no time");
  add(counts.slower, "slower than the best of its cluster");
  add(counts.kept, "the best of its cluster");
  section.table = std::move(table);
  return section;
}

std::string_view fate_text(Fate fate) {
  switch (fate) {
    case Fate::listed:
      return "listed";
    case Fate::ranked_below:
      return "meets the limits, ranked below";
    case Fate::past_deadline:
      return "past the deadline";
    case Fate::over_budget:
      return "over the budget";
    case Fate::no_price:
      return "no price known";
    case Fate::not_purchasable:
      return "cannot be bought";
    case Fate::nothing_fits:
      return "nothing fits in memory";
    case Fate::no_layout:
      break;
  }
  return "no layout divides it";
}

Section fates(const Plan& plan) {
  Section section;
  section.title = "Clusters";
  Table table;
  table.columns = {{"clusters"}, {"what became of them", false}, {"nearest", false}};
  for (const Fate fate :
       {Fate::listed, Fate::ranked_below, Fate::past_deadline, Fate::over_budget, Fate::no_price,
        Fate::not_purchasable, Fate::nothing_fits, Fate::no_layout}) {
    std::int64_t count = 0, dominated = 0;
    const PlanCluster* nearest = nullptr;
    for (const PlanCluster& cluster : plan.clusters) {
      if (cluster.fate != fate) continue;
      ++count;
      if (cluster.dominated_by) ++dominated;
      const bool nearer =
          nearest == nullptr || (!cluster.rows.empty() && !nearest->rows.empty() &&
                                 cluster.rows[0].step * 1.0 < nearest->rows[0].step);
      if (nearer) nearest = &cluster;
    }
    if (count == 0) continue;
    std::string text(fate_text(fate));
    if (dominated > 0) {
      text += fmt::format("; {} of them slower and dearer than a listed one", grouped(dominated));
    }
    std::string near = plan_machines(*nearest);
    if (!nearest->rows.empty() && nearest->rows[0].time) {
      near += ": " + duration(*nearest->rows[0].time);
      if (const PurchaseCost* cost = nearest->rows[0].cost(); cost != nullptr && cost->total) {
        near += ", " + usd(*cost->total);
      }
    }
    table.rows.push_back({grouped(count), std::move(text), std::move(near)});
  }
  section.table = std::move(table);
  return section;
}

Section plan_defaults(const Plan& plan) {
  Section section;
  section.title = "Defaults";
  for (const Defaulted& one : plan.defaulted)
    section.facts.emplace_back(one.path, fmt::format("{} ({})", one.value, one.reason));
  section.remarks.emplace_back("times and money at 100 % goodput and list prices");
  return section;
}

}  // namespace

std::string plan_machines(const PlanCluster& cluster) {
  return fmt::format("{} x {}", grouped(cluster.count), cluster.instance->id);
}

std::string plan_layout(const training::Job& job) {
  const training::Layout& l = job.layout;
  std::string text = fmt::format("tp{} pp{}", l.tp, l.pp);
  if (l.vp > 1) text += fmt::format("x{}", l.vp);
  if (l.cp > 1) text += fmt::format(" cp{} {}", l.cp, training::name(job.context_parallel));
  text += fmt::format(" dp{}", l.dp);
  if (l.ep > 1) text += fmt::format(" ep{}", l.ep);
  if (l.etp > 1) text += fmt::format(" etp{}", l.etp);
  text += fmt::format(", batch {}/{}", job.micro_batch, job.global_batch);
  if (job.recompute != training::Recompute::none) {
    text += fmt::format(", {} recompute", training::name(job.recompute));
  }
  if (job.schedule != training::Schedule::one_forward_one_backward) {
    text += fmt::format(", {}", training::name(job.schedule));
  }
  if (l.tp > 1 && !l.sequence_parallel) text += ", no sp";
  text += fmt::format(", {}, {}",
                      job.sharding == training::Sharding::distributed_optimizer
                          ? "zero1"
                          : training::name(job.sharding),
                      model::name(job.precision));
  return text;
}

Section candidate_section(const std::vector<std::string>& overrides) {
  Section section{"The best one in a scenario", {}, {}, {}};
  for (const std::string& one : overrides) {
    const std::size_t equals = one.find('=');
    section.facts.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return section;
}

void append_best(Document& document, const Document* best) {
  if (best == nullptr) return;
  for (Section section : best->sections) {
    if (section.title.empty()) section.title = "The best candidate";
    document.sections.push_back(std::move(section));
  }
}

Document plan(const Plan& plan, const Document* best) {
  Document document;
  document.title = plan.name;
  document.lead = plan.about;
  document.sections.push_back(plan_summary(plan));
  if (!plan.ranked.empty()) {
    document.sections.push_back(ranking(plan));
    document.sections.push_back(
        candidate_section(planner::overrides_of(plan, plan.ranked.front())));
  }
  if (!plan.front.empty()) document.sections.push_back(front(plan));
  if (!plan.rechecked.empty()) document.sections.push_back(again(plan));
  if (plan.counts.raw > 0) document.sections.push_back(losers(plan));
  document.sections.push_back(fates(plan));
  document.sections.push_back(plan_defaults(plan));
  append_best(document, best);
  document.verdict = plan_verdict(plan);
  document.highlights = plan_highlights(plan);
  document.data = plan_table(plan);
  return document;
}

}  // namespace flowplan::report
