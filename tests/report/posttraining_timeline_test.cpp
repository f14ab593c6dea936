#include <catch2/catch.hpp>

#include "flowplan/report/sizing.hpp"

namespace posttraining_timeline_test {

using namespace flowplan;

namespace {

/// 1 s of generating, 2 s of stragglers while the trainer waits, 3 s of training, 0.5 s of sync.
scenario::Answer answer() {
  posttraining::RlStep rl;
  rl.step = Seconds(6.5);
  rl.pools = {{"trainer", 8, 3.0 / 6.5}, {"rollout", 8, 3.0 / 6.5}};
  rl.timeline = {{"rollout", "generate", 0.0, 1.0},   {"trainer", "wait", 0.0, 3.0},
                 {"rollout", "stragglers", 1.0, 3.0}, {"rollout", "wait", 3.0, 6.0},
                 {"trainer", "train", 3.0, 6.0},      {"rollout", "sync", 6.0, 6.5},
                 {"trainer", "sync", 6.0, 6.5}};
  scenario::Answer a;
  a.kind = "posttraining";
  a.gpus = 16;
  a.posttraining.emplace();
  a.posttraining->rl = rl;
  return a;
}

const report::Section* section_of(const report::Document& document, const std::string& title) {
  for (const report::Section& section : document.sections)
    if (section.title == title) return &section;
  return nullptr;
}

}  // namespace

TEST_CASE("the timeline of an RL step is drawn a row a pool, a colour a phase") {
  const report::Document document = report::sizing(answer());
  const report::Section* section = section_of(document, "Timeline of the pools");
  REQUIRE(section != nullptr);
  REQUIRE(section->table->rows.size() == 7);
  REQUIRE(section->charts.size() == 1);
  const report::Chart& chart = section->charts.front();
  CHECK(chart.kind == report::Chart::Kind::spans);
  CHECK(chart.categories == std::vector<std::string>{"rollout", "trainer"});
  CHECK(chart.values.most == 6.5);
  std::vector<std::string> phases, tones;
  for (const report::ChartSeries& series : chart.series) {
    phases.push_back(series.name);
    tones.push_back(series.tone);
  }
  CHECK(phases ==
        std::vector<std::string>{"generate", "stragglers", "train", "weight sync", "wait"});
  for (std::size_t i = 0; i < tones.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      CHECK(tones[i] != tones[j]);
  const report::ChartSeries& tail = chart.series[1];
  CHECK(tail.x == std::vector<double>{0.0});
  CHECK(tail.low == std::vector<double>{1.0});
  CHECK(tail.high == std::vector<double>{3.0});
  const report::ChartSeries& bubbles = chart.series[4];
  CHECK(bubbles.x == std::vector<double>{1.0, 0.0});
  CHECK(bubbles.low == std::vector<double>{0.0, 3.0});
}

TEST_CASE("every phase of a timeline is in its drawing") {
  scenario::Answer a = answer();
  auto& timeline = a.posttraining->rl->timeline;
  timeline.clear();
  double at = 0.0;
  for (const char* activity :
       {"swap", "generate", "stragglers", "score", "train", "sync", "wait"}) {
    timeline.push_back({"all", activity, at, at + 1.0});
    at += 1.0;
  }
  const report::Document document = report::sizing(a);
  const report::Section* section = section_of(document, "Timeline of the pools");
  REQUIRE(section != nullptr);
  CHECK(section->charts.front().series.size() == timeline.size());
}

}  // namespace posttraining_timeline_test
