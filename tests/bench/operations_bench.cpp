// How fast runs are simulated, and what a scenario asks of the closed forms.
#include <benchmark/benchmark.h>

#include "flowplan/operations/failures.hpp"
#include "flowplan/operations/simulate.hpp"
#include "flowplan/operations/spares.hpp"

namespace {

using namespace flowplan;
using namespace flowplan::operations;

RunModel run_on(double nodes, double per_node_day) {
  RunModel run;
  run.mttf = Failures{nodes, per_node_day}.mttf();
  run.interval = Seconds(600);
  run.stall = Seconds(20);
  run.restart_swap = run.restart_in_place = Seconds(300);
  run.spares = 4;
  run.repair = hours(12);
  return run;
}

/// A million days: 10,000 runs of 100 days.
void million_days(benchmark::State& state) {
  const RunModel run = run_on(static_cast<double>(state.range(0)), 3.79e-3);
  for (auto _ : state) {
    const Simulation s = simulate_days(run, days(100), {1, 10000});
    benchmark::DoNotOptimize(s.shares());
    state.counters["failures"] = s.failures_per_day() * 1e6;
    state.counters["ettr"] = s.shares().ettr();
  }
}
BENCHMARK(million_days)
    ->Arg(128)
    ->Arg(2048)
    ->Arg(16384)
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

void million_days_two_tiers(benchmark::State& state) {
  RunModel run = run_on(2048, 3.79e-3);
  run.interval = Seconds(60);
  run.persist = Seconds(120);
  run.memory = MemoryTier{10, Seconds(1), Seconds(10), 0.1};
  run.node_loss = 0.7;
  for (auto _ : state)
    benchmark::DoNotOptimize(simulate_days(run, days(100), {1, 10000}).shares());
}
BENCHMARK(million_days_two_tiers)->Unit(benchmark::kMillisecond)->UseRealTime();

void best_interval(benchmark::State& state) {
  const RunModel run = run_on(2048, 3.79e-3);
  for (auto _ : state)
    benchmark::DoNotOptimize(with_best_interval(run));
}
BENCHMARK(best_interval)->Unit(benchmark::kMicrosecond);

void best_interval_two_tiers(benchmark::State& state) {
  RunModel run = run_on(2048, 3.79e-3);
  run.memory = MemoryTier{1, Seconds(1), Seconds(10), 0.1};
  for (auto _ : state)
    benchmark::DoNotOptimize(with_best_interval(run));
}
BENCHMARK(best_interval_two_tiers)->Unit(benchmark::kMicrosecond);

void spares(benchmark::State& state) {
  const RunModel run = run_on(2048, 3.79e-3);
  for (auto _ : state)
    benchmark::DoNotOptimize(spare_options(run, 2048));
}
BENCHMARK(spares)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
