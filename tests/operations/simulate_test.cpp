#include "flowplan/operations/simulate.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "flowplan/base/split_mix.hpp"
#include "flowplan/operations/failures.hpp"

namespace flowplan::operations::simulate_test {

namespace {

constexpr double agreement = 0.01;  // closed forms and simulation, where the forms hold

RunModel llama3_like() {
  RunModel run;
  run.mttf = Failures{2048, 3.79e-3}.mttf();
  run.interval = Seconds(647.3);
  run.stall = Seconds(20);
  run.restart_swap = run.restart_in_place = Seconds(600);
  return run;
}

void check_agrees(const RunModel& run, double share_margin = 0.004) {
  const Goodput expected = expected_goodput(run);
  const Goodput simulated = simulate_days(run, days(200), {7, 50}).shares();
  CHECK(simulated.productive == Approx(expected.productive).epsilon(agreement));
  CHECK(simulated.saving == Approx(expected.saving).epsilon(agreement).margin(share_margin));
  CHECK(simulated.recomputed == Approx(expected.recomputed).margin(share_margin));
  CHECK(simulated.down == Approx(expected.down).margin(share_margin));
  CHECK(simulated.waiting == Approx(expected.waiting).margin(share_margin));
}

double sum(const RunOutcome& run) {
  return (run.productive + run.saving + run.recomputed + run.down + run.waiting).value();
}

}  // namespace

TEST_CASE("simulation and closed form agree: blocking saves") {
  check_agrees(llama3_like());
}

TEST_CASE("simulation and closed form agree: 16384 nodes that fail every 13 minutes") {
  RunModel run = llama3_like();
  run.mttf = Failures{16384, 6.5e-3}.mttf();
  run.interval = Seconds(160.1);
  CHECK(simulate_days(run, days(200), {7, 50}).shares().ettr() ==
        Approx(0.3790).epsilon(agreement));
  check_agrees(run);
}

TEST_CASE("simulation and closed form agree: asynchronous saves") {
  RunModel run = llama3_like();
  run.persist = Seconds(400);
  run.read = Seconds(45);
  check_agrees(run);
}

TEST_CASE("simulation and closed form agree: memory and disk") {
  RunModel run = llama3_like();
  run.interval = Seconds(120);
  run.read = Seconds(120);
  run.memory = MemoryTier{15, Seconds(2), Seconds(5), 0.2};
  check_agrees(run);
  run.persist = Seconds(300);  // to first order
  check_agrees(run);
}

TEST_CASE("simulation and closed form agree: restarts with and without a new node") {
  RunModel run = llama3_like();
  run.node_loss = 0.6;
  run.restart_in_place = Seconds(90);
  check_agrees(run);
}

TEST_CASE("simulation and closed form agree: spares that run out") {
  RunModel run = llama3_like();
  run.repair = hours(12);
  for (const int spares : {0, 2, 5, 9}) {
    INFO(spares << " spares");
    run.spares = spares;
    check_agrees(run, 0.01);
  }
}

TEST_CASE("random models agree with their closed form") {
  SplitMix64 random(11);
  const auto between = [&](double low, double high) {
    return low * std::pow(high / low, random.unit());
  };
  for (int i = 0; i < 12; ++i) {
    RunModel run;
    run.mttf = hours(between(1, 20));
    run.interval = Seconds(between(100, 2000));
    run.stall = Seconds(between(1, 60));
    run.read = Seconds(between(1, 200));
    run.restart_swap = Seconds(between(60, 1200));
    run.restart_in_place = Seconds(between(30, 600));
    run.node_loss = random.unit();
    run.spares = static_cast<int>(random.below(4));
    run.repair = hours(between(0.2, 6));
    if (i % 2 == 0) {
      run.persist = run.interval * random.unit();
    } else {
      run.memory = MemoryTier{2 + static_cast<int>(random.below(20)), Seconds(between(0.5, 5)),
                              Seconds(between(1, 20)), random.unit()};
    }
    INFO("model " << i);
    check_agrees(run, 0.01);
  }
}

TEST_CASE("Llama 3's run: interruptions and ETTR of 54 days") {
  RunModel run = llama3_like();
  run.stall = Seconds(6.3);
  run.interval = Seconds(368.2);
  run.restart_swap = run.restart_in_place = Seconds(120);
  const Simulation simulation = simulate_days(run, days(54), {1, 200});
  CHECK(simulation.failures_per_day() * 54 == Approx(419).epsilon(0.01));
  CHECK(simulation.ettr_percentile(5) > 0.90);
  CHECK(simulation.ettr_percentile(50) == Approx(0.9564).epsilon(5e-3));
  // A single run of 54 days may see some 20 failures more or fewer.
  CHECK(simulation.ettr_percentile(5) < simulation.ettr_percentile(95));
}

TEST_CASE("every second of every run is accounted for") {
  RunModel run = llama3_like();
  run.spares = 1;
  run.repair = hours(3);
  run.memory = MemoryTier{4, Seconds(3), Seconds(9), 0.3};
  for (const RunOutcome& one : simulate_days(run, days(20), {3, 20}).runs) {
    CHECK(one.wall.value() == Approx(days(20).value()));
    CHECK(sum(one) == Approx(one.wall.value()));
    CHECK(one.failures > 0);
    CHECK(one.lost_nodes == one.failures);
  }
  for (const RunOutcome& one : simulate_work(run, days(20), {3, 20}).runs) {
    CHECK(one.finished);
    CHECK(one.productive.value() == Approx(days(20).value()));
    CHECK(sum(one) == Approx(one.wall.value()));
    CHECK(one.wall > days(20));
  }
}

TEST_CASE("work is done after its length over the ETTR") {
  const Simulation simulation = simulate_work(llama3_like(), days(54), {5, 100});
  CHECK(simulation.wall_percentile(50) / days(1) == Approx(54 / 0.8919).epsilon(0.01));
  CHECK(simulation.wall_percentile(5) < simulation.wall_percentile(50));
  CHECK(simulation.wall_percentile(50) < simulation.wall_percentile(95));
  CHECK(simulation.wall_percentile(100) >= simulation.wall_percentile(95));
}

TEST_CASE("without failures the wall time follows from the saves") {
  RunModel run = llama3_like();
  run.mttf.reset();
  run.interval = Seconds(100);
  run.stall = Seconds(10);
  // 1000 s of work: nine saves in between, none at the end.
  const RunOutcome one = simulate_work(run, Seconds(1000), {1, 1}).runs.front();
  CHECK(one.wall.value() == Approx(1090));
  CHECK(one.saving.value() == Approx(90));
  CHECK(one.failures == 0);
  // 250 s: two saves and 30 s of computing.
  const RunOutcome part = simulate_days(run, Seconds(250), {1, 1}).runs.front();
  CHECK(part.productive.value() == Approx(230));
  CHECK(part.saving.value() == Approx(20));
}

TEST_CASE("a seed gives the same runs, another gives others") {
  const auto first = simulate_days(llama3_like(), days(30), {42, 64});
  const auto again = simulate_days(llama3_like(), days(30), {42, 64});
  const auto other = simulate_days(llama3_like(), days(30), {43, 64});
  // The first runs of a longer series are those of a shorter one, whoever computes them.
  const auto fewer = simulate_days(llama3_like(), days(30), {42, 5});
  bool differs = false;
  for (std::size_t i = 0; i < first.runs.size(); ++i) {
    CHECK(first.runs[i].productive == again.runs[i].productive);
    CHECK(first.runs[i].failures == again.runs[i].failures);
    differs = differs || first.runs[i].productive != other.runs[i].productive;
    if (i < fewer.runs.size()) CHECK(first.runs[i].productive == fewer.runs[i].productive);
  }
  CHECK(differs);
}

TEST_CASE("a run that gets nowhere is given up") {
  RunModel run = llama3_like();
  run.mttf = Seconds(60);  // fails ten times before a restart is through
  const RunOutcome one = simulate_work(run, days(1), {1, 1}, 3.0).runs.front();
  CHECK_FALSE(one.finished);
  CHECK(one.wall.value() >= days(3).value() * 0.99);
}

}  // namespace flowplan::operations::simulate_test
