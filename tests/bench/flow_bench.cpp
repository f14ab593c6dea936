// Speed of the flow engine on non-blocking fat trees of 50 GB/s cables, with the flows of
// `flowplan flow --generate`.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "flowplan/flow/generate.hpp"
#include "flowplan/flow/max_min.hpp"
#include "flowplan/flow/simulate.hpp"

namespace {

using namespace flowplan::flow;

Case fat_tree_case(std::int64_t hosts, Pattern pattern, Sizes sizes) {
  return *generate(full_fat_tree(static_cast<std::uint32_t>(hosts)),
                   Traffic{.pattern = pattern, .sizes = sizes});
}

void simulate_case(benchmark::State& state, Pattern pattern, Sizes sizes) {
  const Case all = fat_tree_case(state.range(0), pattern, sizes);
  Completion completion;
  for (auto _ : state)
    completion = simulate(all.network, all.flows);
  state.counters["flows"] = static_cast<double>(all.flows.size());
  state.counters["events"] = static_cast<double>(completion.events);
  state.counters["makespan_s"] = completion.makespan_s;
}

void all_to_all_random(benchmark::State& state) {
  simulate_case(state, Pattern::all_to_all, Sizes::random);
}
BENCHMARK(all_to_all_random)->Arg(64)->Arg(128)->Unit(benchmark::kMillisecond);

void all_to_all_equal(benchmark::State& state) {
  simulate_case(state, Pattern::all_to_all, Sizes::equal);
}
BENCHMARK(all_to_all_equal)->Arg(64)->Arg(256)->Unit(benchmark::kMillisecond);

void permutation_random(benchmark::State& state) {
  simulate_case(state, Pattern::permutation, Sizes::random);
}
BENCHMARK(permutation_random)->Arg(4096)->Arg(16384)->Unit(benchmark::kMillisecond);

void solve_once(benchmark::State& state) {
  const Case all = fat_tree_case(256, Pattern::all_to_all, Sizes::equal);
  for (auto _ : state)
    benchmark::DoNotOptimize(solve(all.network, all.flows));
  state.counters["flows"] = static_cast<double>(all.flows.size());
}
BENCHMARK(solve_once)->Unit(benchmark::kMillisecond);

void build_flows(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(fat_tree_case(256, Pattern::all_to_all, Sizes::equal));
}
BENCHMARK(build_flows)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
