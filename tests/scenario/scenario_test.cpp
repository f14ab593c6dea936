#include "flowplan/scenario/scenario.hpp"

#include <filesystem>
#include <fstream>

#include "catalog_for_tests.hpp"

namespace scenario_test {

using namespace flowplan;

namespace {

const std::string smallest = R"({
  "cluster": {"instance": "p5.48xlarge", "nodes": 4},
  "workload": {"kind": "pretraining", "model": "llama3-70b"}
})";

/// The smallest scenario with one more member in its workload.
std::string with_workload(const std::string& member) {
  return R"({
  "cluster": {"instance": "p5.48xlarge", "nodes": 4},
  "workload": {"kind": "pretraining", "model": "llama3-70b",
    )" + member +
         "}\n}";
}

std::string with_check(const std::string& check) {
  return R"({
  "cluster": {"instance": "p5.48xlarge", "nodes": 4},
  "workload": {"kind": "pretraining", "model": "llama3-70b"},
  "checks": [
    )" + check +
         "]\n}";
}

}  // namespace

TEST_CASE("the smallest scenario names instance, count, kind and model") {
  const auto scenario = must_read(smallest);
  CHECK(scenario.cluster.instance->id == "p5.48xlarge");
  CHECK(scenario.cluster.count == 4);
  CHECK(scenario.workload.model.layers == 80);
  CHECK(!scenario.workload.tokens);
  CHECK(!scenario.workload.tp);
  CHECK(scenario.checks.empty());
}

TEST_CASE("count and nodes mean the same") {
  const auto scenario = must_read(R"({"cluster": {"instance": "p5", "count": 4},
    "workload": {"kind": "pretraining", "model": "llama3-70b"}})");
  CHECK(scenario.cluster.count == 4);
}

TEST_CASE("comments are allowed") {
  CHECK(read_text_scenario("// why\n" + smallest));
}

TEST_CASE("tokens are a number or spelt with T") {
  CHECK(must_read(with_workload("\"tokens\": \"15T\"")).workload.tokens == 15e12);
  CHECK(must_read(with_workload("\"tokens\": 2e12")).workload.tokens == 2e12);
}

TEST_CASE("a token count that is no count is refused at its place") {
  const auto faults = faults_of(with_workload("\"tokens\": \"many\""));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Code::bad_quantity);
  CHECK(faults[0].place.pointer == "/workload/tokens");
  CHECK(faults[0].place.line == 4);
}

TEST_CASE("the dimensions of a model may stand in the scenario") {
  const auto model = must_read(R"({"cluster": {"instance": "p5", "count": 1},
    "workload": {"kind": "pretraining", "model":
      {"name": "small", "layers": 24, "hidden": 1024, "heads": 16, "vocab": 50304}}})")
                         .workload.model;
  CHECK(model.name == "small");
  CHECK(model.head_dim == 64);
  CHECK(model.kv_heads == 16);
  CHECK(model.ffn == 4096);
  CHECK(!model.gated_mlp);
}

TEST_CASE("a path is read as a Hugging Face config, relative to the scenario") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "flowplan_scenario_test";
  fs::create_directories(folder);
  std::ofstream(folder / "small.config.json")
      << R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "num_hidden_layers": 2,
             "hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 4,
             "num_key_value_heads": 2, "vocab_size": 1000, "hidden_act": "silu",
             "max_position_embeddings": 2048, "tie_word_embeddings": false})";
  std::ofstream(folder / "scenario.json") << R"({"cluster": {"instance": "p5", "count": 1},
             "workload": {"kind": "pretraining", "model": "small.config.json"}})";
  const auto document = JsonDocument::read((folder / "scenario.json").string());
  const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  const auto scenario = scenario::read(real_catalog(), document.value(), schema.value());
  REQUIRE(scenario);
  CHECK(scenario->workload.model.layers == 2);
  CHECK(scenario->workload.model.kv_heads == 2);
  // Or the folder that holds it, as Hugging Face lays it out.
  fs::create_directories(folder / "small");
  fs::copy_file(folder / "small.config.json", folder / "small" / "config.json");
  std::ofstream(folder / "scenario.json") << R"({"cluster": {"instance": "p5", "count": 1},
             "workload": {"kind": "pretraining", "model": "small"}})";
  const auto again = JsonDocument::read((folder / "scenario.json").string());
  const auto of_folder = scenario::read(real_catalog(), again.value(), schema.value());
  REQUIRE(of_folder);
  CHECK(of_folder->workload.model.name == "small");
  CHECK(of_folder->workload.model.hidden == 256);
  fs::remove_all(folder);
}

TEST_CASE("an index beside the config is held against it, and a bad one refused at its place") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "flowplan_scenario_index_test" / "tiny";
  fs::create_directories(folder);
  std::ofstream(folder / "config.json")
      << R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
             "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 100,
             "torch_dtype": "bfloat16"})";
  std::ofstream(folder / "scenario.json") << R"({"cluster": {"instance": "p5", "count": 1},
             "workload": {"kind": "pretraining", "model": "config.json"}})";
  const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  const auto read_with = [&](const std::string& index) {
    std::ofstream(folder / "model.safetensors.index.json") << index;
    const auto document = JsonDocument::read((folder / "scenario.json").string());
    return scenario::read(real_catalog(), document.value(), schema.value());
  };
  // Two matrices of 100 x 64; two layers of 4 x 64 x 64 + 3 x 64 x 256 + 2 x 64; a norm: 144,192.
  const auto equal = read_with(R"({"metadata": {"total_size": 288384}, "weight_map": {}})");
  REQUIRE(equal);
  CHECK(equal->workload.model.name == "tiny");
  REQUIRE(equal->workload.checkpoint);
  CHECK(equal->workload.checkpoint->agreement == model::CheckpointCheck::Agreement::equal);

  const auto bad = read_with(R"({"metadata": {"total_size": "much"}, "weight_map": {}})");
  REQUIRE_FALSE(bad);
  REQUIRE(bad.error().size() == 1);
  CHECK(bad.error()[0].code == Code::wrong_type);
  CHECK(bad.error()[0].place.pointer == "/metadata/total_size");
  CHECK_THAT(bad.error()[0].place.file, Catch::EndsWith("model.safetensors.index.json"));
  const auto cut = read_with("{");
  REQUIRE_FALSE(cut);
  CHECK(cut.error()[0].code == Code::json_syntax);
  fs::remove_all(folder.parent_path());
}

TEST_CASE("a config that is not there is refused at the model") {
  const auto faults = faults_of(R"({"cluster": {"instance": "p5", "count": 1},
    "workload": {"kind": "pretraining", "model": "nowhere/config.json"}})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Code::file_not_found);
  CHECK(faults[0].place.pointer == "/workload/model");
}

TEST_CASE("a misspelt instance is refused with a suggestion, at its place") {
  const auto faults = faults_of(R"({
  "cluster": {"instance": "p5.48xlrage", "nodes": 4},
  "workload": {"kind": "pretraining", "model": "llama3-70b"}
})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Code::unknown_name);
  CHECK(faults[0].hint.find("p5.48xlarge") != std::string::npos);
  CHECK(faults[0].place.line == 2);
  CHECK(faults[0].place.column == 27);
  CHECK(faults[0].place.pointer == "/cluster/instance");
}

TEST_CASE("all wrong names are reported in one go") {
  const auto faults =
      faults_of(R"({"cluster": {"instance": "p99", "nodes": 4, "purchase": "barter"},
    "workload": {"kind": "pretraining", "model": "lama9", "framework": "nothing"}})");
  CHECK(faults.size() == 4);
}

TEST_CASE("counts that disagree are refused, none at all too") {
  CHECK(faults_of(R"({"cluster": {"instance": "p5", "count": 4, "nodes": 5},
    "workload": {"kind": "pretraining", "model": "llama3-70b"}})")[0]
            .code == Code::bad_cluster);
  const auto none = faults_of(R"({"cluster": {"instance": "p5"},
    "workload": {"kind": "pretraining", "model": "llama3-70b"}})");
  CHECK(none[0].code == Code::missing_key);
  CHECK(none[0].place.pointer == "/cluster");
}

TEST_CASE("what the schema refuses has a code and a place") {
  struct Case {
    std::string text;
    Code code;
    std::string pointer;
  };
  const auto one = GENERATE(values<Case>({
      {with_workload("\"micro_bacth\": 1"), Code::unknown_key, "/workload/micro_bacth"},
      {with_workload("\"micro_batch\": \"one\""), Code::wrong_type, "/workload/micro_batch"},
      {with_workload("\"micro_batch\": 0"), Code::value_out_of_range, "/workload/micro_batch"},
      {with_workload("\"global_batch\": -8"), Code::value_out_of_range, "/workload/global_batch"},
      {with_workload("\"precision\": \"bf61\""), Code::value_not_allowed, "/workload/precision"},
      {R"({"workload": {"kind": "pretraining", "model": "llama3-70b"}})", Code::missing_key, ""},
  }));
  const auto faults = faults_of(one.text);
  INFO(render(faults));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == one.code);
  CHECK(faults[0].place.pointer == one.pointer);
  CHECK(faults[0].place.line >= 1);
}

TEST_CASE("a check states a bound or an expectation, not both and not neither") {
  CHECK(must_read(with_check(R"({"metric": "training.mfu", "min": 0.3})")).checks.size() == 1);
  CHECK(must_read(with_check(R"({"expect": "infeasible", "binding": "memory"})"))
            .expects_infeasible());
  CHECK(faults_of(with_check(R"({"metric": "training.mfu"})"))[0].code == Code::bad_check);
  CHECK(faults_of(with_check(R"({"min": 1})"))[0].code == Code::bad_check);
  CHECK(faults_of(with_check("{}"))[0].code == Code::bad_check);
  for (const char* odd : {R"({"metric": "training.mfu", "min": 0.1, "max_ratio": 2})",
                          R"({"metric": "training.mfu", "min": 0.1, "relative_to": "base"})",
                          R"({"metric": "training.mfu", "min_ratio": 2, "max_ratio": 1})"})
    CHECK(faults_of(with_check(odd))[0].code == Code::bad_check);
  CHECK(faults_of(with_check(R"({"expect": "infeasible", "max": 1})"))[0].code == Code::bad_check);
  CHECK(faults_of(with_check(R"({"metric": "training.mfu", "min": 2, "max": 1})"))[0].code ==
        Code::bad_check);
  CHECK(faults_of(with_check(R"({"metric": "training.mfu", "min": 0.1, "binding": "memory"})"))[0]
            .code == Code::bad_check);
}

TEST_CASE("a check of an unknown metric names the nearest one") {
  const auto faults = faults_of(with_check(R"({"metric": "training.mfo", "min": 0.3})"));
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Code::unknown_metric);
  CHECK(faults[0].hint == "did you mean `training.mfu`?");
  CHECK(faults[0].place.pointer == "/checks/0/metric");
  CHECK(faults[0].place.line == 5);
}

TEST_CASE("heads that do not divide the width are refused") {
  const auto faults = faults_of(R"({"cluster": {"instance": "p5", "count": 1},
    "workload": {"kind": "pretraining", "model":
      {"layers": 24, "hidden": 1000, "heads": 16, "vocab": 50304}}})");
  REQUIRE(faults.size() == 1);
  CHECK(faults[0].code == Code::not_divisible);
  CHECK(faults[0].place.pointer == "/workload/model/heads");
}

}  // namespace scenario_test
