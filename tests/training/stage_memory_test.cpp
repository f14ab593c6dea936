#include <random>
#include <string>
#include <vector>

#include "fixture.hpp"

namespace stage_memory_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

MemoryUse used(const topology::Cluster& cluster, const Job& job) {
  auto result = memory(the_catalog(), cluster, job);
  if (!result) FAIL(render(result.error()));
  return *result;
}

/// Four layers of 12 * 1024^2 GEMM parameters and 2 * 1024 of norms, vocabulary 32,000.
Job small_gpt() {
  Job job;
  job.model.name = "small";
  job.model.layers = 4;
  job.model.hidden = 1024;
  job.model.ffn = 4096;
  job.model.heads = job.model.kv_heads = 16;
  job.model.head_dim = 64;
  job.model.vocab = 32000;
  job.model.gated_mlp = false;
  job.layout.pp = 2;
  job.layout.dp = 4;
  job.seq_len = 1024;
  job.micro_batch = 2;
  job.global_batch = 64;
  return job;
}

constexpr double layer_parameters = 12.0 * 1024 * 1024 + 2.0 * 1024;
constexpr double vocabulary_parameters = 32000.0 * 1024;

}  // namespace

TEST_CASE("model states are 6 bytes a parameter and 12 shared among data-parallel ranks") {
  const MemoryUse use = used(cluster_of("p5.48xlarge", 1), small_gpt());
  REQUIRE(use.stages.size() == 2);
  const double parameters = 2.0 * layer_parameters + vocabulary_parameters;
  for (const StageMemory& stage : use.stages) {
    CHECK(stage.weights.value() == Approx(2.0 * parameters));
    CHECK(stage.gradients.value() == Approx(4.0 * parameters));
    CHECK(stage.optimizer.value() == Approx(12.0 / 4.0 * parameters));
  }
}

TEST_CASE("states are kept as the job says") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 1);
  Job job = small_gpt();
  const double parameters = 2.0 * layer_parameters + vocabulary_parameters;
  // bf16 gradients and moments, as DeepSeek-V3: 2 + 2 bytes and (4 + 4) / 4.
  job.states.gradient_bytes = 2.0;
  job.states.moments_bytes = 4.0;
  const StageMemory lean = used(cluster, job).stages.front();
  CHECK(lean.weights.value() == Approx(2.0 * parameters));
  CHECK(lean.gradients.value() == Approx(2.0 * parameters));
  CHECK(lean.optimizer.value() == Approx(8.0 / 4.0 * parameters));
  // Pure bf16: no master copy.
  job.states.master_bytes = 0.0;
  CHECK(used(cluster, job).stages.front().optimizer.value() == Approx(4.0 / 4.0 * parameters));
  // Weights of layers in 8 bits, embedding and head in 16; with a transposed copy nothing is saved.
  job.precision = model::Precision::fp8;
  job.states.narrow_weights = true;
  CHECK(used(cluster, job).stages.front().weights.value() ==
        Approx(2.0 * layer_parameters + 2.0 * vocabulary_parameters));
  job.wide_layers.first = 1;  // of the two on the first stage
  CHECK(used(cluster, job).stages.front().weights.value() ==
        Approx((1.0 + 2.0) * layer_parameters + 2.0 * vocabulary_parameters));
  job.states.transposed_copy = true;
  CHECK(used(cluster, job).stages.front().weights.value() == Approx(2.0 * parameters));
  job.precision = model::Precision::bf16;
  CHECK(memory(the_catalog(), cluster, job).error().front().place.pointer ==
        "/workload/states/weights");
}

TEST_CASE("a layer left in 16 bits keeps its GEMM inputs in two bytes") {
  // Inputs of QKV, output projection and first MLP matrix are h wide, of the second 4 h: 7 h bytes
  // a token more than in FP8, for the two micro-batches that stage 0 of 2 has in flight.
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 1);
  Job job = small_gpt();
  job.precision = model::Precision::fp8;
  const double narrow = used(cluster, job).stages.front().activations.value();
  job.wide_layers.first = 1;
  const MemoryUse wide = used(cluster, job);
  CHECK(wide.stages.front().activations.value() - narrow == Approx(2.0 * 7.0 * 1024 * 1024 * 2.0));
  job.wide_layers = {0, 4};
  const MemoryUse all = used(cluster, job);
  job.precision = model::Precision::bf16;
  CHECK(all.stages.back().activations.value() ==
        Approx(used(cluster, job).stages.back().activations.value()));
}

TEST_CASE("plain data parallelism keeps the whole optimizer") {
  Job job = small_gpt();
  job.sharding = Sharding::none;
  const StageMemory stage = used(cluster_of("p5.48xlarge", 1), job).stages.front();
  CHECK(stage.optimizer.value() == Approx(12.0 * (2.0 * layer_parameters + vocabulary_parameters)));
}

TEST_CASE("1F1B keeps p - i micro-batches of activations on stage i") {
  const MemoryUse use = used(cluster_of("p5.48xlarge", 1), small_gpt());
  CHECK(use.stages[0].activations / use.stages[1].activations == Approx(2.0));
  // Without dropout and with fused attention, a two-matrix layer keeps per token and hidden element
  // 2 norm inputs, 2 linear inputs, q k v, attention output, and 4 + 4 of the MLP, 2 bytes each.
  const double layer = 2.0 * 1024 * 1024 * 2.0 * (2 + 2 + 3 + 1 + 8);
  CHECK(use.stages[1].activations.value() == Approx(2.0 * layer));
}

TEST_CASE("FP8 GEMMs keep their inputs in one byte") {
  Job job = small_gpt();
  job.precision = model::Precision::fp8;
  const MemoryUse use = used(cluster_of("p5.48xlarge", 1), job);
  // Bytes a token and hidden element: norm inputs 4, linear inputs 2, q k v 6, attention output 1,
  // MLP before its activation 8 and after it 4.
  const double layer = 2.0 * 1024 * 1024 * (4 + 2 + 6 + 1 + 8 + 4);
  CHECK(use.stages[1].activations.value() == Approx(2.0 * layer));
}

TEST_CASE("logits are on the last stage, in bf16 and fp32") {
  const MemoryUse use = used(cluster_of("p5.48xlarge", 1), small_gpt());
  CHECK(use.stages[0].logits.value() == 0.0);
  CHECK(use.stages[1].logits.value() == Approx(2.0 * 1024 * 32000 * 6));
}

TEST_CASE("full recomputation keeps layer inputs and one layer's working set") {
  Job job = small_gpt();
  job.recompute = Recompute::full;
  const StageMemory stage = used(cluster_of("p5.48xlarge", 1), job).stages[1];
  const double input = 2.0 * 1024 * 1024 * 2.0;
  CHECK(stage.activations.value() == Approx(2.0 * input + 16.0 * input));
}

TEST_CASE("the terms of a stage sum to its total") {
  for (const StageMemory& m : used(cluster_of("p5.48xlarge", 1), small_gpt()).stages) {
    CHECK((m.weights + m.gradients + m.optimizer + m.activations + m.logits + m.context +
           m.buffers + m.fragmentation)
              .value() == Approx(m.total().value()));
  }
}

TEST_CASE("memory falls with tensor and with pipeline parallelism") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout.vp = 1;
  const auto peak = [&](int tp, int pp) {
    job.layout.tp = tp;
    job.layout.pp = pp;
    job.layout.dp = 64 / (tp * pp);
    job.global_batch = static_cast<std::int64_t>(job.layout.dp) * 16;
    return used(cluster, job).peak();
  };
  for (const int pp : {1, 2, 4, 8}) {
    for (const int tp : {1, 2, 4}) {
      CHECK(peak(2 * tp, pp).total() < peak(tp, pp).total());
      if (pp == 8) continue;
      const StageMemory deep = peak(tp, 2 * pp), shallow = peak(tp, pp);
      CHECK(deep.weights < shallow.weights);
      CHECK(deep.weights + deep.gradients < shallow.weights + shallow.gradients);
    }
  }
}

TEST_CASE("what does not fit names the stage and its largest term") {
  Job job = llama_70b(8);
  job.layout = {8, 1, 1, 1, 1, true};
  job.global_batch = 8;
  const MemoryUse use = used(cluster_of("p5.48xlarge", 1), job);
  CHECK_FALSE(use.fits);
  CHECK(use.does_not_fit.find("stage 0") != std::string::npos);
  CHECK(use.does_not_fit.find("optimizer states") != std::string::npos);
}

TEST_CASE("a job that fits needs no change") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {8, 4, 1, 1, 2, true};
  REQUIRE(used(cluster, job).fits);
  CHECK(used(cluster, job).does_not_fit.empty());
  CHECK(least_change_that_fits(the_catalog(), cluster, job).empty());
}

TEST_CASE("recomputation is the first change tried") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {8, 4, 1, 1, 2, true};
  job.micro_batch = 4;
  job.global_batch = 64;
  REQUIRE_FALSE(used(cluster, job).fits);
  const std::string change = least_change_that_fits(the_catalog(), cluster, job);
  CHECK(change.find("recompute full") == 0);
  job.recompute = Recompute::full;
  CHECK(used(cluster, job).fits);
}

TEST_CASE("too large a replica is split further") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {1, 1, 1, 1, 64, false};
  job.global_batch = 64;
  const std::string change = least_change_that_fits(the_catalog(), cluster, job);
  CHECK(change.find("tp ") == 0);
  CHECK(change.find("instead of tp 1 x pp 1 (dp 64)") != std::string::npos);
}

TEST_CASE("what no layout of the cluster holds has no change") {
  Job job = llama_70b(8);
  job.layout = {8, 1, 1, 1, 1, true};
  job.global_batch = 8;
  CHECK(least_change_that_fits(the_catalog(), cluster_of("p5.48xlarge", 1), job).empty());
}

}  // namespace stage_memory_test
