// How long `flowplan plan` takes for the whole space of a model on a cluster, in CPU seconds of all
// threads and on the clock. flowplan_plan_bench [THREADS] [--force]: --force tries every layout
// without bounds as well, on one thread, and says whether the answer is the same.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include "flowplan/planner/layouts.hpp"

namespace {

using namespace flowplan;

struct Space {
  const char* model;
  int nodes;  // p5.48xlarge: 8 H100 each
  std::int64_t seq_len, global_batch;
};

constexpr Space spaces[] = {
    {"gpt3-175b", 64, 2048, 1536},   {"gpt3-175b", 512, 2048, 1536},
    {"megatron-1t", 64, 2048, 2048}, {"megatron-1t", 512, 2048, 2048},
    {"deepseek-v3", 64, 4096, 2048},
};

struct Measured {
  planner::LayoutSearch search;
  double cpu = 0.0, wall = 0.0;
};

double cpu_now() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

template <class Search>
Measured measure(int threads, const Search& search) {
  tbb::task_arena arena(threads);
  const double cpu = cpu_now();
  const auto begin = std::chrono::steady_clock::now();
  auto found = arena.execute(search);
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - begin;
  if (!found) {
    fmt::print("{}", render(found.error()));
    std::exit(1);
  }
  return {std::move(*found), cpu_now() - cpu, wall.count()};
}

void print(const Space& space, std::string_view how, const Measured& measured) {
  const planner::LayoutCounts& counts = measured.search.counts;
  const double raw = static_cast<double>(counts.raw);
  fmt::print("{:<12} {:>6} {:<7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>7.2f} {:>7.2f} {:>8.2f}\n",
             space.model, space.nodes * 8, how, counts.raw, counts.invalid, counts.too_large,
             counts.out_of_reach, counts.evaluated(), measured.cpu, measured.wall,
             measured.cpu / raw * 1e6);
}

}  // namespace

int main(int argc, char** argv) {
  int threads = 2;
  bool force = false;
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--force") {
      force = true;
    } else {
      threads = std::max(1, std::atoi(argv[i]));
    }
  }
  const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!catalog) return 1;
  fmt::print("{} threads\n{:<12} {:>6} {:<7} {:>10} {:>10} {:>10} {:>10} {:>9} {:>7} {:>7} {:>8}\n",
             threads, "model", "GPUs", "", "raw", "invalid", "too large", "bounded", "evaluated",
             "CPU s", "wall s", "us/raw");
  for (const Space& space : spaces) {
    topology::ClusterSpec spec;
    spec.instance = *catalog->instance("p5.48xlarge");
    spec.count = space.nodes;
    const auto cluster = topology::Cluster::build(*catalog, spec);
    training::Job like;
    like.model = **catalog->transformer(space.model);
    like.seq_len = space.seq_len;
    like.global_batch = space.global_batch;
    like.gpus = cluster->gpus();
    scenario::LayoutSpace layouts;
    layouts.precision = {model::Precision::bf16, model::Precision::fp8};
    layouts.sharding = {training::Sharding::none, training::Sharding::distributed_optimizer,
                        training::Sharding::zero2, training::Sharding::fsdp,
                        training::Sharding::fsdp_no_reshard};
    const planner::LayoutGoal goal{10, 0.0, {}};
    const Measured pruned = measure(
        threads, [&] { return planner::search_layouts(*catalog, *cluster, like, layouts, goal); });
    print(space, "", pruned);
    if (!force) continue;
    const Measured every = measure(1, [&] {
      return planner::search_layouts_by_force(*catalog, *cluster, like, layouts, goal);
    });
    bool same = every.search.best.size() == pruned.search.best.size();
    for (std::size_t i = 0; same && i < every.search.best.size(); ++i)
      same = every.search.best[i].key == pruned.search.best[i].key;
    print(space, same ? "(force)" : "DIFFERS", every);
  }
}
