#include <algorithm>
#include <string>

#include "fixture.hpp"

namespace check_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

const topology::Cluster& eight_p5() {
  static const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  return cluster;
}

/// The only diagnostic of a job; its pointer is checked by the caller.
Diagnostic fault(const Job& job) {
  const Diagnostics found = check(the_catalog(), eight_p5(), job);
  INFO(render(found));
  REQUIRE(found.size() == 1);
  CHECK_FALSE(estimate(the_catalog(), eight_p5(), job));
  CHECK_FALSE(memory(the_catalog(), eight_p5(), job));
  return found.front();
}

}  // namespace

TEST_CASE("a sound job has no faults") {
  CHECK(check(the_catalog(), eight_p5(), llama_70b(64)).empty());
}

TEST_CASE("degrees must multiply to the GPUs") {
  Job job = llama_70b(64);
  job.layout.dp = 3;
  job.global_batch = 48;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::layout_mismatch);
  CHECK(d.place.pointer == "/workload/parallelism");
  CHECK(d.message.find("= 48 GPUs; the cluster has 64") != std::string::npos);
  CHECK(d.hint == "dp 4 matches");
}

TEST_CASE("degrees, sizes and batches below one are named one by one") {
  Job job = llama_70b(64);
  job.layout.tp = 0;
  job.micro_batch = -1;
  const Diagnostics found = check(the_catalog(), eight_p5(), job);
  REQUIRE(found.size() == 2);
  CHECK(found[0].place.pointer == "/workload/parallelism/tp");
  CHECK(found[1].place.pointer == "/workload/micro_batch");
}

TEST_CASE("TP must divide the heads; the hint lists degrees that do") {
  Job job = llama_70b(64);
  job.model.heads = 60;
  job.model.kv_heads = 60;
  job.layout.tp = 8;
  job.layout.dp = 2;
  job.global_batch = 32;
  const Diagnostics found = check(the_catalog(), eight_p5(), job);
  REQUIRE_FALSE(found.empty());
  CHECK(found[0].code == Code::not_divisible);
  CHECK(found[0].place.pointer == "/workload/parallelism/tp");
  CHECK(found[0].message.find("does not divide the 60 attention heads") != std::string::npos);
  CHECK(found[0].hint == "tp may be 1, 2, 4");
}

TEST_CASE("the batch must divide; the hint names its neighbours") {
  Job job = llama_70b(64);
  job.global_batch = 66;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::not_divisible);
  CHECK(d.place.pointer == "/workload/global_batch");
  CHECK(d.hint == "nearest: 64, 68");
}

TEST_CASE("interleaving needs micro-batches in multiples of PP") {
  Job job = llama_70b(64);
  job.global_batch = 4 * 6;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::not_divisible);
  CHECK(d.hint == "nearest: 16, 32");
}

TEST_CASE("interleaving one stage is refused") {
  Job job = llama_70b(64);
  job.layout = {8, 1, 4, 1, 8, true};
  CHECK(fault(job).place.pointer == "/workload/parallelism/vp");
}

TEST_CASE("more stages than layers") {
  Job job = llama_70b(64);
  job.model.layers = 8;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::layout_too_deep);
  CHECK(d.place.pointer == "/workload/parallelism/pp");
  CHECK(d.hint == "pp may be 2");
}

TEST_CASE("stages that do not divide the layers") {
  Job job = llama_70b(64);
  job.model.layers = 75;
  job.layout.vp = 1;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::not_divisible);
  CHECK(d.hint.find("pp may be 1, 3, 5, 7") == 0);
}

TEST_CASE("what is not modelled is refused, not guessed") {
  Job sparse = llama_70b(64);
  sparse.model.sparse_attention = model::SparseAttention{2048, 64, 128};
  CHECK(fault(sparse).code == Code::unsupported_feature);
  CHECK(fault(sparse).place.pointer == "/workload/model");
  Job zero_bubble = llama_70b(64);
  zero_bubble.schedule = Schedule::zero_bubble_1;
  CHECK(fault(zero_bubble).code == Code::unsupported_feature);
  CHECK(fault(zero_bubble).place.pointer == "/workload/parallelism/schedule");
}

TEST_CASE("expert parallelism must divide experts and ranks") {
  Job dense = llama_70b(64);
  dense.layout.ep = 2;
  CHECK(fault(dense).code == Code::layout_mismatch);
  Job job = llama_70b(64);
  job.model.experts = model::Experts{8, 2, 4096};
  CHECK(check(the_catalog(), eight_p5(), job).empty());
  job.layout.ep = 3;
  const Diagnostics both = check(the_catalog(), eight_p5(), job);
  REQUIRE(both.size() == 2);  // neither the 8 experts nor the 16 ranks of a stage
  CHECK(both[0].hint == "ep may be 1, 2, 4, 8");
  job.layout.ep = 8;
  job.layout.etp = 4;
  CHECK(fault(job).place.pointer == "/workload/parallelism/ep");
}

TEST_CASE("context parallelism must divide the sequence, and heads where it exchanges them") {
  Job job = llama_70b(64);
  job.layout.cp = 2;
  job.layout.dp = 2;
  job.global_batch = 32;
  CHECK(check(the_catalog(), eight_p5(), job).empty());
  job.seq_len = 8188;
  CHECK(fault(job).place.pointer == "/workload/seq_len");
  job = llama_70b(64);
  job.layout = {4, 1, 1, 16, 1, true};
  job.global_batch = 16;
  CHECK(check(the_catalog(), eight_p5(), job).empty());
  job.model.heads = job.model.kv_heads = 24;
  job.model.head_dim = 342;
  job.context_parallel = ContextParallel::all_to_all;
  CHECK(fault(job).hint == "cp may be 1, 2, 3, 6");
}

TEST_CASE("a precision that the GPU lacks is refused with those it has") {
  Job job = llama_70b(64);
  job.precision = model::Precision::nvfp4;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::unsupported_feature);
  CHECK(d.place.pointer == "/workload/precision");
  CHECK(d.hint == "known: bf16, fp16, fp8");
}

TEST_CASE("a misspelt framework gets a suggestion") {
  Job job = llama_70b(64);
  job.framework = "megatron-cor";
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::unknown_name);
  CHECK(d.place.pointer == "/workload/framework");
  CHECK(d.hint.find("megatron-core") != std::string::npos);
}

TEST_CASE("more GPUs than the cluster has") {
  Job job = llama_70b(128);
  job.gpus = 128;
  CHECK(fault(job).code == Code::layout_mismatch);
}

TEST_CASE("linear attention is divided by tensor, not by context parallelism") {
  Job job = llama_70b(64);
  job.model.linear_attention = model::LinearAttention{60, 20, 16, 64, 128, 128, 4};
  CHECK(check(the_catalog(), eight_p5(), job).empty());
  job.model.linear_attention->key_heads = 2;
  CHECK(fault(job).place.pointer == "/workload/parallelism/tp");  // tp 4
  job.model.linear_attention->key_heads = 16;
  job.layout.cp = 2;
  job.layout.dp = 2;
  job.global_batch = 32;
  const Diagnostic d = fault(job);
  CHECK(d.code == Code::unsupported_feature);
  CHECK(d.place.pointer == "/workload/parallelism/cp");
}

}  // namespace check_test
