#include "flowplan/cli/run.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/json_schema.hpp"
#include "program.hpp"

namespace run_test {

namespace {

namespace fs = std::filesystem;

std::string content(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

const std::string p5_scenario = "scenarios/pretrain-llama3-70b-p5.json";

}  // namespace

TEST_CASE("options may stand before what a command works on") {
  const Ran after =
      flowplan_run({"run", p5_scenario, "--tp", "4", "--set", "workload.micro_batch=1"});
  REQUIRE(after.code == 0);
  CHECK(flowplan_run({"run", "--tp", "4", "--set", "workload.micro_batch=1", p5_scenario}).out ==
        after.out);
  CHECK(flowplan_run({"collective", "--instance", "p5", "--nodes", "2", "all_reduce"}).code == 0);
}

TEST_CASE("a misspelt region is told with a suggestion, and a group has help") {
  const Ran ran = flowplan_run({"run", p5_scenario, "--region", "us-esat-1"});
  CHECK(ran.code == 2);
  CHECK(contains(ran.err, "did you mean `us-east-1`?"));
  CHECK(flowplan_run({"catalog", "--help"}).code == 0);
  CHECK(flowplan_run({"explain", p5_scenario, "--format", "json"}).code == 0);
}

TEST_CASE("usage errors name the nearest valid name and exit with 2") {
  struct Case {
    std::vector<std::string> args;
    std::string hint;
  };
  const auto one = GENERATE(values<Case>({
      {{"rum"}, "did you mean `run`?"},
      {{"catalog", "shw", "p5"}, "did you mean `show`?"},
      {{"catalog"}, "one of list, show, compare"},
      {{"run", p5_scenario, "--fromat", "json"}, "did you mean `--format`?"},
      {{"run", p5_scenario, "--format", "jsn"}, "formats: text, markdown, json"},
      {{"run", p5_scenario, "-o", "json"}, "for example -o json=result.json"},
      {{"run", p5_scenario, "-o", "pdf=x"}, "formats: text, markdown, json"},
      {{"run"}, "--model llama3-70b"},
      {{"run", "a.json", "b.json"}, "`flowplan help run`"},
      {{"check"}, "`flowplan help check`"},
      {{"check", "scenarios", "--fail-on", "wan"}, "did you mean `warn`?"},
      {{"topology"}, "--instance p5.48xlarge"},
      {{"topology", "--instance", "p5", "--nodes", "many"}, "from 1 to"},
      {{"topology", "--instance", "p5", "--nodes", "-4"}, "from 1 to"},
      {{"topology", "--instance", "p5", "--oversubscription", "0.5"}, "from 1 to 1000"},
      {{"collective", "all_reduce", "--instance", "p5", "-b", "2G", "-e", "1G"}, "-b to -e"},
      {{"collective", "all_reduce", "--instance"}, "`flowplan help collective`"},
      {{"help", "rum"}, "did you mean `run`?"},
  }));
  const Ran ran = flowplan_run(one.args);
  INFO(ran.err);
  CHECK(ran.code == 2);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, "error[FP090]"));
  CHECK(contains(ran.err, one.hint));
}

TEST_CASE("flowplan alone says what to try") {
  const Ran ran = flowplan_run({});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "flowplan run --model llama3-70b"));
}

TEST_CASE("help is the same by option and by command") {
  for (const char* name : {"run", "check", "collective", "version"})
    CHECK(flowplan_run({name, "--help"}).out == flowplan_run({"help", name}).out);
  CHECK(flowplan_run({"--help"}).out == flowplan_run({"help"}).out);
  CHECK(flowplan_run({"help", "catalog", "show"}).out ==
        flowplan_run({"catalog", "show", "-h"}).out);
}

TEST_CASE("the reference pages are those that the program prints") {
  CHECK(content("docs/reference/cli.md") == flowplan_run({"help", "--markdown"}).out);
  CHECK(content("docs/reference/diagnostics.md") == flowplan_run({"help", "--diagnostics"}).out);
}

TEST_CASE("options and a file of the same content give the same numbers") {
  using nlohmann::json;
  const auto from_flags = json::parse(
      flowplan_run({"run",  "--model",  "llama3-70b", "--instance", "p5.48xlarge", "--nodes",
                    "64",   "--tokens", "15T",        "--seq-len",  "8192",        "--global-batch",
                    "1024", "--tp",     "4",          "--pp",       "8",           "--vp",
                    "5",    "--format", "json"})
          .out);
  const auto from_file = json::parse(flowplan_run({"run", p5_scenario, "--format", "json"}).out);
  CHECK(from_flags["metrics"] == from_file["metrics"]);
  CHECK(from_flags["training"] == from_file["training"]);
}

TEST_CASE("an option overrides the file, and --set the same") {
  using nlohmann::json;
  const auto by_option = json::parse(
      flowplan_run({"run", p5_scenario, "--global-batch", "2048", "--format", "json"}).out);
  const auto by_set = json::parse(
      flowplan_run({"run", p5_scenario, "--set", "workload.global_batch=2048", "--format", "json"})
          .out);
  CHECK(by_option["workload"]["global_batch"] == 2048);
  CHECK(by_option == by_set);
}

TEST_CASE("results follow their schema, for what fits and what does not") {
  using namespace flowplan;
  const auto schema = JsonDocument::read("catalogs/schema/result.schema.json");
  REQUIRE(schema);
  for (const std::string& file :
       {p5_scenario, std::string("scenarios/pretrain-llama3-405b-too-big.json"),
        std::string("scenarios/storage-lazy-load-p5.json"),
        std::string("scenarios/storage-744b-host-memory.json")}) {
    const auto result =
        JsonDocument::parse(flowplan_run({"run", file, "--format", "json"}).out, "result");
    REQUIRE(result);
    const Diagnostics faults = validate(*result, *schema);
    INFO(render(faults));
    CHECK(faults.empty());
  }
}

TEST_CASE("post-training says what failures make of it, and follows its schema") {
  using namespace flowplan;
  const auto schema = JsonDocument::read("catalogs/schema/result-posttraining.schema.json");
  REQUIRE(schema);
  const std::string set = R"(operations={"checkpoint":{"write_bandwidth":"20GB/s"}})";
  const std::string file = "scenarios/sft-llama3-70b-p5.json";
  const auto result = JsonDocument::parse(
      flowplan_run({"run", file, "--set", set, "--format", "json"}).out, "result");
  REQUIRE(result);
  const Diagnostics faults = validate(*result, *schema);
  INFO(render(faults));
  CHECK(faults.empty());
  CHECK(result->root().contains("operations"));
  const std::string shown = flowplan_run({"run", file, "--set", set}).out;
  CHECK(contains(shown, "ETTR"));
  CHECK(contains(shown, "Failures and goodput"));
  CHECK_FALSE(contains(shown, "effective MFU"));
}

TEST_CASE("the same input gives the same bytes") {
  const std::vector<std::string> args{"run", p5_scenario, "--format", "json"};
  CHECK(flowplan_run(args).out == flowplan_run(args).out);
}

TEST_CASE("outputs are written beside what is shown, before the exit code is known") {
  const fs::path folder = fs::temp_directory_path() / "flowplan_output_test";
  fs::create_directories(folder);
  const Ran ran = flowplan_run({"run", "scenarios/pretrain-llama3-405b-too-big.json", "-o",
                                "json=" + (folder / "r.json").string(), "-o",
                                "markdown=" + (folder / "r.md").string()});
  CHECK(ran.code == 4);
  CHECK(contains(content(folder / "r.json"), "\"feasible\": false"));
  CHECK(contains(content(folder / "r.md"), "# "));
  CHECK(contains(ran.out, "NO:"));
  CHECK(std::distance(fs::directory_iterator(folder), {}) == 2);  // nothing half written stays
  fs::remove_all(folder);
}

TEST_CASE("an output that cannot be written is an error") {
  const Ran ran = flowplan_run({"run", p5_scenario, "-o", "json=/nowhere/at/all.json"});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "FP002"));
}

TEST_CASE("a failing check exits with 1, a warning only with --fail-on warn") {
  const std::vector<std::string> base{"check", p5_scenario,     "--set", "checks.0.min=0.9",
                                      "--set", "checks.0.max=1"};
  CHECK(flowplan_run(base).code == 1);
  auto warned = base;
  warned.insert(warned.end(), {"--set", "checks.0.level=warn"});
  CHECK(flowplan_run(warned).code == 0);
  warned.insert(warned.end(), {"--fail-on", "warn"});
  CHECK(flowplan_run(warned).code == 1);
}

TEST_CASE("over several files the gravest exit code counts") {
  const fs::path folder = fs::temp_directory_path() / "flowplan_check_test";
  fs::create_directories(folder);
  const std::string too_big = content("scenarios/pretrain-llama3-405b-too-big.json");
  std::ofstream(folder / "a-good.json") << content(p5_scenario);
  std::ofstream(folder / "b-does-not-fit.json")
      << too_big.substr(0, too_big.find("\"checks\"")) << "\"checks\": []}";
  CHECK(flowplan_run({"check", folder.string()}).code == 4);
  std::ofstream(folder / "c-broken.json") << "{";
  const Ran ran = flowplan_run({"check", folder.string(), "--format", "json"});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "c-broken.json:1:"));
  CHECK(nlohmann::json::parse(ran.out)["scenarios"].size() == 3);
  fs::remove_all(folder);
}

TEST_CASE("the shipped scenarios pass their checks", "[slow]") {
  const Ran ran = flowplan_run({"check", "scenarios"});
  INFO(ran.out << ran.err);
  CHECK(ran.code == 0);
}

TEST_CASE("a catalog overlay changes the answer") {
  const fs::path overlay = fs::temp_directory_path() / "flowplan_overlay_test.json";
  std::ofstream(overlay) << R"({"prices": [{"instance": "p5.48xlarge", "purchase": "on_demand",
      "usd_per_hour": 1.0, "region": "us-east-1", "as_of": "2030-01-01", "source": "a contract"}]})";
  const auto json = nlohmann::json::parse(
      flowplan_run({"run", p5_scenario, "--catalog", overlay.string(), "--format", "json"}).out);
  const auto& prices = json["budget"]["prices"];
  const auto row = std::find_if(prices.begin(), prices.end(),
                                [](const auto& p) { return p["purchase"] == "on_demand"; });
  REQUIRE(row != prices.end());
  CHECK((*row)["usd_per_hour"] == 64.0);
  fs::remove(overlay);
}

TEST_CASE("a catalog that is not there is told") {
  fs::current_path(FLOWPLAN_SOURCE_DIR);
  flowplan::cli::Environment environment;
  environment.catalogs = "nowhere";
  std::ostringstream out;
  std::ostringstream err;
  CHECK(flowplan::cli::run({"catalog", "list"}, out, err, environment) == 3);
  CHECK(contains(err.str(), "FP034"));
}

TEST_CASE("schema prints the schema that scenarios are checked against") {
  CHECK(flowplan_run({"schema"}).out == content("catalogs/schema/scenario.schema.json"));
  CHECK(flowplan_run({"schema", "result"}).out == content("catalogs/schema/result.schema.json"));
  CHECK(flowplan_run({"schema", "nothing"}).code == 2);
}

TEST_CASE("collective takes nccl-tests' spelling of sizes and programs") {
  const Ran ran =
      flowplan_run({"collective", "all_reduce_perf", "--instance", "p5.48xlarge", "--nodes", "2",
                    "-b", "1K", "-e", "4K", "-f", "2", "--format", "json"});
  const auto json = nlohmann::json::parse(ran.out);
  REQUIRE(json["results"].size() == 3);
  CHECK(json["results"][0]["size_bytes"] == 1024.0);
  CHECK(json["results"][2]["size_bytes"] == 4096.0);
  CHECK(json["ranks"] == 16);
}

TEST_CASE("collective steps by a size with -i") {
  const Ran ran = flowplan_run({"collective", "all_gather", "--instance", "p5", "-b", "1M", "-e",
                                "3M", "-i", "1M", "--format", "json"});
  CHECK(nlohmann::json::parse(ran.out)["results"].size() == 3);
}

TEST_CASE("more ranks than GPUs are refused") {
  const Ran ran = flowplan_run({"collective", "all_reduce", "--instance", "p5", "-g", "16"});
  CHECK(ran.code == 2);
  CHECK(contains(ran.err, "FP061"));
}

}  // namespace run_test
