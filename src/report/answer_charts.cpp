#include "answer_charts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"
#include "flowplan/topology/tier_name.hpp"

namespace flowplan::report {

namespace {

/// Leaves of less than this share of the whole are drawn as one.
constexpr double smallest_drawn_share = 0.004;
constexpr double gib_bytes = 0x1p30;
/// Above this seconds are drawn, below milliseconds.
constexpr double drawn_in_seconds = 10.0;

struct Leaf {
  std::string label, limit;
  double seconds = 0.0;
};

void collect_leaves(const Breakdown& node, std::vector<Leaf>& leaves) {
  if (node.children.empty()) {
    leaves.push_back({node.label, node.limit.empty() ? "other" : node.limit, node.time().value()});
    return;
  }
  for (const Breakdown& child : node.children)
    collect_leaves(child, leaves);
}

void lump_small_ones(std::vector<Leaf>& leaves, double whole) {
  Leaf rest{"smaller parts", "other", 0.0};
  std::erase_if(leaves, [&](const Leaf& leaf) {
    const bool small = leaf.seconds < smallest_drawn_share * whole;
    if (small) rest.seconds += leaf.seconds;
    return small;
  });
  if (rest.seconds > 0.0) leaves.push_back(std::move(rest));
}

std::string without_underscores(std::string_view id) {
  std::string text(id);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

ChartSeries bar_series(std::string name, std::vector<double> values) {
  ChartSeries series;
  series.name = std::move(name);
  series.y = std::move(values);
  return series;
}

}  // namespace

Chart breakdown_chart(const Breakdown& time, const std::string& title) {
  const double whole = time.time().value();
  std::vector<Leaf> leaves;
  collect_leaves(time, leaves);
  lump_small_ones(leaves, whole);
  const bool seconds = whole >= drawn_in_seconds;
  const double unit = seconds ? 1.0 : 1e-3;

  Chart chart;
  chart.title = title;
  chart.about =
      "The bar at the top is the whole, divided by what limits it; below are its parts, each in "
      "the "
      "colour of its limit. The table has them with what would limit next.";
  chart.values.label = seconds ? "s" : "ms";
  chart.stacked = true;
  chart.categories.push_back("whole");
  for (const Leaf& leaf : leaves)
    chart.categories.push_back(leaf.label);
  std::vector<std::string> limits;
  for (const LimitShare& share : flowplan::limits(time))
    if (!share.limit.empty()) limits.push_back(share.limit);
  limits.emplace_back("other");
  for (const std::string& limit : limits) {
    ChartSeries series = bar_series(limit, {0.0});
    for (const Leaf& leaf : leaves) {
      const double part = leaf.limit == limit ? leaf.seconds / unit : 0.0;
      series.y.push_back(part);
      series.y.front() += part;
    }
    if (limit == "other") series.tone = "muted";
    if (series.y.front() > 0.0) chart.series.push_back(std::move(series));
  }
  return chart;
}

Chart training_memory_chart(const training::Iteration& iteration) {
  Chart chart;
  chart.title = "Memory of the fullest GPU of each stage";
  chart.about =
      fmt::format("The dashed line is what one GPU has: {}.", binary_bytes(iteration.hbm));
  chart.values = {"GiB", false, 0.0, {}};
  chart.stacked = true;
  const std::pair<const char*, Bytes training::StageMemory::*> parts[] = {
      {"weights", &training::StageMemory::weights},
      {"gradients", &training::StageMemory::gradients},
      {"optimizer", &training::StageMemory::optimizer},
      {"activations", &training::StageMemory::activations},
      {"logits", &training::StageMemory::logits},
      {"CUDA context", &training::StageMemory::context},
      {"NCCL and library buffers", &training::StageMemory::buffers},
      {"fragmentation", &training::StageMemory::fragmentation}};
  for (const auto& [name, member] : parts)
    chart.series.push_back(bar_series(name, {}));
  const auto& stages = iteration.memory;
  for (std::size_t first = 0; first < stages.size();) {
    std::size_t last = first;
    while (last + 1 < stages.size() && stages[first].same_as(stages[last + 1]))
      ++last;
    chart.categories.push_back(
        first == last ? fmt::format("stage {}", stages[first].stage)
                      : fmt::format("stages {}-{}", stages[first].stage, stages[last].stage));
    for (std::size_t part = 0; part < std::size(parts); ++part)
      chart.series[part].y.push_back((stages[first].*parts[part].second).value() / gib_bytes);
    first = last + 1;
  }
  chart.markers.push_back(
      {iteration.hbm.value() / gib_bytes, fmt::format("HBM {}", binary_bytes(iteration.hbm))});
  return chart;
}

Chart links_chart(const scenario::Answer& answer) {
  Chart chart;
  chart.title = "Use of the links over the step";
  chart.about = "Mean over the links of each tier and over the whole step, of their capacity.";
  chart.values = {"% of capacity", false, 0.0, 100.0};
  ChartSeries series;
  for (const training::TierUse& use : answer.iteration.tiers) {
    chart.categories.emplace_back(topology::tier_name(use.tier, answer.nic_kind));
    series.y.push_back(100.0 * use.utilisation);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

Chart fabric_chart(const scenario::Answer& answer) {
  const Band& band = answer.estimate.band;
  Chart chart;
  chart.title = "The step at other leaf uplinks";
  chart.about = fmt::format("Whiskers: {:.0f} % confidence.", 100.0 * band.confidence);
  chart.values = {"s", false, 0.0, {}};
  ChartSeries series;
  for (const scenario::FabricCase& one : answer.fabric_cases) {
    chart.categories.push_back(fmt::format("{:g}:1", one.oversubscription));
    series.y.push_back(one.step.value());
    series.low.push_back(one.step.value() * band.low);
    series.high.push_back(one.step.value() * band.high);
  }
  chart.series.push_back(std::move(series));
  return chart;
}

std::vector<Chart> price_charts(const scenario::Answer& answer) {
  if (answer.costs.empty()) return {};
  const bool whole = answer.costs.front().total.has_value();
  const Band& band = answer.estimate.band;
  Chart chart;
  chart.title = whole ? "What the budget costs" : "What an hour costs";
  chart.about = whole ? fmt::format(
                            "List prices, 100 % goodput; whiskers: {:.0f} % confidence of "
                            "the step time. Muted: cannot be bought so.",
                            100.0 * band.confidence)
                      : std::string("List prices. Muted: cannot be bought so.");
  chart.values = {whole ? "USD" : "USD an hour", false, 0.0, {}};
  chart.stacked = true;
  ChartSeries can, cannot;
  can.name = "can be bought, as far as is known";
  cannot.name = "cannot be bought so";
  cannot.tone = "muted";
  for (const operations::PurchaseCost& cost : answer.costs) {
    const double usd = cost.total ? cost.total->value() : cost.per_hour.value();
    ChartSeries& mine = cost.limits.empty() ? can : cannot;
    ChartSeries& other = cost.limits.empty() ? cannot : can;
    chart.categories.push_back(without_underscores(cost.purchase));
    mine.y.push_back(usd);
    other.y.push_back(0.0);
    mine.low.push_back(whole ? usd * band.low : usd);
    mine.high.push_back(whole ? usd * band.high : usd);
    other.low.push_back(0.0);
    other.high.push_back(0.0);
  }
  for (ChartSeries* series : {&can, &cannot})
    if (std::any_of(series->y.begin(), series->y.end(), [](double y) { return y > 0.0; }))
      chart.series.push_back(std::move(*series));
  return {chart};
}

Chart wall_time_chart(const Breakdown& time) {
  Chart chart;
  chart.title = "Where wall time goes";
  chart.about = "Computing that is kept, and what failures and saves take from it.";
  chart.values = {"days", false, 0.0, {}};
  chart.stacked = true;
  chart.categories = {"all", "without what is kept"};
  for (const Breakdown& part : time.children) {
    const double part_days = part.time() / days(1.0);
    const bool kept = chart.series.empty();
    chart.series.push_back(bar_series(part.label, {part_days, kept ? 0.0 : part_days}));
  }
  return chart;
}

Chart run_cost_chart(const scenario::Answer& answer, const scenario::OperationsAnswer& run) {
  Chart chart;
  chart.title = "What the run costs with its failures";
  chart.about = "List prices; the run is longer and holds spares, so it costs more.";
  chart.values = {"USD", false, 0.0, {}};
  ChartSeries bare, full;
  bare.name = "100 % goodput";
  bare.tone = "muted";
  full.name = "with goodput";
  for (const operations::RunCost& cost : run.costs) {
    if (cost.refused) continue;
    chart.categories.push_back(without_underscores(cost.purchase));
    double without = 0.0;
    for (const operations::PurchaseCost& one : answer.costs)
      if (one.purchase == cost.purchase && one.total) without = one.total->value();
    bare.y.push_back(without);
    full.y.push_back(cost.total.value());
  }
  chart.series = {std::move(bare), std::move(full)};
  return chart;
}

Table metric_table(const Estimate& estimate) {
  Table table{{{"metric", false}, {"value"}, {"unit", false}, {"what it is", false}}, {}};
  for (const Metric& metric : estimate.metrics) {
    const auto info = find_metric(metric.id);
    table.rows.push_back({metric.id, fmt::format("{}", metric.value), std::string(info->unit),
                          std::string(info->description)});
  }
  return table;
}

}  // namespace flowplan::report
