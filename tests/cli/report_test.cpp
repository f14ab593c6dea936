#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/json_schema.hpp"
#include "program.hpp"

namespace report_test {

namespace {

namespace fs = std::filesystem;

const std::string p5_run = "scenarios/pretrain-llama3-70b-p5.json";

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The schema that a result of that kind follows.
std::string schema_of(const std::string& kind) {
  return kind == "pretraining" ? "catalogs/schema/result.schema.json"
                               : "catalogs/schema/result-" + kind + ".schema.json";
}

void follows_its_schema(const std::string& result) {
  using namespace flowplan;
  const auto document = JsonDocument::parse(result, "result.json");
  REQUIRE(document);
  const std::string kind = document->root().at("kind");
  const auto schema = JsonDocument::read(schema_of(kind));
  REQUIRE(schema);
  const Diagnostics faults = validate(*document, *schema);
  INFO(render(faults));
  CHECK(faults.empty());
}

/// Every format asked for at once is what the saved result shows later.
void shows_the_same_again(std::vector<std::string> args) {
  const fs::path folder = fs::temp_directory_path() / "flowplan_report_test";
  fs::create_directories(folder);
  const std::string saved = (folder / "result.json").string();
  args.insert(args.end(), {"-o", "json=" + saved});
  const std::vector<std::string> formats{"text", "markdown", "csv", "html"};
  for (const std::string& format : formats)
    args.insert(args.end(), {"-o", format + "=" + (folder / format).string()});
  const Ran first = flowplan_run(args);
  INFO(first.err);
  REQUIRE(first.err.empty());
  follows_its_schema(content(saved));
  CHECK(flowplan_run({"report", saved, "--format", "json"}).out == content(saved));
  for (const std::string& format : formats) {
    INFO(format);
    const Ran again = flowplan_run({"report", saved, "--format", format});
    CHECK(again.code == 0);
    CHECK(again.err.empty());
    CHECK((again.out == content(folder / format)));
  }
  fs::remove_all(folder);
}

}  // namespace

TEST_CASE("a saved result shows the same again: run", "[slow]") {
  shows_the_same_again({"run", p5_run});
}

TEST_CASE("a saved result shows the same again: what does not fit, a difference, a sensitivity",
          "[slow]") {
  shows_the_same_again({"run", "scenarios/pretrain-llama3-405b-too-big.json"});
  shows_the_same_again({"diff", p5_run, "--set", "workload.global_batch=2048"});
  shows_the_same_again({"sensitivity", "--model", "llama3-8b", "--instance", "p5.48xlarge",
                        "--nodes", "2", "--seq-len", "4096"});
}

TEST_CASE("a saved result shows the same again: searches", "[slow]") {
  shows_the_same_again({"plan", "scenarios/plan-llama3-70b.json"});
  shows_the_same_again({"plan", "scenarios/plan-serve-llama3-70b.json"});
}

TEST_CASE("a saved result shows the same again: a sweep's summary") {
  const auto swept = [](const char* format) {
    return flowplan_run({"sweep", "--threads", "1", p5_run, "--vary",
                         "workload.parallelism.tp=3,4,8", "--format", format})
        .out;
  };
  const std::string json = swept("json");
  follows_its_schema(json);
  const auto parsed = nlohmann::json::parse(json);
  // TP 3 does not divide, 4 and 8 are ranked.
  CHECK(parsed["points"] == 3);
  CHECK(parsed["does_not_fit"] == 0);
  CHECK(parsed["invalid"] == 1);
  REQUIRE(parsed["best"].size() == 2);
  CHECK(parsed["best"][0]["metrics"]["training.tokens_per_second"] >
        parsed["best"][1]["metrics"]["training.tokens_per_second"]);
  const fs::path saved = fs::temp_directory_path() / "flowplan_sweep_summary.json";
  std::ofstream(saved, std::ios::binary) << json;
  for (const char* format : {"text", "markdown", "html"}) {
    INFO(format);
    CHECK((flowplan_run({"report", saved.string(), "--format", format}).out == swept(format)));
  }
  fs::remove(saved);
}

TEST_CASE("results of all shipped scenarios follow their schemas", "[slow]") {
  for (const auto& entry : fs::directory_iterator(FLOWPLAN_SOURCE_DIR "/scenarios")) {
    if (entry.path().extension() != ".json") continue;
    INFO(entry.path());
    follows_its_schema(flowplan_run({"run", entry.path().string(), "--format", "json"}).out);
  }
}

TEST_CASE("JSON without --full is lean, HTML makes every output full", "[slow]") {
  const auto lean = nlohmann::json::parse(flowplan_run({"run", p5_run, "--format", "json"}).out);
  const auto full =
      nlohmann::json::parse(flowplan_run({"run", p5_run, "--format", "json", "--full"}).out);
  CHECK(lean["metrics"] == full["metrics"]);
  CHECK(lean["report"]["sections"].size() < full["report"]["sections"].size());
}

TEST_CASE("CSV of a run has a line a metric, with exact numbers", "[slow]") {
  const std::string csv = flowplan_run({"run", p5_run, "--format", "csv"}).out;
  CHECK(csv.starts_with("metric,value,unit,what it is\n"));
  const auto json = nlohmann::json::parse(flowplan_run({"run", p5_run, "--format", "json"}).out);
  const double mfu = json["metrics"]["training.mfu"]["value"];
  const std::size_t at = csv.find("\ntraining.mfu,");
  REQUIRE(at != std::string::npos);
  CHECK(std::stod(csv.substr(at + 14)) == mfu);
}

TEST_CASE("report refuses what is no saved result and says how to get one", "[slow]") {
  const Ran scenario = flowplan_run({"report", p5_run});
  CHECK(scenario.code == 3);
  CHECK(contains(scenario.err, "-o json=FILE"));
  CHECK(flowplan_run({"report", "nowhere.json"}).code == 3);
  CHECK(flowplan_run({"report"}).code == 2);
}

TEST_CASE("sensitivity refuses metrics that do not exist", "[slow]") {
  const Ran ran = flowplan_run({"sensitivity", p5_run, "--metric", "training.mfy"});
  CHECK(ran.code != 0);
  CHECK(contains(ran.err, "did you mean `training.mfu`?"));
}

}  // namespace report_test
