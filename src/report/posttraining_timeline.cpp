#include "posttraining_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using posttraining::Interval;
using posttraining::RlStep;

struct Activity {
  std::string_view name, said, tone;
};
/// In the legend's order. Waiting is drawn like an empty row: it is the bubble.
constexpr Activity activities[] = {{"generate", "generate", "series-1"},
                                   {"stragglers", "stragglers", "series-2"},
                                   {"score", "score", "series-6"},
                                   {"train", "train", "series-3"},
                                   {"sync", "weight sync", "series-5"},
                                   {"swap", "swap", "series-7"},
                                   {"wait", "wait", "muted"}};

double end_of(const std::vector<Interval>& timeline) {
  double end = 0.0;
  for (const Interval& one : timeline)
    end = std::max(end, one.to_s);
  return end;
}

std::vector<std::string> pools_of(const std::vector<Interval>& timeline) {
  std::vector<std::string> pools;
  for (const Interval& one : timeline)
    if (std::find(pools.begin(), pools.end(), one.pool) == pools.end()) pools.push_back(one.pool);
  return pools;
}

/// A line of letters, one a sixtieth of the time.
std::string drawn(const std::vector<Interval>& timeline, const std::string& pool) {
  constexpr std::size_t width = 60;
  const double end = end_of(timeline);
  std::string line(width, '.');
  for (const Interval& one : timeline) {
    if (one.pool != pool || one.activity == "wait" || end <= 0.0) continue;
    const auto at = [&](double s) {
      return std::min(width, static_cast<std::size_t>(std::lround(s / end * width)));
    };
    const char letter = one.activity == "sync" ? 'y' : one.activity.front();
    for (std::size_t i = at(one.from_s); i < at(one.to_s); ++i)
      line[i] = letter;
  }
  return line;
}

Section pools_section(const RlStep& rl) {
  Section section{
      "GPUs over a step", {}, Table{{{"pool", false}, {"GPUs"}, {"idle"}, {"", false}}, {}}, {}};
  for (const posttraining::PoolUse& pool : rl.pools)
    section.table->rows.push_back(
        {pool.pool, grouped(pool.gpus), percent(pool.idle_share), Cell::bar(pool.idle_share)});
  for (const std::string& pool : pools_of(rl.timeline))
    section.remarks.push_back(fmt::format("{:<8} {}", pool, drawn(rl.timeline, pool)));
  section.remarks.push_back(
      fmt::format("0 to {}: g generate, s stragglers or scoring or swap, t train, y sync, . idle",
                  duration(Seconds(end_of(rl.timeline)))));
  return section;
}

/// Milliseconds are as exact as a drawing of minutes needs.
double drawn_seconds(double seconds) {
  constexpr double steps_a_second = 1e3;
  return std::round(seconds * steps_a_second) / steps_a_second;
}

Chart pools_chart(const RlStep& rl) {
  Chart chart;
  chart.kind = Chart::Kind::spans;
  chart.title = "What each pool of GPUs does";
  chart.about =
      "Each row is a pool. Stragglers: fewer than half of the most samples at once are left. "
      "Muted: "
      "the pool waits for the other one.";
  chart.values = {"s", false, 0.0, drawn_seconds(end_of(rl.timeline))};
  chart.categories = pools_of(rl.timeline);
  for (const Activity& activity : activities) {
    ChartSeries series;
    series.name = activity.said;
    series.tone = activity.tone;
    for (const Interval& one : rl.timeline) {
      if (one.activity != activity.name) continue;
      const auto lane = std::find(chart.categories.begin(), chart.categories.end(), one.pool);
      series.x.push_back(static_cast<double>(lane - chart.categories.begin()));
      series.low.push_back(drawn_seconds(one.from_s));
      series.high.push_back(drawn_seconds(one.to_s));
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Section timeline_section(const RlStep& rl) {
  Section section{
      "Timeline of the pools",
      {},
      Table{{{"pool", false}, {"does", false}, {"from, s"}, {"to, s"}, {"takes, s"}}, {}},
      {}};
  for (const Interval& one : rl.timeline)
    section.table->rows.push_back({one.pool, one.activity, significant(one.from_s),
                                   significant(one.to_s), significant(one.to_s - one.from_s)});
  section.charts.push_back(pools_chart(rl));
  return section;
}

}  // namespace

std::vector<Section> rl_pool_sections(const RlStep& rl) {
  return {pools_section(rl), timeline_section(rl)};
}

}  // namespace flowplan::report
