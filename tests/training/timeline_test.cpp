#include "flowplan/training/timeline.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include "fixture.hpp"

namespace flowplan::training::timeline_test {

namespace {

using What = TimelineSpan::What;

StepTimeline played(const topology::Cluster& cluster, const Job& job) {
  auto timeline = step_timeline(the_catalog(), cluster, job);
  if (!timeline) FAIL(render(timeline.error()));
  return std::move(*timeline);
}

}  // namespace

TEST_CASE("every rank plays every micro-batch forward and backward, one pass at a time") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 4);
  const Job job = llama_70b(32);  // PP 4, four virtual stages, 16 micro-batches
  const StepTimeline timeline = played(cluster, job);
  std::map<int, std::vector<TimelineSpan>> ranks;
  for (const TimelineSpan& span : timeline.spans)
    ranks[span.rank].push_back(span);
  REQUIRE(ranks.size() == 4);
  for (auto& [rank, spans] : ranks) {
    const auto count = [&, &all = spans](What what) {
      return std::count_if(all.begin(), all.end(),
                           [&](const TimelineSpan& span) { return span.what == what; });
    };
    CHECK(count(What::forward) == 16 * 4);
    CHECK(count(What::backward) == 16 * 4);
    CHECK(count(What::optimizer) == 1);
    std::stable_sort(spans.begin(), spans.end(),
                     [](const auto& a, const auto& b) { return a.from < b.from; });
    for (std::size_t i = 1; i < spans.size(); ++i)
      CHECK(spans[i].from.value() >= spans[i - 1].to.value() - 1e-9);
    CHECK(spans.back().to.value() == Approx(timeline.end.value()));
  }
}

TEST_CASE("the timeline is as long as the step that is estimated") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 4);
  const Job job = llama_70b(32);
  const StepTimeline timeline = played(cluster, job);
  CHECK(timeline.end.value() == Approx(estimated(cluster, job).step.value()).epsilon(0.01));
}

TEST_CASE("schedules with weight gradients apart are played too; jobs that are wrong have faults") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 4);
  Job job = llama_70b(32);  // PP 4, 16 micro-batches
  job.layout.vp = 1;
  for (const Schedule schedule : {Schedule::zero_bubble_1, Schedule::dual_pipe}) {
    job.schedule = schedule;
    CAPTURE(name(schedule));
    const StepTimeline timeline = played(cluster, job);
    CHECK(timeline.end.value() == Approx(estimated(cluster, job).step.value()).epsilon(0.01));
    std::map<std::pair<int, What>, int> count;
    for (const TimelineSpan& span : timeline.spans) {
      CHECK(span.to >= span.from);
      ++count[{span.rank, span.what}];
    }
    for (int rank = 0; rank < 4; ++rank) {
      CHECK(count[{rank, What::forward}] == 16);
      CHECK(count[{rank, What::backward}] == 16);
      // DualPipe: apart while filling (one on each side of the middle) and draining.
      CHECK(count[{rank, What::weight}] == (schedule == Schedule::zero_bubble_1 ? 16
                                            : rank == 0 || rank == 3            ? 3
                                                                                : 2));
    }
  }
  job.layout.tp = 3;
  CHECK_FALSE(step_timeline(the_catalog(), cluster, job));
}

}  // namespace flowplan::training::timeline_test
