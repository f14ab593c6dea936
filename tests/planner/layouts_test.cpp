#include "flowplan/planner/layouts.hpp"

#include <cmath>

#include <catch2/catch.hpp>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

namespace flowplan::planner::layouts_test {

namespace {

using training::Job;

const catalog::Catalog& real_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

topology::Cluster cluster_of(const char* instance, int count) {
  topology::ClusterSpec spec;
  spec.instance = *real_catalog().instance(instance);
  spec.count = count;
  return *topology::Cluster::build(real_catalog(), spec);
}

Job job_of(const char* model, std::int64_t seq_len, std::int64_t global_batch) {
  Job job;
  job.model = **real_catalog().transformer(model);
  job.seq_len = seq_len;
  job.global_batch = global_batch;
  return job;
}

bool same(const Job& a, const Job& b) {
  const training::Layout &x = a.layout, &y = b.layout;
  return x.tp == y.tp && x.pp == y.pp && x.vp == y.vp && x.cp == y.cp && x.dp == y.dp &&
         x.ep == y.ep && x.etp == y.etp && x.sequence_parallel == y.sequence_parallel &&
         a.micro_batch == b.micro_batch && a.global_batch == b.global_batch &&
         a.precision == b.precision && a.recompute == b.recompute && a.sharding == b.sharding &&
         a.schedule == b.schedule && a.context_parallel == b.context_parallel;
}

void check_same(const LayoutSearch& a, const LayoutSearch& b) {
  REQUIRE(a.best.size() == b.best.size());
  for (std::size_t i = 0; i < a.best.size(); ++i) {
    INFO("rank " << i);
    CHECK(same(a.best[i].job, b.best[i].job));
    CHECK(a.best[i].key == b.best[i].key);
    CHECK(a.best[i].result.memory == b.best[i].result.memory);
  }
  REQUIRE(a.leanest.has_value() == b.leanest.has_value());
  if (a.leanest) CHECK(a.leanest->result.memory == b.leanest->result.memory);
}

std::int64_t sum(const LayoutCounts& c) {
  return c.invalid + c.too_large + c.out_of_reach + c.slower + c.kept;
}

struct Small {
  const char* what;
  const char* instance;
  int count;
  const char* model;
  std::int64_t seq_len, global_batch;
  int keep;
  double headroom;
};

const std::vector<Small>& small_spaces() {
  static const std::vector<Small> all{
      {"dense, one node", "p5.48xlarge", 1, "llama3-8b", 4096, 32, 5, 0.0},
      {"dense, pipelines, tight memory", "p5.48xlarge", 2, "llama2-70b", 2048, 24, 10, 0.05},
      {"only the best one", "p4d.24xlarge", 4, "llama2-13b", 2048, 16, 1, 0.0},
      {"experts", "p5.48xlarge", 2, "mixtral-8x7b", 2048, 16, 7, 0.0},
      {"nothing fits", "p4d.24xlarge", 1, "gpt3-175b", 2048, 8, 3, 0.0},
      {"two matrices, tied embeddings", "p6-b200.48xlarge", 2, "gpt3-20b", 2048, 24, 4, 0.1},
  };
  return all;
}

}  // namespace

TEST_CASE("pruning finds what trying every layout finds", "[slow]") {
  for (const Small& small : small_spaces()) {
    DYNAMIC_SECTION(small.what) {
      const auto cluster = cluster_of(small.instance, small.count);
      const Job like = job_of(small.model, small.seq_len, small.global_batch);
      scenario::LayoutSpace space;
      space.precision = {model::Precision::bf16, model::Precision::fp8};
      const LayoutGoal goal{small.keep, small.headroom, {}};
      const auto pruned = search_layouts(real_catalog(), cluster, like, space, goal);
      const auto forced = search_layouts_by_force(real_catalog(), cluster, like, space, goal);
      REQUIRE(pruned);
      REQUIRE(forced);
      check_same(*pruned, *forced);
      CHECK(pruned->counts.raw == forced->counts.raw);
      CHECK(pruned->counts.invalid == forced->counts.invalid);
      CHECK(pruned->counts.evaluated() <= forced->counts.evaluated());
      CHECK(sum(pruned->counts) == pruned->counts.raw);
      CHECK(sum(forced->counts) == forced->counts.raw);
    }
  }
}

TEST_CASE("with a token budget and several batches the time of the whole run is ranked, exactly") {
  const auto cluster = cluster_of("p5.48xlarge", 1);
  const Job like = job_of("llama3-8b", 4096, 32);
  scenario::LayoutSpace space;
  space.global_batch = {16, 24, 64};
  // 1,000 steps and a bit of the batch of 16: the last step of each batch is partly wasted.
  const LayoutGoal goal{6, 0.0, 16.0 * 4096 * 1000.5};
  const auto pruned = search_layouts(real_catalog(), cluster, like, space, goal);
  const auto forced = search_layouts_by_force(real_catalog(), cluster, like, space, goal);
  REQUIRE(pruned);
  REQUIRE(forced);
  check_same(*pruned, *forced);
  const Job& best = pruned->best[0].job;
  const double steps = std::ceil(*goal.tokens / (4096.0 * static_cast<double>(best.global_batch)));
  CHECK(pruned->best[0].key.value() == Approx(pruned->best[0].result.step.value() * steps));
}

TEST_CASE("the answer and its counts are the same on any number of threads") {
  const auto cluster = cluster_of("p5.48xlarge", 2);
  const Job like = job_of("llama2-70b", 4096, 24);
  const scenario::LayoutSpace space;
  const LayoutGoal goal{5, 0.0, {}};
  // More than the machine may have.
  const tbb::global_control control(tbb::global_control::max_allowed_parallelism, 5);
  std::vector<LayoutSearch> answers;
  for (const int threads : {1, 2, 5}) {
    tbb::task_arena arena(threads);
    answers.push_back(
        *arena.execute([&] { return search_layouts(real_catalog(), cluster, like, space, goal); }));
  }
  for (std::size_t i = 1; i < answers.size(); ++i) {
    check_same(answers[0], answers[i]);
    CHECK(answers[0].counts.raw == answers[i].counts.raw);
    CHECK(answers[0].counts.too_large == answers[i].counts.too_large);
    CHECK(answers[0].counts.out_of_reach == answers[i].counts.out_of_reach);
    CHECK(answers[0].counts.slower == answers[i].counts.slower);
  }
}

TEST_CASE("a step never takes less than its bound") {
  const auto cluster = cluster_of("p5.48xlarge", 4);
  for (const char* model : {"llama2-70b", "mixtral-8x7b", "deepseek-v3"}) {
    Job job = job_of(model, 4096, 64);
    job.gpus = cluster.gpus();
    auto evaluator = training::Evaluator::on(real_catalog(), cluster, job);
    REQUIRE(evaluator);
    int tried = 0;
    for (const int tp : {1, 2, 8}) {
      for (const int pp : {1, 2, 4}) {
        for (const auto sharding : {training::Sharding::none, training::Sharding::fsdp}) {
          for (const auto schedule :
               {training::Schedule::one_forward_one_backward, training::Schedule::zero_bubble_1}) {
            job.layout.tp = tp;
            job.layout.pp = pp;
            job.layout.dp = 32 / (tp * pp);
            job.layout.ep = job.model.experts ? 2 : 1;
            job.layout.uneven_stages = true;
            job.sharding = sharding;
            job.schedule = schedule;
            if (!evaluator->valid(job)) continue;
            ++tried;
            const Seconds step = evaluator->evaluate(job)->step;
            CHECK(evaluator->at_least(job) <= step * (1.0 + 1e-12));
            CHECK(evaluator->at_least(job) > step * 0.1);
          }
        }
      }
    }
    CHECK(tried > 10);
  }
}

TEST_CASE("memory does not fall with the micro-batch") {
  const auto cluster = cluster_of("p5.48xlarge", 4);
  for (const char* model : {"llama2-70b", "mixtral-8x7b"}) {
    Job job = job_of(model, 4096, 64);
    job.gpus = cluster.gpus();
    const auto evaluator = training::Evaluator::on(real_catalog(), cluster, job);
    REQUIRE(evaluator);
    for (const int pp : {1, 4}) {
      for (const auto recompute : {training::Recompute::none, training::Recompute::full}) {
        job.layout.tp = 4;
        job.layout.pp = pp;
        job.layout.dp = 8 / pp;
        job.recompute = recompute;
        Bytes last{};
        for (const std::int64_t micro_batch : {1, 2, 4, 8}) {
          job.micro_batch = micro_batch;
          REQUIRE(evaluator->valid(job));
          const Bytes now = evaluator->memory(job).memory;
          CHECK(now >= last);
          last = now;
        }
      }
    }
  }
}

TEST_CASE("what is stated is the only value tried") {
  const auto cluster = cluster_of("p5.48xlarge", 1);
  scenario::LayoutSpace space;
  space.tp = {2};
  space.micro_batch = {1};
  space.recompute = {training::Recompute::full};
  const auto found =
      search_layouts(real_catalog(), cluster, job_of("llama3-8b", 4096, 32), space, {20, 0.0, {}});
  REQUIRE(found);
  REQUIRE(!found->best.empty());
  for (const FoundLayout& one : found->best) {
    CHECK(one.job.layout.tp == 2);
    CHECK(one.job.micro_batch == 1);
    CHECK(one.job.recompute == training::Recompute::full);
    CHECK(one.job.layout.tp * one.job.layout.pp * one.job.layout.cp * one.job.layout.dp == 8);
  }
}

}  // namespace flowplan::planner::layouts_test
