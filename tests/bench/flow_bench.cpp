// Speed of the flow engine on three-level non-blocking fat trees with 50 GB/s links.
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "flowplan/flow/max_min.hpp"
#include "flowplan/flow/simulate.hpp"

namespace {

using namespace flowplan::flow;

constexpr double capacity = 50e9;
constexpr std::uint32_t seed = 1;

/// `pods` pods of `radix` edge and `radix` aggregation switches, `radix` hosts an edge switch, and
/// radix^2 core switches. Each tier is a block of one link up and one down a host.
class FatTree {
 public:
  FatTree(std::uint32_t pods, std::uint32_t radix)
      : radix_(radix), hosts_(pods * radix * radix), network_{std::vector(6 * hosts_, capacity)} {}

  [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
  [[nodiscard]] const Network& network() const { return network_; }

  /// The target picks the aggregation switch by its port and the core by its edge switch.
  void route(std::uint32_t source, std::uint32_t target, std::vector<Use>& uses) const {
    const bool same_edge = source / radix_ == target / radix_;
    const std::uint32_t pod = radix_ * radix_;
    const bool same_pod = source / pod == target / pod;
    const std::uint32_t aggregation = target % radix_;
    const std::uint32_t core = aggregation * radix_ + target / radix_ % radix_;
    const auto edge_port = [&](std::uint32_t h) { return h / radix_ * radix_ + aggregation; };
    const auto pod_port = [&](std::uint32_t h) { return h / pod * pod + core; };
    uses.assign({{link(0, source)}});
    if (!same_edge) uses.push_back({link(1, edge_port(source))});
    if (!same_pod) {
      uses.push_back({link(2, pod_port(source))});
      uses.push_back({link(3, pod_port(target))});
    }
    if (!same_edge) uses.push_back({link(4, edge_port(target))});
    uses.push_back({link(5, target)});
  }

 private:
  [[nodiscard]] LinkId link(std::uint32_t block, std::uint32_t i) const {
    return LinkId{block * hosts_ + i};
  }

  std::uint32_t radix_, hosts_;
  Network network_;
};

class Sizes {
 public:
  explicit Sizes(bool equal) : equal_(equal), random_(seed) {}
  double operator()() {
    return equal_ ? 100e6 : std::uniform_real_distribution<double>(50e6, 150e6)(random_);
  }

 private:
  bool equal_;
  std::mt19937 random_;
};

FlowSet all_to_all(const FatTree& tree, bool equal) {
  FlowSet flows;
  Sizes sizes(equal);
  std::vector<Use> uses;
  for (std::uint32_t s = 0; s < tree.hosts(); ++s) {
    for (std::uint32_t t = 0; t < tree.hosts(); ++t) {
      if (s == t) continue;
      tree.route(s, t, uses);
      flows.add(uses, {.bytes = sizes()});
    }
  }
  return flows;
}

FlowSet permutation(const FatTree& tree) {
  std::vector<std::uint32_t> target(tree.hosts());
  std::iota(target.begin(), target.end(), 0U);
  std::mt19937 random(seed);
  std::shuffle(target.begin(), target.end(), random);
  FlowSet flows;
  Sizes sizes(false);
  std::vector<Use> uses;
  for (std::uint32_t s = 0; s < tree.hosts(); ++s) {
    if (s == target[s]) continue;
    tree.route(s, target[s], uses);
    flows.add(uses, {.bytes = sizes()});
  }
  return flows;
}

void report(benchmark::State& state, const FlowSet& flows, const Completion& completion) {
  state.counters["flows"] = static_cast<double>(flows.size());
  state.counters["events"] = static_cast<double>(completion.events);
  state.counters["makespan_s"] = completion.makespan_s;
}

void simulate_flows(benchmark::State& state, const FatTree& tree, const FlowSet& flows) {
  Completion completion;
  for (auto _ : state)
    completion = simulate(tree.network(), flows);
  report(state, flows, completion);
}

void all_to_all_random(benchmark::State& state) {
  const FatTree tree(static_cast<std::uint32_t>(state.range(0)), 4);
  simulate_flows(state, tree, all_to_all(tree, false));
}
BENCHMARK(all_to_all_random)->Arg(4)->Arg(8)->Unit(benchmark::kMillisecond);

void all_to_all_equal(benchmark::State& state) {
  const FatTree tree(static_cast<std::uint32_t>(state.range(0)), 4);
  simulate_flows(state, tree, all_to_all(tree, true));
}
BENCHMARK(all_to_all_equal)->Arg(4)->Arg(16)->Unit(benchmark::kMillisecond);

void permutation_random(benchmark::State& state) {
  const FatTree tree(static_cast<std::uint32_t>(state.range(0)), 16);
  simulate_flows(state, tree, permutation(tree));
}
BENCHMARK(permutation_random)->Arg(16)->Arg(64)->Unit(benchmark::kMillisecond);

void solve_once(benchmark::State& state) {
  const FatTree tree(16, 4);
  const FlowSet flows = all_to_all(tree, true);
  for (auto _ : state)
    benchmark::DoNotOptimize(solve(tree.network(), flows));
  state.counters["flows"] = static_cast<double>(flows.size());
}
BENCHMARK(solve_once)->Unit(benchmark::kMillisecond);

void build_flows(benchmark::State& state) {
  const FatTree tree(16, 4);
  for (auto _ : state)
    benchmark::DoNotOptimize(all_to_all(tree, true));
}
BENCHMARK(build_flows)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();
