// How the time of a prediction grows with the GPUs: p5.48xlarge, building the cluster included.
#include <cstdint>
#include <cstdlib>
#include <optional>

#include <benchmark/benchmark.h>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/placement.hpp"

namespace {

using namespace flowplan;
using collective::Algorithm;
using collective::Operation;

constexpr std::uint32_t gpus_per_node = 8;

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) std::abort();
  return *loaded;
}

const collective::Stack& stack() {
  static const auto read = collective::read_stack(**shipped().constants("collectives-p5"));
  if (!read) std::abort();
  return *read;
}

/// What is not as built.
enum class WhatIf { nothing, slow_nic, scattered };

void predict(benchmark::State& state, Operation operation, std::optional<Algorithm> algorithm,
             WhatIf what_if) {
  topology::ClusterSpec spec;
  spec.instance = *shipped().instance("p5.48xlarge");
  spec.count = static_cast<int>(state.range(0)) / static_cast<int>(gpus_per_node);
  static_cast<void>(stack());
  for (auto _ : state) {
    topology::Cluster cluster = *topology::Cluster::build(shipped(), spec);
    topology::PlacementSpec placement;
    if (what_if == WhatIf::scattered) placement.kind = topology::PlacementKind::scattered;
    if (what_if == WhatIf::slow_nic)
      cluster = cluster.degraded(topology::slow_nic(cluster, topology::GpuId{99}, 0.5));
    collective::Request request;
    request.operation = operation;
    request.algorithm = algorithm;
    request.size = gibibytes(16);
    request.groups = {topology::place(cluster, cluster.gpus(), placement)->gpu};
    benchmark::DoNotOptimize(collective::predict(stack(), cluster, request));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

void growth(benchmark::internal::Benchmark* benchmark) {
  benchmark->Arg(1000)->Arg(10000)->Arg(100000)->Unit(benchmark::kMillisecond)->UseRealTime();
}

BENCHMARK_CAPTURE(predict, ring, Operation::all_reduce, Algorithm::ring, WhatIf::nothing)
    ->Apply(growth);
BENCHMARK_CAPTURE(predict, nvls_tree, Operation::all_reduce, Algorithm::nvls_tree, WhatIf::nothing)
    ->Apply(growth);
BENCHMARK_CAPTURE(predict, all_to_all, Operation::all_to_all, Algorithm::pxn, WhatIf::nothing)
    ->Apply(growth);
BENCHMARK_CAPTURE(predict, all_to_all_slow_nic, Operation::all_to_all, Algorithm::pxn,
                  WhatIf::slow_nic)
    ->Apply(growth);
BENCHMARK_CAPTURE(predict, ring_scattered, Operation::all_reduce, Algorithm::ring,
                  WhatIf::scattered)
    ->Apply(growth);
BENCHMARK_CAPTURE(predict, all_to_all_scattered, Operation::all_to_all, Algorithm::pxn,
                  WhatIf::scattered)
    ->Apply(growth);

}  // namespace

BENCHMARK_MAIN();
