#include <algorithm>
#include <string>

#include "catalog_for_tests.hpp"
#include "flowplan/scenario/resolve.hpp"

namespace training_keys_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

std::string text_of(const std::string& model, const std::string& keys) {
  return R"({"cluster": {"instance": "p5.48xlarge", "count": 8}, "workload": {"kind": )"
         R"("pretraining", "model": ")" +
         model + "\"" + keys + "}}";
}

Job job_of(const std::string& model, const std::string& keys) {
  auto resolved = scenario::resolve(real_catalog(), must_read(text_of(model, keys)));
  INFO((resolved ? "" : render(resolved.error())));
  REQUIRE(resolved);
  return resolved->job;
}

}  // namespace

TEST_CASE("sharding, recomputation and adapters reach the job") {
  const Job job = job_of("llama3-70b", R"(, "sharding": "fsdp", "shard_group": 8,
      "recompute": "selective", "recompute_modules": ["mlp", "norms"], "offload_layers": 4,
      "lora": {"rank": 32, "targets": ["q_proj", "v_proj"]}, "parallelism": {"tp": 2, "pp": 1}, "global_batch": 64)");
  CHECK(job.sharding == Sharding::fsdp);
  CHECK(job.shard_group == 8);
  CHECK(job.recompute == Recompute::selective);
  CHECK((job.modules.mlp && job.modules.norms && !job.modules.core_attention));
  CHECK(job.offload_layers == 4);
  REQUIRE(job.adapters);
  CHECK(job.adapters->rank == 32);
  const AdapterTargets& targets = job.adapters->targets;
  CHECK((targets.query && targets.value && !targets.key && !targets.output && !targets.fused_qkv));
}

TEST_CASE("ZeRO's stages and HSDP are names of shardings") {
  const auto of = [](const char* name) {
    return job_of("llama3-8b", std::string(
                                   R"(, "global_batch": 64, "parallelism": {"tp": 2, "pp": 1},
        "sharding": ")") + name + "\"");
  };
  CHECK(of("zero1").sharding == Sharding::distributed_optimizer);
  CHECK(of("zero3").sharding == Sharding::fsdp);
  CHECK(of("zero3").shard_group == 0);
  const Job hybrid = of("hsdp");
  CHECK(hybrid.sharding == Sharding::fsdp);
  CHECK(hybrid.shard_group == 4);  // of the eight GPUs of a node two hold one copy
}

TEST_CASE("formats of states and layers left wide reach the job") {
  const Job job = job_of("llama3-8b", R"(, "precision": "fp8", "global_batch": 64,
      "parallelism": {"tp": 1, "pp": 1}, "wide_layers": {"first": 1, "last": 2},
      "states": {"weights": "fp8", "gradients": "bf16", "master": "none", "moments": "fp8"})");
  CHECK((job.wide_layers.first == 1 && job.wide_layers.last == 2));
  CHECK(job.states.gradient_bytes == 2.0);
  CHECK(job.states.master_bytes == 0.0);
  CHECK(job.states.moments_bytes == 2.0);                            // both
  CHECK((job.states.narrow_weights && job.states.transposed_copy));  // Hopper
  CHECK(job_of("llama3-8b", "").states.usual());
}

TEST_CASE("schedule and context parallelism reach the job") {
  const Job job = job_of("llama3-70b", R"(, "recompute": "full", "global_batch": 64,
      "parallelism": {"tp": 4, "pp": 4, "cp": 2, "schedule": "zb_h1", "async_tp": true,
                      "context_parallel": "all_gather"})");
  CHECK(job.schedule == Schedule::zero_bubble_1);
  CHECK(job.context_parallel == ContextParallel::all_gather);
  CHECK(job.async_tp);
}

TEST_CASE("experts: stated, or spread inside an NVLink domain") {
  const std::string layout = R"(, "recompute": "full", "global_batch": 64, "parallelism":
      {"tp": 1, "pp": 1)";
  const Job open = job_of("qwen3-30b-a3b", layout + "}");
  CHECK(open.layout.ep == 8);  // of 128 experts on domains of 8
  const Job stated = job_of("qwen3-30b-a3b", layout + R"(, "ep": 64}, "routing":
      {"imbalance": 1.2, "capacity": 1.5, "nodes_per_token": 4, "overlapped": true,
       "deduplicated": true, "cuda_graphs": true, "backend": "uccl"})");
  CHECK(stated.layout.ep == 64);
  CHECK(stated.routing.imbalance == 1.2);
  CHECK(stated.routing.capacity == 1.5);
  CHECK(stated.routing.nodes_per_token == 4);
  CHECK((stated.routing.overlapped && stated.routing.deduplicated && stated.routing.captured));
  CHECK(stated.routing.backend == collective::ExpertBackend::uccl);
}

TEST_CASE("a degree that does not divide is a fault with its place") {
  const auto resolved =
      scenario::resolve(real_catalog(), must_read(text_of("qwen3-30b-a3b", R"(, "recompute": "full",
      "global_batch": 64, "parallelism": {"tp": 1, "pp": 1, "ep": 3})")));
  REQUIRE(!resolved);
  const Diagnostics& faults = resolved.error();
  CHECK(std::any_of(faults.begin(), faults.end(), [](const Diagnostic& d) {
    return d.place.pointer == "/workload/parallelism/ep" && d.place.line > 0;
  }));
}

TEST_CASE("a name that is not one of a key's values is refused with them") {
  const Diagnostics faults = faults_of(text_of("llama3-70b", R"(, "sharding": "zero9")"));
  REQUIRE(faults.size() == 1);
  CHECK(faults.front().hint.find("zero2") != std::string::npos);
}

}  // namespace training_keys_test
