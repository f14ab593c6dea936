#include "flowplan/inference/metrics.hpp"

#include <random>

#include <catch2/catch.hpp>

#include "handmade.hpp"

namespace flowplan::inference::metrics_test {

using namespace handmade;

namespace {

/// Two finished, one that has its first token, one without, one refused; the clock stops at 10 s.
ServeRun by_hand() {
  ServeRun run;
  run.end_s = 10.0;
  run.gpus = 4;
  RequestRecords& r = run.requests;
  r.sent_s = {0.0, 1.0, 4.0, 6.0, 7.0};
  r.first_token_s = {1.0, 2.5, 8.0, -1.0, -1.0};
  r.finish_s = {3.0, 7.5, -1.0, -1.0, -1.0};
  r.generated = {5, 11, 3, 0, 0};
  r.cached_tokens = {0, 50, 0, 0, 0};
  r.preemptions = {0, 2, 0, 0, 0};
  r.replica = {0, 0, 0, 0, 0};
  r.outcome = {Outcome::finished, Outcome::finished, Outcome::running, Outcome::waiting,
               Outcome::refused_context};
  run.pools.resize(1);
  return run;
}

Workload its_load() {
  return load_of({{0.0, 100, 5}, {1.0, 100, 11}, {4.0, 100, 20}, {6.0, 100, 20}, {7.0, 100, 20}});
}

}  // namespace

TEST_CASE("a summary counts what did not end") {
  const Summary s = summarize(by_hand(), its_load(), {}, {.ttft_s = 1.2, .tpot_s = 0.6});
  CHECK(s.sent == 5);
  CHECK(s.finished == 2);
  CHECK(s.unfinished == 2);
  CHECK(s.without_first_token == 1);
  CHECK(s.refused_context == 1);
  // Times to the first token: 1, 1.5, 4, and 4 so far.
  CHECK(s.ttft_s.count == 4);
  CHECK(s.ttft_s.mean == Approx(2.625));
  CHECK(s.ttft_s.p50 == 1.5);
  CHECK(s.ttft_s.p99 == 4.0);
  // 2 s for 4 gaps, 5 s for 10.
  CHECK(s.tpot_s.count == 2);
  CHECK(s.tpot_s.mean == Approx(0.5));
  CHECK(s.output_tokens_per_s_per_user == Approx(2.0));
  // 3, 6.5, and 6 and 4 so far.
  CHECK(s.e2e_s.mean == Approx(19.5 / 4));
  CHECK(s.requests_per_s == Approx(0.2));
  CHECK(s.output_tokens_per_s == Approx(1.9));
  CHECK(s.total_tokens_per_s == Approx(21.9));
  CHECK(s.output_tokens_per_s_per_gpu == Approx(1.9 / 4));
  CHECK(s.mean_in_system == Approx(1.95));
  CHECK(s.good_share == Approx(0.2));  // the first alone, of five sent
  CHECK(s.good_requests_per_s == Approx(0.1));
  CHECK_FALSE(s.meets);
  CHECK(s.cached_share == Approx(50.0 / 400.0));
  CHECK(s.preemptions == 2);
}

TEST_CASE("a window takes the requests sent in it and what happens in it") {
  const Summary s = summarize(by_hand(), its_load(), {1.0, 5.0});
  CHECK(s.sent == 2);
  CHECK(s.finished == 1);
  CHECK(s.requests_per_s == Approx(0.25));  // the first, sent before, ends in it
  // Of the first: its first token at 1 s and 4 till 3; of the second: 1 and half of 10.
  CHECK(s.output_tokens_per_s == Approx((1 + 4 + 1 + 5) / 4.0));
  CHECK(s.mean_in_system == Approx((2 + 4 + 1) / 4.0));
  CHECK(s.queue_growth_per_s == Approx((2 - 1) / 4.0));
}

TEST_CASE("a client that gets n tokens at a time sees the first with the n-th") {
  const Summary s = summarize(by_hand(), its_load(), {0.0, 1.0}, {}, 3);
  CHECK(s.ttft_s.mean == Approx(1.0 + 2 * 0.5));
  CHECK(s.tpot_s.mean == Approx((3.0 - 2.0) / 4));
  // No later than with the last.
  CHECK(summarize(by_hand(), its_load(), {0.0, 1.0}, {}, 99).ttft_s.mean == Approx(3.0));
}

TEST_CASE("the steady window leaves out requests at both ends") {
  const Window window = steady_window(by_hand(), 1, 2);
  CHECK(window.from_s == 1.0);
  CHECK(window.to_s == 6.0);
  CHECK(summarize(by_hand(), its_load(), window).sent == 2);
  CHECK(steady_window(by_hand(), 1, 0).to_s == 10.0);
}

TEST_CASE("a task lasts from its first request to its last token") {
  // Best of 2: both answers of 5 tokens; the second joins when the first one's token is there.
  Load load;
  load.input = {TokenCount::Kind::fixed, 32};
  load.output = {TokenCount::Kind::fixed, 5};
  load.arrivals.kind = Arrivals::Kind::closed_loop;
  load.block_tokens = 16;
  load.shape = Samples{2};
  Instance instance = ten_ms_a_pass();
  instance.engine.prefix_caching = true;
  const Workload workload = *generate(load);
  const ServeRun run = *serve(one(instance), workload);
  // First token at 10 ms; the other's prompt, half of it cached, in the pass to 20; 4 more.
  CHECK(run.requests.first_token_s[1] == Approx(0.02));
  CHECK(run.requests.cached_tokens[1] == 16);
  const Summary s = summarize(run, workload);
  CHECK(s.task_s.count == 1);
  CHECK(s.task_s.mean == Approx(0.06));
}

TEST_CASE("percentiles of gaps are exact to a bucket") {
  GapHistogram gaps;
  std::mt19937_64 random(5);
  std::vector<double> all;
  for (int i = 0; i < 5000; ++i) {
    const double gap = 1e-4 * (1.0 + static_cast<double>(random() % 100000));
    gaps.add(gap, 1.0);
    all.push_back(gap);
  }
  std::sort(all.begin(), all.end());
  for (const double p : {0.01, 0.5, 0.9, 0.99}) {
    const double exact = all[static_cast<std::size_t>(p * 5000) - 1];
    CHECK(gaps.percentile(p) == Approx(exact).epsilon(GapHistogram::resolution));
  }
}

TEST_CASE("a line of gaps is the same as its gaps one by one") {
  for (const double slope : {1e-5, -1e-6, 0.0}) {
    GapHistogram line, each;
    line.add_line(0.01, slope, 5000, 3.0);
    for (int i = 0; i < 5000; ++i)
      each.add(0.01 + slope * i, 3.0);
    CHECK(line.count() == each.count());
    CHECK(line.mean() == Approx(each.mean()).epsilon(1e-9));
    for (const double p : {0.0, 0.1, 0.5, 0.9, 0.999, 1.0})
      CHECK(line.percentile(p) == Approx(each.percentile(p)).epsilon(2 * GapHistogram::resolution));
  }
}

TEST_CASE("a series over time keeps its integral while its intervals grow") {
  TimeSeries series;
  double integral = 0.0;
  for (int i = 0; i < 1000; ++i) {
    series.add(i, i + 1, i, i + 1);
    integral += i + 0.5;
  }
  CHECK(series.integral() == Approx(integral));
  const std::vector<double> means = series.means();
  CHECK(means.size() <= TimeSeries::most_intervals);
  CHECK(series.interval_s() == 4.0);
  for (std::size_t i = 0; i + 1 < means.size(); ++i)
    CHECK(means[i] == Approx(4.0 * static_cast<double>(i) + 2.0));
}

TEST_CASE("the saturation rate, and the highest rate within limits") {
  // Prompts of 100 tokens at 1 ms each, one token out: 10 requests/s.
  Load load;
  load.tasks = 2000;
  load.input = {TokenCount::Kind::fixed, 100};
  load.output = {TokenCount::Kind::fixed, 1};
  load.arrivals.kind = Arrivals::Kind::constant;
  load.arrivals.rate = {{0.0, 1.0}};
  Instance instance = one_ms_a_token();
  instance.engine.token_budget = 100;
  CHECK(*saturation_rate(one(instance), load) == Approx(10.0).epsilon(0.01));
  // At constant gaps each request is alone up to there.
  const CapacityPoint point = *highest_rate(one(instance), load, {.ttft_s = 0.101});
  CHECK(point.offered_per_s == Approx(10.0).epsilon(0.011));
  CHECK(point.summary.good_share == 1.0);
  CHECK(highest_rate(one(instance), load, {.ttft_s = 0.099})->offered_per_s == 0.0);
  // Random gaps: the wait grows with the load (M/D/1: half the service time at 50 %).
  load.arrivals.kind = Arrivals::Kind::poisson;
  const CapacityPoint random = *highest_rate(one(instance), load, {.ttft_s = 0.5});
  CHECK(random.offered_per_s > 4.0);
  CHECK(random.offered_per_s < 9.0);
}

}  // namespace flowplan::inference::metrics_test
