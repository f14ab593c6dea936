#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "answer_charts.hpp"
#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

constexpr double bytes_of_gib = 0x1p30;
constexpr double drawn_ms = 1e3;

/// One latency over the request rate.
Chart load_chart(const scenario::ServingAnswer& serving, const Band& band, std::string title,
                 inference::Spread inference::Summary::*spread, double limit) {
  Chart chart;
  chart.kind = Chart::Kind::lines;
  chart.title = std::move(title);
  chart.about = fmt::format(
      "The band around p99 is {:.0f} % confidence.{} The present load is {} requests a second.",
      100.0 * band.confidence, std::isfinite(limit) ? " The dashed line is the limit." : "",
      significant(serving.summary.requests_per_s));
  chart.along.label = "requests a second";
  chart.along.least = 0.0;
  chart.values = {"ms", false, 0.0, {}};
  ChartSeries p99, p50;
  p99.name = "p99";
  p50.name = "p50";
  for (const scenario::LoadPoint& point : serving.curve) {
    const inference::Spread& one = point.summary.*spread;
    for (ChartSeries* series : {&p99, &p50})
      series->x.push_back(point.rate_per_s);
    p99.y.push_back(one.p99 * drawn_ms);
    p99.low.push_back(one.p99 * drawn_ms * band.low);
    p99.high.push_back(one.p99 * drawn_ms * band.high);
    p50.y.push_back(one.p50 * drawn_ms);
  }
  if (std::isfinite(limit)) chart.markers.push_back({limit * drawn_ms, "limit"});
  chart.series = {std::move(p99), std::move(p50)};
  return chart;
}

}  // namespace

Chart serving_memory_chart(const inference::ServingMemory& memory) {
  Chart chart;
  chart.title = "Memory of one GPU";
  chart.about = fmt::format("The engine may take {} of {}.", binary_bytes(memory.allowed),
                            binary_bytes(memory.hbm));
  chart.values = {"GiB", false, 0.0, {}};
  chart.stacked = true;
  chart.categories = {"one GPU"};
  const std::pair<const char*, Bytes> parts[] = {{"attention weights", memory.weights.attention},
                                                 {"FFN weights", memory.weights.ffn},
                                                 {"expert weights", memory.weights.experts},
                                                 {"embedding and output", memory.weights.embedding},
                                                 {"activations, graphs, buffers", memory.other},
                                                 {"KV cache", memory.kv_room}};
  for (const auto& [name, bytes] : parts) {
    if (bytes.value() <= 0.0) continue;
    ChartSeries series;
    series.name = name;
    series.y = {bytes.value() / bytes_of_gib};
    chart.series.push_back(std::move(series));
  }
  if (!memory.fits) {
    chart.categories.push_back("a sequence needs");
    for (ChartSeries& series : chart.series)
      series.y.push_back(0.0);
    ChartSeries needed;
    needed.name = "KV cache of the longest sequence";
    needed.y = {0.0, memory.kv_needed.value() / bytes_of_gib};
    chart.series.push_back(std::move(needed));
  }
  chart.markers.push_back({memory.allowed.value() / bytes_of_gib, "the engine's"});
  chart.markers.push_back({memory.hbm.value() / bytes_of_gib, "HBM"});
  return chart;
}

Chart latency_chart(const inference::Summary& summary) {
  Chart chart;
  chart.title = "Latencies";
  chart.about = "On a logarithmic axis.";
  chart.values = {"ms", true, {}, {}};
  const std::pair<const char*, const inference::Spread*> rows[] = {
      {"first token", &summary.ttft_s},
      {"per output token", &summary.tpot_s},
      {"between tokens", &summary.itl_s},
      {"end to end", &summary.e2e_s}};
  ChartSeries p50, p90, p99;
  p50.name = "p50";
  p90.name = "p90";
  p99.name = "p99";
  for (const auto& [name, spread] : rows) {
    chart.categories.emplace_back(name);
    p50.y.push_back(spread->p50 * drawn_ms);
    p90.y.push_back(spread->p90 * drawn_ms);
    p99.y.push_back(spread->p99 * drawn_ms);
  }
  chart.series = {std::move(p50), std::move(p90), std::move(p99)};
  return chart;
}

std::vector<Chart> capacity_charts(const scenario::ServingAnswer& serving, const Band& band) {
  if (serving.curve.empty()) return {};
  const double none = std::numeric_limits<double>::infinity();
  return {load_chart(serving, band, "Load against time to first token", &inference::Summary::ttft_s,
                     serving.slo ? serving.slo->ttft_s : none),
          load_chart(serving, band, "Load against time per output token",
                     &inference::Summary::tpot_s, serving.slo ? serving.slo->tpot_s : none)};
}

}  // namespace flowplan::report
