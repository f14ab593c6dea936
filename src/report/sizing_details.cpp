#include "sizing_details.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/report/format.hpp"

namespace flowplan::report {

namespace {

using What = training::TimelineSpan::What;

/// Passes that a chart shows; of longer steps the beginning and the end.
constexpr std::size_t most_passes = 5000;

struct Phase {
  What what;
  const char *name, *tone;
};
constexpr Phase phases[] = {{What::forward, "forward", "series-1"},
                            {What::backward, "backward", "series-3"},
                            {What::weight, "weight gradients apart", "series-5"},
                            {What::gradients, "data parallel, exposed", "series-2"},
                            {What::optimizer, "optimizer", "series-4"},
                            {What::overhead, "step overhead", "series-7"}};

/// Microseconds are as exact as a drawing needs.
double drawn_milliseconds(Seconds time) {
  return std::round(time.value() * 1e6) / 1e3;
}

int lanes_of(const training::StepTimeline& timeline) {
  int lanes = 0;
  for (const training::TimelineSpan& span : timeline.spans)
    lanes = std::max(lanes, span.rank + 1);
  return lanes;
}

/// The spans between two times, of the whole step.
Chart timeline_chart(const training::StepTimeline& timeline, Seconds from, Seconds to) {
  Chart chart;
  chart.kind = Chart::Kind::spans;
  chart.title = "The step, pass by pass";
  chart.about =
      "One pipeline: each row is a rank, gaps are the bubble. Transfers that compute does not hide "
      "are in the passes.";
  chart.values = {"ms", false, drawn_milliseconds(from), drawn_milliseconds(to)};
  for (int rank = 0; rank < lanes_of(timeline); ++rank)
    chart.categories.push_back(fmt::format("rank {}", rank));
  for (const Phase& phase : phases) {
    ChartSeries series;
    series.name = phase.name;
    series.tone = phase.tone;
    for (const training::TimelineSpan& span : timeline.spans) {
      if (span.what != phase.what || span.to <= span.from || span.to <= from || span.from >= to)
        continue;
      series.x.push_back(span.rank);
      series.low.push_back(drawn_milliseconds(span.from));
      series.high.push_back(drawn_milliseconds(span.to));
    }
    if (!series.x.empty()) chart.series.push_back(std::move(series));
  }
  return chart;
}

Table timeline_table(const training::StepTimeline& timeline) {
  Table table{{{"rank", false},
               {"passes"},
               {"begins, ms"},
               {"forward, ms"},
               {"backward, ms"},
               {"idle, ms"},
               {"idle"},
               {"", false}},
              {}};
  for (int rank = 0; rank < lanes_of(timeline); ++rank) {
    Seconds forward{}, backward{}, rest{}, begins = timeline.end;
    std::int64_t passes = 0;
    for (const training::TimelineSpan& span : timeline.spans) {
      if (span.rank != rank) continue;
      begins = std::min(begins, span.from);
      const Seconds time = span.to - span.from;
      if (span.what == What::forward) forward += time;
      if (span.what == What::backward || span.what == What::weight) backward += time;
      if (span.what == What::forward || span.what == What::backward || span.what == What::weight)
        ++passes;
      else
        rest += time;
    }
    const Seconds idle = std::max(Seconds(), timeline.end - forward - backward - rest);
    const auto ms = [](Seconds time) { return significant(time.value() * 1e3); };
    table.rows.push_back({fmt::format("{}", rank), grouped(passes), ms(begins), ms(forward),
                          ms(backward), ms(idle), percent(idle / timeline.end),
                          Cell::bar(idle / timeline.end)});
  }
  return table;
}

}  // namespace

Section timeline_section(const training::StepTimeline& timeline, Seconds step) {
  Section section{"Timeline of a step", {}, timeline_table(timeline), {}};
  section.remarks.push_back(fmt::format(
      "Played through pass by pass the step takes {}; the estimate, in closed form, is {}.",
      duration(timeline.end), duration(step)));
  const std::size_t count = timeline.spans.size();
  if (count <= most_passes) {
    section.charts.push_back(timeline_chart(timeline, Seconds(), timeline.end));
    return section;
  }
  const double share = 0.5 * static_cast<double>(most_passes) / static_cast<double>(count);
  section.charts.push_back(timeline_chart(timeline, Seconds(), timeline.end * share));
  section.charts.push_back(timeline_chart(timeline, timeline.end * (1.0 - share), timeline.end));
  section.charts[0].title = "The beginning of the step, pass by pass";
  section.charts[1].title = "The end of the step, pass by pass";
  return section;
}

Section course_section(const std::vector<operations::CoursePoint>& course) {
  Section section{"Goodput over the run",
                  {},
                  Table{{{"day"}, {"5 % of runs below"}, {"half below"}, {"95 % below"}}, {}},
                  {"Kept computing over wall time since the start, of simulated runs."}};
  Chart chart;
  chart.kind = Chart::Kind::lines;
  chart.title = "Goodput (ETTR) since the start of the run";
  chart.about = "The line is the median of simulated runs, the band holds nine of ten.";
  chart.along = {"days", false, 0.0, {}};
  chart.values.label = "% of wall time";
  ChartSeries series;
  series.name = "ETTR";
  for (const operations::CoursePoint& point : course) {
    const double day = point.at / days(1.0);
    section.table->rows.push_back(
        {significant(day, 3), percent(point.p5), percent(point.p50), percent(point.p95)});
    series.x.push_back(day);
    series.y.push_back(100.0 * point.p50);
    series.low.push_back(100.0 * point.p5);
    series.high.push_back(100.0 * point.p95);
  }
  chart.series.push_back(std::move(series));
  section.charts.push_back(std::move(chart));
  section.detail = true;
  return section;
}

}  // namespace flowplan::report
