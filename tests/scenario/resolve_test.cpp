#include "flowplan/scenario/resolve.hpp"

#include <algorithm>
#include <map>

#include "catalog_for_tests.hpp"

namespace resolve_test {

using namespace flowplan;

namespace {

std::string llama_on_p5(int nodes, const std::string& workload = "") {
  return R"({"cluster": {"instance": "p5.48xlarge", "nodes": )" + std::to_string(nodes) +
         R"(}, "workload": {"kind": "pretraining", "model": "llama3-70b")" + workload + "}}";
}

scenario::Resolved must_resolve(const std::string& text) {
  auto resolved = scenario::resolve(real_catalog(), must_read(text));
  INFO((resolved ? "" : render(resolved.error())));
  REQUIRE(resolved);
  return std::move(*resolved);
}

Diagnostics resolve_faults(const std::string& text) {
  const auto resolved = scenario::resolve(real_catalog(), must_read(text));
  REQUIRE(!resolved);
  return resolved.error();
}

std::map<std::string, std::string> defaults(const scenario::Resolved& resolved) {
  std::map<std::string, std::string> values;
  for (const Defaulted& one : resolved.defaulted)
    values[one.path] = one.value;
  return values;
}

}  // namespace

TEST_CASE("everything left out is defaulted, listed and reasoned") {
  const auto resolved = must_resolve(llama_on_p5(64));
  const auto listed = defaults(resolved);
  for (const char* path :
       {"cluster.region", "workload.seq_len", "workload.precision", "workload.micro_batch",
        "workload.sharding", "workload.framework", "workload.recompute", "workload.global_batch",
        "workload.parallelism.tp", "workload.parallelism.pp", "workload.parallelism.vp",
        "workload.parallelism.cp", "workload.parallelism.dp",
        "workload.parallelism.sequence_parallel"}) {
    INFO(path);
    CHECK(listed.count(path) == 1);
  }
  for (const Defaulted& one : resolved.defaulted) {
    INFO(one.path);
    CHECK(!one.value.empty());
    CHECK(!one.reason.empty());
  }
}

TEST_CASE("a default layout uses all GPUs, fits, and is the smallest that does") {
  const auto resolved = must_resolve(llama_on_p5(64));
  const auto& job = resolved.job;
  const auto& layout = job.layout;
  CHECK(layout.tp * layout.pp * layout.cp * layout.dp == 512);
  const auto memory = training::memory(real_catalog(), resolved.cluster, job);
  REQUIRE(memory);
  CHECK(memory->peak().total() <= memory->hbm * 0.95);

  // One step down in the order of the rule, with the most that the rule allows: does not fit.
  if (layout.pp > 1 || layout.tp > 1) {
    auto smaller = job;
    (layout.pp > 1 ? smaller.layout.pp : smaller.layout.tp) /= 2;
    smaller.layout.dp *= 2;
    smaller.recompute = training::Recompute::selective;
    const auto less = training::memory(real_catalog(), resolved.cluster, smaller);
    CHECK((!less || less->peak().total() > less->hbm * 0.95));
  }
}

TEST_CASE("stages become uneven where no pipeline of even ones fits") {
  // 61 layers are prime, and 63 = 3 x 3 x 7 does not go into a power of two.
  const auto deepseek = must_resolve(R"({"cluster": {"instance": "p5.48xlarge", "nodes": 256},
    "workload": {"kind": "pretraining", "model": "deepseek-v3"}})");
  CHECK(deepseek.job.layout.uneven_stages);
  CHECK(deepseek.job.layout.pp > 1);
  CHECK(training::memory(real_catalog(), deepseek.cluster, deepseek.job)->fits);
  CHECK(defaults(deepseek)["workload.parallelism.uneven_stages"] == "true");

  const auto llama = must_resolve(llama_on_p5(64));
  CHECK_FALSE(llama.job.layout.uneven_stages);
  CHECK(defaults(llama).count("workload.parallelism.uneven_stages") == 0);
  const auto stated = resolve_faults(llama_on_p5(64, R"(, "parallelism": {"tp": 8, "pp": 32})"));
  CHECK(stated[0].code == Code::not_divisible);  // what is stated is not made uneven
}

TEST_CASE("the default batch is about 4 Mi tokens in whole micro-batches") {
  // 2^22 tokens / 8192 = 512 sequences; 4 is not far from any multiple of dp here.
  const auto job = must_resolve(llama_on_p5(64, R"(, "parallelism": {"tp": 8, "pp": 4})")).job;
  CHECK(job.layout.dp == 16);
  CHECK(job.global_batch == 512);
}

TEST_CASE("the default batch is whole rounds of an interleaved pipeline") {
  // dp = 3 x 8 / (1 x 2) = 12, unit = 1 x 12 x 2 = 24; 512 / 24 = 21.3, so 21 x 24 = 504.
  const auto job = must_resolve(R"({"cluster": {"instance": "p5.48xlarge", "nodes": 3},
    "workload": {"kind": "pretraining", "model": "llama3.1-8b",
      "parallelism": {"tp": 1, "pp": 2, "vp": 2}}})")
                       .job;
  CHECK(job.layout.dp == 12);
  CHECK(job.global_batch == 504);
}

TEST_CASE("what is stated stays as stated and is not listed as a default") {
  const auto resolved = must_resolve(llama_on_p5(
      64, R"(, "micro_batch": 2, "global_batch": 1024, "recompute": "full", "seq_len": 4096,
             "parallelism": {"tp": 8, "pp": 2})"));
  const auto& job = resolved.job;
  CHECK(job.micro_batch == 2);
  CHECK(job.global_batch == 1024);
  CHECK(job.recompute == training::Recompute::full);
  CHECK(job.seq_len == 4096);
  CHECK(job.layout.tp == 8);
  CHECK(job.layout.pp == 2);
  const auto listed = defaults(resolved);
  CHECK(listed.count("workload.micro_batch") == 0);
  CHECK(listed.count("workload.parallelism.tp") == 0);
  CHECK(listed.at("workload.parallelism.dp") == "32");
}

TEST_CASE("a short context limits the default sequence") {
  const auto resolved = must_resolve(R"({"cluster": {"instance": "p5.48xlarge", "nodes": 1},
    "workload": {"kind": "pretraining", "model": {"layers": 8, "hidden": 1024, "heads": 16,
      "vocab": 32000, "context": 2048}}})");
  CHECK(resolved.job.seq_len == 2048);
}

TEST_CASE("GPUs that the layout does not use are an error with its place") {
  const auto faults =
      resolve_faults(llama_on_p5(64, R"(, "parallelism": {"tp": 8, "pp": 4, "dp": 8})"));
  REQUIRE(!faults.empty());
  CHECK(faults[0].code == Code::layout_mismatch);
  CHECK(faults[0].place.file == "scenario.json");
  CHECK(faults[0].place.line >= 1);
}

TEST_CASE("degrees that cannot be are errors") {
  SECTION("TP does not divide the heads") {
    const auto faults = resolve_faults(llama_on_p5(3, R"(, "parallelism": {"tp": 3, "pp": 1})"));
    const bool found = std::any_of(faults.begin(), faults.end(), [](const Diagnostic& d) {
      return d.code == Code::not_divisible && d.place.pointer == "/workload/parallelism/tp";
    });
    INFO(render(faults));
    CHECK(found);
  }
  SECTION("more stages than layers") {
    const auto faults =
        resolve_faults(llama_on_p5(128, R"(, "parallelism": {"tp": 1, "pp": 128})"));
    const bool found = std::any_of(faults.begin(), faults.end(), [](const Diagnostic& d) {
      return d.code == Code::layout_too_deep;
    });
    INFO(render(faults));
    CHECK(found);
  }
  SECTION("TP and PP that do not divide the GPUs") {
    CHECK(!resolve_faults(llama_on_p5(5, R"(, "parallelism": {"tp": 8, "pp": 2})")).empty());
  }
}

TEST_CASE("spare GPUs of an UltraServer do not take part") {
  const auto job = must_resolve(R"({"cluster": {"instance": "u-p6e-gb200x72", "count": 2},
    "workload": {"kind": "pretraining", "model": "llama3-70b",
      "placement": {"gpus_per_domain": 64}}})")
                       .job;
  CHECK(job.gpus == 128);
  CHECK(job.layout.tp * job.layout.pp * job.layout.cp * job.layout.dp == 128);
}

}  // namespace resolve_test
