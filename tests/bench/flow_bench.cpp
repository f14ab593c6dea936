// Speed of the flow engine on non-blocking fat trees of 50 GB/s cables, with the flows of
// `flowplan flow --generate`.
#include <cstdint>

#include <benchmark/benchmark.h>

#include "flowplan/flow/fold.hpp"
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

/// What looking for symmetry costs where there is little: time beyond the same with
/// `Folding::off`.
void fold_in_vain(benchmark::State& state, const Topology& topology, const Traffic& traffic,
                  Folding folding) {
  const Case all = *generate(topology, traffic);
  FoldSummary summary;
  for (auto _ : state)
    benchmark::DoNotOptimize(simulate(all.network, all.flows, folding, &summary));
  state.counters["rounds"] = summary.rounds;
  state.counters["classes"] = summary.flow_classes;
}
const Dragonfly dragonfly{.groups = 33, .routers_per_group = 8, .hosts_per_router = 4};
const Torus torus{.dimensions = {16, 16, 8}};
const Traffic five_thousand{.pattern = Pattern::random, .flows = 5000};
const Traffic permutation{.pattern = Pattern::permutation};
#define FOLD_IN_VAIN(topology, traffic)                                                        \
  BENCHMARK_CAPTURE(fold_in_vain, topology##_##traffic, topology, traffic, Folding::automatic) \
      ->Unit(benchmark::kMillisecond);                                                         \
  BENCHMARK_CAPTURE(fold_in_vain, topology##_##traffic##_off, topology, traffic, Folding::off) \
      ->Unit(benchmark::kMillisecond)
FOLD_IN_VAIN(dragonfly, five_thousand);
FOLD_IN_VAIN(dragonfly, permutation);
FOLD_IN_VAIN(torus, five_thousand);
#undef FOLD_IN_VAIN

void build_flows(benchmark::State& state) {
  for (auto _ : state)
    benchmark::DoNotOptimize(fat_tree_case(256, Pattern::all_to_all, Sizes::equal));
}
BENCHMARK(build_flows)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
