#include "flowplan/operations/goodput.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "flowplan/operations/failures.hpp"
#include "flowplan/operations/interval.hpp"

namespace flowplan::operations::goodput_test {

namespace {

/// 2048 nodes at Llama 3's rate with a stall of 20 s and restarts of 10 minutes.
RunModel llama3_like() {
  RunModel run;
  run.mttf = Failures{2048, 3.79e-3}.mttf();
  run.interval = daly_interval(Seconds(20), *run.mttf);
  run.stall = Seconds(20);
  run.restart_swap = run.restart_in_place = Seconds(600);
  return run;
}

double sum(const Goodput& g) {
  return g.productive + g.saving + g.recomputed + g.down + g.waiting;
}

double ettr(RunModel run, double interval) {
  run.interval = Seconds(interval);
  return expected_goodput(run).ettr();
}

}  // namespace

TEST_CASE("one blocking tier is Daly's exact form") {
  const RunModel run = llama3_like();
  const Goodput g = expected_goodput(run);
  CHECK(g.ettr() == Approx(exponential_efficiency(run.interval, run.stall, Seconds(600), *run.mttf))
                        .epsilon(1e-12));
  CHECK(g.ettr() == Approx(0.8919).epsilon(1e-4));
  // The job is down while restarts run: 1 - exp(-R/M).
  CHECK(g.down == Approx(-std::expm1(-600.0 / run.mttf->value())).epsilon(1e-12));
  CHECK(g.saving == Approx(g.productive * 20.0 / run.interval.value()).epsilon(1e-12));
  CHECK(sum(g) == Approx(1.0));
}

TEST_CASE("uptime counts what is computed twice, ETTR does not") {
  const Goodput g = expected_goodput(llama3_like());
  CHECK(g.uptime() > g.ettr());
  CHECK(g.uptime() == Approx(1.0 - g.down - g.waiting));
}

TEST_CASE("without failures only the stalls cost") {
  RunModel run = llama3_like();
  run.mttf.reset();
  CHECK(expected_goodput(run).ettr() ==
        Approx(run.interval.value() / (run.interval.value() + 20.0)));
  CHECK(sum(expected_goodput(run)) == Approx(1.0));
}

TEST_CASE("Llama 3 stays above 90 % with restarts of minutes and stalls of seconds") {
  RunModel run = llama3_like();
  run.stall = Seconds(6.3);
  run.restart_swap = run.restart_in_place = Seconds(120);
  CHECK(expected_goodput(with_best_interval(run)).ettr() > 0.95);
  run.stall = Seconds(20);
  run.restart_swap = run.restart_in_place = Seconds(300);
  CHECK(expected_goodput(with_best_interval(run)).ettr() > 0.90);
}

TEST_CASE("the best interval is the peak, and lies where the exact form's slope is zero") {
  const RunModel best = with_best_interval(llama3_like());
  const double t = best.interval.value(), m = best.mttf->value();
  CHECK(ettr(best, t) >= ettr(best, 1.01 * t));
  CHECK(ettr(best, t) >= ettr(best, 0.99 * t));
  // d/dt of t / (exp((t+d)/M) - 1) is zero where 1 - t/M = exp(-(t+d)/M).
  CHECK(1.0 - t / m == Approx(std::exp(-(t + 20.0) / m)).epsilon(1e-6));
  CHECK(t == Approx(daly_higher_order_interval(Seconds(20), *best.mttf).value()).epsilon(1e-3));
}

TEST_CASE("an asynchronous save loses its time on the way once a failure") {
  RunModel run = llama3_like();
  run.persist = Seconds(300);
  // To first order a share p/M of the progress goes.
  const double lost = 1.0 - expected_goodput(run).ettr() / expected_goodput(llama3_like()).ettr();
  CHECK(lost == Approx(300.0 / run.mttf->value()).epsilon(0.05));
  CHECK_FALSE(run.saves_overlap());
  run.persist = Seconds(700);
  CHECK(run.saves_overlap());
  // The interval is never shorter than the save.
  const RunModel best = with_best_interval(run);
  CHECK(best.interval.value() >= 700.0 * (1 - 1e-9));
  CHECK_FALSE(best.saves_overlap());
}

TEST_CASE("a small stall with a long way to disk beats a long stall") {
  RunModel blocking = llama3_like();
  blocking.stall = Seconds(60);
  RunModel async = llama3_like();
  async.stall = Seconds(5);
  async.persist = Seconds(55);
  CHECK(expected_goodput(with_best_interval(async)).ettr() >
        expected_goodput(with_best_interval(blocking)).ettr() + 0.02);
}

TEST_CASE("a memory tier that every failure defeats is one tier") {
  RunModel run = llama3_like();
  const Goodput alone = expected_goodput(run);
  run.memory = MemoryTier{1, Seconds(), Seconds(), 1.0};
  const Goodput beside = expected_goodput(run);
  CHECK(beside.productive == Approx(alone.productive).epsilon(1e-12));
  CHECK(beside.saving == Approx(alone.saving).epsilon(1e-12));
  CHECK(beside.down == Approx(alone.down).epsilon(1e-12));
  CHECK(beside.recomputed == Approx(alone.recomputed).epsilon(1e-9));
}

TEST_CASE("a memory tier that nothing defeats makes saves to disk rare") {
  RunModel run = llama3_like();
  run.memory = MemoryTier{10, Seconds(), Seconds(), 0.0};
  run.interval = Seconds(60);
  run.stall = Seconds();
  // Saves cost nothing, so a failure loses half a minute and the restart.
  CHECK(expected_goodput(run).ettr() ==
        Approx(exponential_efficiency(Seconds(60), Seconds(), Seconds(600), *run.mttf))
            .epsilon(1e-12));
}

TEST_CASE("two tiers lose (1-q) t1/2 + q t2/2 to first order") {
  RunModel run = llama3_like();
  run.mttf = hours(100);
  run.restart_swap = run.restart_in_place = Seconds();
  run.interval = Seconds(60);
  run.stall = Seconds();
  run.memory = MemoryTier{20, Seconds(), Seconds(), 0.25};
  const double lost = 0.75 * 60 / 2 + 0.25 * 1200 / 2;
  CHECK(1.0 - expected_goodput(run).ettr() == Approx(lost / run.mttf->value()).epsilon(5e-3));
}

TEST_CASE("the best mix of tiers beats its neighbours") {
  RunModel run = llama3_like();
  run.memory = MemoryTier{1, Seconds(1), Seconds(10), 0.1};
  const RunModel best = with_best_interval(run);
  const double peak = expected_goodput(best).ettr();
  const int saves = best.memory->saves_per_disk_save;
  CHECK(saves > 1);
  for (const int other : {saves - 1, saves + 1, 2 * saves}) {
    RunModel neighbour = best;
    neighbour.memory->saves_per_disk_save = other;
    CHECK(peak >= expected_goodput(with_best_interval(neighbour, true)).ettr());
  }
  CHECK(peak > expected_goodput(with_best_interval(llama3_like())).ettr());
}

TEST_CASE("more failures, longer stalls and longer restarts never help") {
  const RunModel base = llama3_like();
  const double ettr_base = expected_goodput(base).ettr();
  for (const double worse : {1.01, 1.5, 10.0}) {
    RunModel run = base;
    run.mttf = *base.mttf / worse;
    CHECK(expected_goodput(run).ettr() < ettr_base);
    run = base;
    run.stall = base.stall * worse;
    CHECK(expected_goodput(run).ettr() < ettr_base);
    run = base;
    run.restart_swap = base.restart_swap * worse;
    CHECK(expected_goodput(run).ettr() < ettr_base);
    run = base;
    run.read = Seconds(worse);
    CHECK(expected_goodput(run).ettr() < ettr_base);
  }
}

TEST_CASE("restarts in place count by their share") {
  RunModel run = llama3_like();
  run.restart_in_place = Seconds(60);
  const double all_lost = expected_goodput(run).ettr();
  run.node_loss = 0.5;
  const double half = expected_goodput(run).ettr();
  run.node_loss = 0.0;
  const double none = expected_goodput(run).ettr();
  CHECK(all_lost < half);
  CHECK(half < none);
}

}  // namespace flowplan::operations::goodput_test
