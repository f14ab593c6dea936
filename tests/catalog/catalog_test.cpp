#include "flowplan/catalog/catalog.hpp"

#include <chrono>
#include <set>

#include "support.hpp"

namespace flowplan::catalog::catalog_test {

namespace {

std::string model_named(const std::string& name) {
  const auto found = our_catalog().transformer(name);
  return found ? (*found)->name : code_name(found.error().front().code);
}

}  // namespace

TEST_CASE("instances are found as people type them") {
  CHECK(instance("p5").id == "p5.48xlarge");
  CHECK(instance("P5.48xlarge").id == "p5.48xlarge");
  CHECK(instance("p5 48xlarge").id == "p5.48xlarge");
  CHECK(instance("p6_b200").id == "p6-b200.48xlarge");
  CHECK(instance("p6e-gb200x72").id == "u-p6e-gb200x72");
  CHECK(instance("eos").id == "dgx-h100");
}

TEST_CASE("models are found by their ids, aliases and hub names") {
  CHECK(model_named("llama3-70b") == "llama3-70b");
  CHECK(model_named("llama-3.1-70b") == "llama3.1-70b");
  CHECK(model_named("meta-llama/Llama-3.1-70B") == "llama3.1-70b");
  CHECK(model_named("meta-llama/Meta-Llama-3.1-70B-Instruct") == "llama3.1-70b");
  CHECK(model_named("LLAMA3.1_405B") == "llama3.1-405b");
  CHECK(model_named("mistralai/Mixtral-8x7B-Instruct-v0.1") == "mixtral-8x7b");
  CHECK(model_named("Qwen/Qwen3-235B-A22B-Instruct-2507") == "qwen3-235b-a22b");
  CHECK(model_named("GPT3-175B") == "gpt3-175b");
  CHECK(model_named("DeepSeekV3") == "deepseek-v3");
  CHECK(model_named("GPT h1024 L12") == "gpt-h1024-l12");
}

TEST_CASE("ambiguous names are refused with the choices") {
  for (const char* name : {"gb200", "p6", "p4", "p6e", "nvl72"}) {
    const auto found = our_catalog().instance(name);
    INFO(name);
    REQUIRE_FALSE(found.has_value());
    CHECK(found.error().front().code == Code::ambiguous_name);
    CHECK_THAT(found.error().front().hint, Catch::StartsWith("one of: "));
  }
  CHECK_THAT(our_catalog().instance("p6").error().front().hint,
             Catch::Contains("p6-b200.48xlarge") && Catch::Contains("p6-b300.48xlarge"));
  CHECK(our_catalog().gpu("A100").error().front().code == Code::ambiguous_name);
  CHECK_THAT(our_catalog().transformer("llama-70b").error().front().hint,
             Catch::Contains("llama2-70b, llama3-70b, llama3.1-70b"));
}

TEST_CASE("an instance asked for by its GPU is refused with the instances that have it") {
  const auto h100 = our_catalog().instance("H100");
  REQUIRE_FALSE(h100.has_value());
  CHECK(h100.error().front().code == Code::ambiguous_name);
  CHECK_THAT(h100.error().front().hint, Catch::Contains("p5.4xlarge, p5.48xlarge"));
  CHECK_THAT(h100.error().front().hint, !Catch::Contains("dgx-h100"));
  // No EC2 instance has it, so the reference system is the answer.
  CHECK_THAT(our_catalog().instance("H800").error().front().hint, Catch::Contains("h800-node"));
}

TEST_CASE("unknown names are refused with the nearest one") {
  const auto typo = our_catalog().instance("p5.49xlarge");
  REQUIRE_FALSE(typo.has_value());
  CHECK(typo.error().front().code == Code::unknown_name);
  CHECK_THAT(typo.error().front().hint, Catch::Contains("did you mean"));
  CHECK(our_catalog().instance("").error().front().code == Code::unknown_name);
  CHECK(our_catalog().instance("...").error().front().code == Code::unknown_name);
  CHECK_THAT(our_catalog().transformer("lama3-70b").error().front().hint,
             Catch::Contains("llama3-70b"));
  CHECK(our_catalog().constants("kernels-h10").error().front().code == Code::unknown_name);
}

TEST_CASE("models of other architectures are listed but refused with the reason") {
  const auto unnamed = our_catalog().transformer("nemotron-3-ultra-550b-a55b");
  REQUIRE_FALSE(unnamed.has_value());
  CHECK(unnamed.error().front().code == Code::unsupported_feature);
  CHECK_THAT(unnamed.error().front().message, Catch::Contains("hybrid_override_pattern"));
  CHECK(our_catalog().model_entry("nemotron-3-ultra-550b-a55b") != nullptr);
}

TEST_CASE("every model has a source and dimensions that make sense") {
  CHECK(our_catalog().transformers().size() >= 50);
  for (const model::Transformer& m : our_catalog().transformers()) {
    INFO(m.name);
    const ModelEntry* entry = our_catalog().model_entry(m.name);
    REQUIRE(entry != nullptr);
    CHECK_FALSE(entry->source.text.empty());
    const model::Parameters p = model::count_parameters(m);
    CHECK(p.active <= p.total);
    CHECK(p.total > 1e8);
    CHECK(p.total < 2e12);
  }
}

TEST_CASE("every alias means something and every id is found by itself") {
  std::set<std::string> ids;
  for (const Instance& i : our_catalog().instances()) {
    CHECK(ids.insert(i.id).second);
    CHECK(instance(i.id).id == i.id);
  }
  for (const model::Transformer& m : our_catalog().transformers())
    CHECK(model_named(m.name) == m.name);
  for (const Gpu& g : our_catalog().gpus())
    CHECK(gpu(g.id).id == g.id);
}

TEST_CASE("the version names the newest date and changes with the data") {
  const std::string& version = our_catalog().version();
  CHECK_THAT(version, Catch::StartsWith("20") && Catch::Contains("/"));
  const auto other = with_overlay(R"({"as_of": "2099-01"})");
  REQUIRE(other.has_value());
  CHECK_THAT(other->version(), Catch::StartsWith("2099-01/"));
  CHECK(other->version().substr(8) != version.substr(version.find('/') + 1));
  CHECK(Catalog::load(catalog_directory)->version() == version);
}

TEST_CASE("a folder without a catalog is refused") {
  const TemporaryFolder folder;
  for (const std::string& path : {folder.path().string(), std::string("/no/such/folder")}) {
    const auto loaded = Catalog::load(path);
    REQUIRE_FALSE(loaded.has_value());
    CHECK(loaded.error().front().code == Code::catalog_not_found);
  }
}

TEST_CASE("faults of a catalog's own files are all reported with their places") {
  const TemporaryFolder folder;
  folder.write("gpus.json", R"({
  "sources": {"s": "somewhere, 2026"},
  "gpus": [
    {"id": "G", "generation": "future", "calibration": "k", "figures": {
      "hbm_gbytes_per_s": [1000, "t"],
      "dense_tflops.bf16": "much"}}
  ]
})");
  folder.write("instances.json", R"({"instances": {"id": "not a list"}})");
  folder.write("models.json", "{");
  folder.write("aliases.json", R"({"aliases": {"gpus": {"g": "H"}}})");
  const auto loaded = Catalog::load(folder.path().string());
  REQUIRE_FALSE(loaded.has_value());
  const std::string report = render(loaded.error());
  INFO(report);
  CHECK_THAT(report, Catch::Contains("gpus.json:4:") && Catch::Contains("`future`"));
  CHECK_THAT(report, Catch::Contains("gpus.json:5:") && Catch::Contains("source `t`"));
  CHECK_THAT(report, Catch::Contains("gpus.json:6:") && Catch::Contains("expected a figure"));
  CHECK_THAT(report, Catch::Contains("`nvlink_gbytes_per_s_per_direction` is missing"));
  CHECK_THAT(report, Catch::Contains("instances.json:1:") && Catch::Contains("expected a list"));
  CHECK_THAT(report, Catch::Contains("models.json:1:") && Catch::Contains("FP010"));
  CHECK_THAT(report, Catch::Contains("unknown entry `H`"));
  CHECK_THAT(report, Catch::Contains("purchase.json") && Catch::Contains("prices.csv"));
}

}  // namespace flowplan::catalog::catalog_test
