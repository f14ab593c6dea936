#include "flowplan/inference/load.hpp"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

namespace flowplan::inference::load_test {

namespace {

Load plain(Arrivals::Kind kind, double per_s, std::uint32_t tasks) {
  Load load;
  load.tasks = tasks;
  load.input = {TokenCount::Kind::fixed, 100};
  load.output = {TokenCount::Kind::fixed, 10};
  load.arrivals.kind = kind;
  load.arrivals.rate = {{0.0, per_s}};
  return load;
}

std::vector<double> arrivals_of(const Load& load) {
  std::vector<double> times;
  const Workload workload = *generate(load);
  for (const Request& request : workload.requests)
    times.push_back(request.arrival_s);
  return times;
}

struct Moments {
  double mean, cv;
};
Moments gaps_of(const std::vector<double>& times) {
  double sum = times[0], squares = times[0] * times[0];
  for (std::size_t i = 1; i < times.size(); ++i) {
    const double gap = times[i] - times[i - 1];
    sum += gap;
    squares += gap * gap;
  }
  const double n = static_cast<double>(times.size()), mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean) / mean};
}

Moments inputs_of(const TokenCount& count) {
  Load load = plain(Arrivals::Kind::constant, 1, 40000);
  load.input = count;
  double sum = 0.0, squares = 0.0;
  const Workload workload = *generate(load);
  for (const Request& request : workload.requests) {
    sum += request.input_tokens;
    squares += static_cast<double>(request.input_tokens) * request.input_tokens;
  }
  const double mean = sum / 40000;
  return {mean, std::sqrt(squares / 40000 - mean * mean) / mean};
}

}  // namespace

TEST_CASE("constant gaps") {
  CHECK(arrivals_of(plain(Arrivals::Kind::constant, 4, 3)) == std::vector<double>{0.25, 0.5, 0.75});
}

TEST_CASE("Poisson and Gamma gaps have their mean and variation") {
  const Moments poisson = gaps_of(arrivals_of(plain(Arrivals::Kind::poisson, 10, 40000)));
  CHECK(poisson.mean == Approx(0.1).epsilon(0.02));
  CHECK(poisson.cv == Approx(1.0).epsilon(0.02));
  for (const double cv : {0.5, 3.0}) {
    Load load = plain(Arrivals::Kind::gamma, 10, 40000);
    load.arrivals.cv = cv;
    const Moments gamma = gaps_of(arrivals_of(load));
    CHECK(gamma.mean == Approx(0.1).epsilon(0.05));
    CHECK(gamma.cv == Approx(cv).epsilon(0.05));
  }
}

TEST_CASE("a ramp sends where the integral of its rate says") {
  // 0 to 2 per second over 10 s: t^2 / 10 tasks by t, so the n-th at sqrt(10 n); 10 in all, and
  // then 2 per second.
  Load load = plain(Arrivals::Kind::constant, 0, 12);
  load.arrivals.rate = {{0.0, 0.0}, {10.0, 2.0}};
  const std::vector<double> times = arrivals_of(load);
  for (std::size_t n = 1; n <= 9; ++n)
    CHECK(times[n - 1] == Approx(std::sqrt(10.0 * static_cast<double>(n))));
  CHECK(times[9] == Approx(10.0));
  CHECK(times[11] == Approx(11.0));
}

TEST_CASE("a day's profile repeats") {
  // Triangles of 10 s and 20 tasks: each repetition has the same times again.
  Load load = plain(Arrivals::Kind::constant, 0, 60);
  load.arrivals.rate = {{0.0, 0.0}, {5.0, 4.0}, {10.0, 0.0}};
  load.arrivals.repeat = true;
  const std::vector<double> times = arrivals_of(load);
  for (std::size_t n = 0; n < 40; ++n)
    CHECK(times[n + 20] == Approx(times[n] + 10.0));
}

TEST_CASE("lengths have the mean and the spread that were asked for") {
  CHECK(inputs_of({TokenCount::Kind::fixed, 700}).cv < 1e-9);
  const Moments uniform = inputs_of({TokenCount::Kind::uniform, 1000, 0.5});
  CHECK(uniform.mean == Approx(1000).epsilon(0.01));
  CHECK(uniform.cv == Approx(0.5 / std::sqrt(3.0)).epsilon(0.02));
  CHECK(inputs_of({TokenCount::Kind::below, 1000, 0.2}).mean == Approx(900).epsilon(0.01));
  const Moments lognormal = inputs_of({TokenCount::Kind::lognormal, 1000, 0.8});
  CHECK(lognormal.mean == Approx(1000).epsilon(0.02));
  CHECK(lognormal.cv == Approx(0.8).epsilon(0.05));
  CHECK(inputs_of({TokenCount::Kind::exponential, 1000}).cv == Approx(1.0).epsilon(0.03));
  CHECK(inputs_of({TokenCount::Kind::exponential, 1000, 0.0, 50}).mean < 50.01);
}

TEST_CASE("a task keeps its lengths when arrivals change, and the seed decides") {
  Load load = plain(Arrivals::Kind::poisson, 10, 50);
  load.input = {TokenCount::Kind::exponential, 500};
  const Workload a = *generate(load), same = *generate(load);
  load.arrivals.kind = Arrivals::Kind::gamma;
  load.arrivals.cv = 3.0;
  const Workload b = *generate(load);
  load.seed = 2;
  const Workload c = *generate(load);
  int other = 0;
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(a.requests[i].arrival_s == same.requests[i].arrival_s);
    CHECK(a.requests[i].input_tokens == b.requests[i].input_tokens);
    other += a.requests[i].input_tokens != c.requests[i].input_tokens;
  }
  CHECK(other > 40);
}

TEST_CASE("pairs of lengths are drawn together") {
  Load load = plain(Arrivals::Kind::constant, 1, 200);
  load.pairs = {{10, 1}, {20, 2}};
  const Workload workload = *generate(load);
  for (const Request& request : workload.requests)
    CHECK(request.input_tokens == 10 * request.output_tokens);
}

TEST_CASE("prompts share a system prompt's blocks") {
  Load load = plain(Arrivals::Kind::constant, 1, 2);
  load.block_tokens = 16;
  load.shared_tokens = 40;  // 2 whole blocks
  const Workload workload = *generate(load);
  // 100 tokens are 6 blocks: 2 shared, 4 of the request's own.
  const Request& first = workload.requests[0];
  const Request& second = workload.requests[1];
  CHECK(workload.runs[first.first_run].first == 0);
  CHECK(workload.runs[first.first_run].count == 6);  // its own blocks follow at once
  REQUIRE(second.run_count == 2);
  CHECK(workload.runs[second.first_run].count == 2);
  CHECK(workload.runs[second.first_run + 1].first == 6);
  CHECK(workload.runs[second.first_run + 1].count == 4);
}

TEST_CASE("a session's turns send all before them again") {
  Load load = plain(Arrivals::Kind::constant, 1, 1);
  load.shape = Sessions{{TokenCount::Kind::fixed, 3}, {TokenCount::Kind::fixed, 20}, 2.0, false};
  load.block_tokens = 10;
  const Workload workload = *generate(load);
  REQUIRE(workload.requests.size() == 3);
  CHECK(workload.tasks() == 1);
  CHECK(workload.requests[1].input_tokens == 100 + 10 + 20);
  CHECK(workload.requests[2].input_tokens == 130 + 10 + 20);
  // All of the last turn's blocks, its answer's too, begin with those of the first.
  const Request& last = workload.requests[2];
  CHECK(last.run_count == 1);
  CHECK(workload.runs[last.first_run].first == 0);
  CHECK(workload.runs[last.first_run].count == 17);
  const Join& next = workload.joins[workload.signals[0].at_finish];
  CHECK(next.first == 1);
  CHECK(next.count == 1);
  CHECK(next.delay_s == 2.0);
  CHECK_FALSE(next.ends_task);
  CHECK(workload.joins[workload.signals[2].at_finish].ends_task);
}

TEST_CASE("samples wait for the first one's prompt, and a verifier reads each") {
  Load load = plain(Arrivals::Kind::constant, 1, 1);
  load.shape = Samples{3, true, 0.5};
  const Workload workload = *generate(load);
  REQUIRE(workload.requests.size() == 6);
  const Join& others = workload.joins[workload.signals[0].at_first_token];
  CHECK(others.first == 1);
  CHECK(others.count == 2);
  const Join& read_second = workload.joins[workload.signals[1].at_finish];
  CHECK(read_second.first == 4);
  CHECK(workload.requests[4].input_tokens == 110);
  CHECK(workload.requests[4].output_tokens == 1);
  const Join& done = workload.joins[workload.signals[5].at_finish];
  CHECK(done.waits_for == 3);
  CHECK(done.delay_s == 0.5);
  CHECK(done.ends_task);
}

TEST_CASE("a search has width x branch requests a step, each step after the one before") {
  Load load = plain(Arrivals::Kind::constant, 1, 1);
  load.shape = TreeSearch{3, 2, 4, {TokenCount::Kind::fixed, 30}, 0.1};
  const Workload workload = *generate(load);
  REQUIRE(workload.requests.size() == 24);
  CHECK(workload.requests[7].input_tokens == 100);
  CHECK(workload.requests[8].input_tokens == 130);
  CHECK(workload.requests[23].input_tokens == 160);
  const Join& first_step = workload.joins[workload.signals[3].at_finish];
  CHECK(first_step.waits_for == 8);
  CHECK(first_step.first == 8);
  CHECK(first_step.count == 8);
}

TEST_CASE("adapters are drawn by their weights") {
  Load load = plain(Arrivals::Kind::constant, 1, 30000);
  load.adapters = 2;
  load.adapter_skew = 1.0;  // weights 1 and 1/2
  int first = 0;
  const Workload workload = *generate(load);
  for (const Request& request : workload.requests)
    first += request.adapter == 1;
  CHECK(first == Approx(20000).epsilon(0.02));
}

TEST_CASE("loads that cannot be sent are refused") {
  const auto is_refused = [](Load load) { return !generate(load).has_value(); };
  Load load = plain(Arrivals::Kind::poisson, 1, 10);
  CHECK_FALSE(is_refused(load));
  load.tasks = 0;
  CHECK(is_refused(load));
  CHECK(is_refused(plain(Arrivals::Kind::poisson, 0, 10)));
  CHECK(is_refused(plain(Arrivals::Kind::poisson, -1, 10)));
  load = plain(Arrivals::Kind::poisson, 1, 10);
  load.output.mean = 0.0;
  CHECK(is_refused(load));
  load = plain(Arrivals::Kind::poisson, 1, 10);
  load.arrivals.rate = {{0.0, 5.0}, {10.0, 0.0}};  // runs dry
  CHECK(is_refused(load));
  load.arrivals.repeat = true;
  CHECK_FALSE(is_refused(load));
  load.arrivals.rate = {{5.0, 5.0}, {5.0, 1.0}};
  CHECK(is_refused(load));
  load = plain(Arrivals::Kind::closed_loop, 1, 10);
  load.arrivals.concurrency = 0;
  CHECK(is_refused(load));
  load = plain(Arrivals::Kind::poisson, 1, 1u << 23);
  load.shape = Samples{100};
  CHECK(is_refused(load));
}

}  // namespace flowplan::inference::load_test
