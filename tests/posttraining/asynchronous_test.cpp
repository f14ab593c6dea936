#include "flowplan/posttraining/asynchronous.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include <catch2/catch.hpp>

#include "handmade.hpp"

namespace flowplan::posttraining::asynchronous_test {

using namespace handmade;
using inference::TokenCount;

namespace {

Overlap overlap_of(double staleness, double training_s, double sync_s) {
  Overlap overlap;
  overlap.staleness = staleness;
  overlap.training = Seconds(training_s);
  overlap.sync = Seconds(sync_s);
  return overlap;
}

/// Trained on as they finish, the bound only for when they are let in.
Overlap loose_overlap_of(double staleness, double training_s, double sync_s) {
  Overlap overlap = overlap_of(staleness, training_s, sync_s);
  overlap.in_order = false;
  return overlap;
}

OverlapRun must_run(const inference::Fleet& fleet, const RolloutLoad& load,
                    const Overlap& overlap) {
  const auto run = run_overlapped(fleet, load, overlap);
  if (!run) FAIL(render(run.error()));
  return *run;
}

/// Answers whose tail is long: a batch of 256 ends when its longest has 4,000 tokens.
RolloutLoad with_a_tail() {
  RolloutLoad load = equal_answers(32, 8, 1.0);
  load.response = with_mean({TokenCount::Kind::lognormal, 1.0, 1.0, 4000.0}, 500.0);
  return load;
}

}  // namespace

TEST_CASE("without staleness rollout and training take turns") {
  // 1 s to generate, 3 s to train, 0.5 s to synchronise.
  const OverlapRun run =
      must_run(ten_ms_a_pass(2), equal_answers(8, 4, 100.0), overlap_of(0.0, 3.0, 0.5));
  CHECK(run.step.value() == Approx(4.5));
  CHECK(run.waiting.value() == Approx(1.0));
  CHECK(run.mean_staleness == 0.0);
  CHECK(run.trainer_idle == Approx(1.0 / 4.5));
  CHECK(run.rollout_idle == Approx(3.5 / 4.5).epsilon(0.01));
}

TEST_CASE("one step off takes the longer of both and the synchronisation") {
  Overlap overlap = overlap_of(1.0, 3.0, 0.5);
  overlap.partial = false;
  overlap.in_order = true;
  CHECK(must_run(ten_ms_a_pass(2), equal_answers(8, 4, 100.0), overlap).step.value() ==
        Approx(3.5));
  overlap.training = Seconds(0.2);
  const OverlapRun run = must_run(ten_ms_a_pass(2), equal_answers(8, 4, 100.0), overlap);
  CHECK(run.step.value() == Approx(1.5));
  CHECK(run.mean_staleness == Approx(1.0));
}

TEST_CASE("equal lengths leave asynchronous rollouts nothing but the overlap to gain") {
  // No tail: what overlaps is the shorter of generating (1 s) and training, nothing more.
  for (const double training : {0.5, 1.0, 4.0}) {
    const RolloutLoad load = equal_answers(8, 4, 100.0);
    const double turns =
        must_run(ten_ms_a_pass(2), load, overlap_of(0.0, training, 0.25)).step.value();
    const double apart =
        must_run(ten_ms_a_pass(2, 16), load, overlap_of(4.0, training, 0.25)).step.value();
    CHECK(turns - apart == Approx(std::min(1.0, training)).epsilon(0.02));
  }
}

TEST_CASE("unbounded staleness reaches the longer of generating and training") {
  const RolloutLoad load = with_a_tail();
  const inference::Fleet fleet = ten_ms_a_pass(2, 32);
  // 64 samples run at any time, each pass gives each of them a token; 256 of 500 on average.
  const double generating = 256.0 * 500.0 / 64.0 * 10e-3;
  CHECK(must_run(fleet, load, loose_overlap_of(1e9, 0.1 * generating, 0.0)).step.value() ==
        Approx(generating).epsilon(0.1));
  const double training = 3.0 * generating;
  CHECK(must_run(fleet, load, loose_overlap_of(1e9, training, 0.0)).step.value() ==
        Approx(training).epsilon(1e-6));
}

TEST_CASE("where the tail binds, staleness takes it out of the step") {
  const RolloutLoad load = with_a_tail();
  const inference::Fleet fleet = ten_ms_a_pass(4);
  const double turns = must_run(fleet, load, loose_overlap_of(0.0, 5.0, 0.5)).step.value();
  const double half = must_run(fleet, load, loose_overlap_of(0.5, 5.0, 0.5)).step.value();
  const double two = must_run(fleet, load, loose_overlap_of(2.0, 5.0, 0.5)).step.value();
  CHECK(half < turns);
  CHECK(two <= half);
  CHECK(two == Approx(5.5).epsilon(0.02));  // the trainer never waits
}

TEST_CASE("draining at each update costs the tail that partial rollouts hide") {
  Overlap overlap = loose_overlap_of(1.0, 5.0, 0.5);
  const RolloutLoad load = with_a_tail();
  const double partial = must_run(ten_ms_a_pass(4), load, overlap).step.value();
  overlap.partial = false;
  CHECK(must_run(ten_ms_a_pass(4), load, overlap).step.value() > 2.0 * partial);
}

TEST_CASE("no sample is older than the bound, and a wider bound is never slower") {
  double slower = 1e9;
  for (const double bound : {0.0, 0.5, 1.0, 2.0, 3.0, 4.0}) {
    for (const bool partial : {true, false}) {
      for (const int parts : {1, 4}) {
        Overlap overlap = overlap_of(bound, 0.5, 0.1);
        overlap.partial = partial;
        overlap.parts = parts;
        const OverlapRun run = must_run(ten_ms_a_pass(2), with_a_tail(), overlap);
        CAPTURE(bound, partial, parts);
        CHECK(run.mean_staleness <= run.most_staleness);
        CHECK(run.most_staleness <= std::ceil(bound));
        CHECK_FALSE(run.staleness_grows);
        if (!partial || parts > 1) continue;
        CHECK(run.step.value() <= slower * (1.0 + 1e-6));
        slower = run.step.value();
      }
    }
  }
}

TEST_CASE("whatever the lengths, a wider bound is never slower and never broken") {
  std::mt19937 random(5);
  const auto between = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (int i = 0; i < 12; ++i) {
    RolloutLoad load = equal_answers(16, 4, 1.0);
    const double spread = between(0.0, 1.5), mean = between(50.0, 400.0);
    load.response = with_mean({TokenCount::Kind::lognormal, 1.0, spread, 3000.0}, mean);
    load.seed = random();
    const double training = between(0.1, 6.0), sync = between(0.0, 1.0);
    for (const bool partial : {true, false}) {
      double slower = 1e9;
      for (const double bound : {0.0, 1.0, 2.0, 4.0}) {
        Overlap overlap = overlap_of(bound, training, sync);
        overlap.partial = partial;
        const OverlapRun run = must_run(ten_ms_a_pass(2), load, overlap);
        CAPTURE(i, spread, mean, training, sync, partial, bound);
        CHECK(run.most_staleness <= bound);
        CHECK_FALSE(run.most_is_open);
        // Six steps are measured, other ones for every bound. Partial rollouts spread their long
        // answers over several; drained, one long answer is all of one step.
        if (partial) CHECK(run.step.value() <= slower * 1.06);
        slower = run.step.value();
      }
    }
  }
}

TEST_CASE("out of order a sample as old as the run was followed leaves the most open") {
  // A fifth of the answers takes forty batches' time: they are in flight all along.
  RolloutLoad load = equal_answers(32, 8, 1.0);
  load.response = with_mean({TokenCount::Kind::lognormal, 1.0, 2.5, 60000.0}, 500.0);
  Overlap overlap = loose_overlap_of(8.0, 0.2, 0.05);
  const OverlapRun loose = must_run(ten_ms_a_pass(2, 64), load, overlap);
  CHECK(loose.most_is_open);
  overlap.in_order = true;
  CHECK_FALSE(must_run(ten_ms_a_pass(2, 64), load, overlap).most_is_open);
}

TEST_CASE("out of order the bound holds only for when samples are let in") {
  Overlap overlap = overlap_of(1.0, 0.5, 0.1);
  const OverlapRun bounded = must_run(ten_ms_a_pass(2), with_a_tail(), overlap);
  overlap.in_order = false;
  const OverlapRun loose = must_run(ten_ms_a_pass(2), with_a_tail(), overlap);
  CHECK(loose.step < bounded.step);
  CHECK(loose.most_staleness > 1.0);
}

TEST_CASE("without a bound samples of the faster pool grow older with every step") {
  // 1 s to generate a batch, 4 s to train on it: each step three batches more lie ready.
  const OverlapRun run =
      must_run(ten_ms_a_pass(2, 16), equal_answers(8, 4, 100.0), overlap_of(1e6, 4.0, 0.25));
  CHECK(run.staleness_grows);
  // The trainer is the faster, and prompts wait outside: nothing lies ready.
  Overlap quick = overlap_of(1e6, 0.1, 0.05);
  quick.in_flight = 2.0;
  CHECK_FALSE(must_run(ten_ms_a_pass(2, 16), equal_answers(8, 4, 100.0), quick).staleness_grows);
}

TEST_CASE("training on parts of a batch begins before its last sample") {
  Overlap overlap = overlap_of(0.0, 4.0, 0.0);
  const double whole = must_run(ten_ms_a_pass(4), with_a_tail(), overlap).step.value();
  overlap.parts = 8;
  const double parts = must_run(ten_ms_a_pass(4), with_a_tail(), overlap).step.value();
  CHECK(parts < whole);
  CHECK(whole - parts <= 4.0 * 7.0 / 8.0 + 1e-9);
}

TEST_CASE("the timeline has both pools, one after the other without gaps") {
  const OverlapRun run =
      must_run(ten_ms_a_pass(2), equal_answers(8, 4, 100.0), overlap_of(0.0, 3.0, 0.5));
  for (const char* pool : {"trainer", "rollout"}) {
    double at = 0.0;
    for (const Interval& one : run.timeline) {
      if (one.pool != pool) continue;
      CHECK(one.from_s == Approx(at).margin(1e-6));
      at = one.to_s;
    }
    CHECK(at == Approx(3 * 4.5));
  }
}

TEST_CASE("the timeline shows from when on few samples are left") {
  // Room for three of four answers of 1 s: the fourth runs alone from 1 s to 2 s, fewer than half.
  // Then 3 s of training and 0.5 s of synchronisation: a step of 5.5 s, three of them shown.
  const OverlapRun run =
      must_run(ten_ms_a_pass(1, 3), equal_answers(4, 1, 100.0), overlap_of(0.0, 3.0, 0.5));
  double begin = 0.0;
  for (const Interval& one : run.timeline) {
    if (one.activity != "stragglers") continue;
    CHECK(one.pool == "rollout");
    CHECK(one.from_s == Approx(begin + 1.0).epsilon(1e-3));
    CHECK(one.to_s == Approx(begin + 2.0).epsilon(1e-3));
    begin += 5.5;
  }
  CHECK(begin == Approx(3 * 5.5));
  // With room for all of them there are none.
  const OverlapRun even =
      must_run(ten_ms_a_pass(1, 4), equal_answers(4, 1, 100.0), overlap_of(0.0, 3.0, 0.5));
  for (const Interval& one : even.timeline)
    CHECK(one.activity != "stragglers");
}

TEST_CASE("where the search for agreeing times begins does not change what it finds") {
  const inference::Fleet fleet = ten_ms_a_pass(4);
  const RolloutLoad load = with_a_tail();
  const OverlapRun other = must_run(fleet, load, overlap_of(2.0, 2.0, 0.3));
  const Overlap overlap = overlap_of(2.0, 2.2, 0.3);
  const OverlapRun cold = must_run(fleet, load, overlap);
  const auto warm = run_overlapped(fleet, load, overlap, other.times);
  REQUIRE(warm);
  CHECK(cold.step != other.step);
  CHECK(warm->step == cold.step);
  CHECK(warm->waiting == cold.waiting);
  CHECK(warm->mean_staleness == cold.mean_staleness);
  CHECK(warm->times.ready_s == cold.times.ready_s);
  // Times of another number of samples are left aside.
  const auto aside = run_overlapped(fleet, equal_answers(8, 4, 100.0), overlap, other.times);
  REQUIRE(aside);
  CHECK(aside->step == must_run(fleet, equal_answers(8, 4, 100.0), overlap).step);
}

TEST_CASE("the same run gives the same answer") {
  const OverlapRun a = must_run(ten_ms_a_pass(3), with_a_tail(), overlap_of(1.5, 2.0, 0.3));
  const OverlapRun b = must_run(ten_ms_a_pass(3), with_a_tail(), overlap_of(1.5, 2.0, 0.3));
  CHECK(a.step == b.step);
  CHECK(a.rollout_idle == b.rollout_idle);
}

}  // namespace flowplan::posttraining::asynchronous_test
