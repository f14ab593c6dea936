// What others recorded: traces, profiles, logs, answers of EC2.
#include <cstdlib>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/text_file.hpp"
#include "program.hpp"

namespace recordings_test {

namespace {

std::string temporary(const std::string& name) {
  const char* folder = std::getenv("TMPDIR");
  return std::string(folder != nullptr ? folder : "/tmp") + "/" + name;
}

}  // namespace

TEST_CASE("a profile's collectives are compared, as JSON too") {
  const Ran ran = flowplan_run({"replay", "tests/replay/files/profile.json", "--instance",
                                "p5.48xlarge", "--nodes", "2", "--format", "json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["kind"] == "profile");
  REQUIRE(json["collectives"].size() == 2);
  CHECK(json["collectives"][0]["count"] == 2);
  CHECK(json["collectives"][0]["predicted_s"] > 0.0);
}

TEST_CASE("a text workload with named groups, as JSON") {
  const std::string path = temporary("hybrid.txt");
  REQUIRE(flowplan::write_text(path,
                               "HYBRID_DATA_MODEL\n1\n"
                               "a -1 1000 ALLREDUCE 1048576 1000 NONE 0 1000 ALLREDUCE 4096 0\n"));
  const std::vector<std::string> command{"replay",  path, "--instance", "p5.48xlarge",
                                         "--nodes", "2",  "--format",   "json"};
  const Ran by_default = flowplan_run(command);
  INFO(by_default.err);
  REQUIRE(by_default.code == 0);
  const auto json = nlohmann::json::parse(by_default.out);
  REQUIRE(json["collectives"].size() == 2);
  for (const auto& one : json["collectives"])
    CHECK(one["groups"] == (one["communicator"] == "model" ? 2 : 8));
  std::vector<std::string> named = command;
  named.insert(named.end(), {"--group", "model=tp4", "--group", "data=dp4"});
  const nlohmann::json grouped = nlohmann::json::parse(flowplan_run(named).out);
  for (const auto& one : grouped["collectives"])
    CHECK(one["ranks"] == 4);
  named.back() = "data=dp3";
  CHECK(flowplan_run(named).code == 2);
  CHECK(contains(flowplan_run({"replay", path, "--instance", "p5.48xlarge", "--group", "tp8"}).err,
                 "NAME=RANKS is needed"));
}

TEST_CASE("an imported instance type is planned with") {
  const std::string overlay = temporary("overlay.json");
  const Ran ran = flowplan_run(
      {"catalog", "import", "tests/catalog/files/instance-types.json", "-o", "overlay=" + overlay});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const Ran planned = flowplan_run({"collective", "all_reduce", "--instance", "p5.24xlarge",
                                    "--nodes", "2", "-b", "1G", "--catalog", overlay});
  INFO(planned.err);
  CHECK(planned.code == 0);
  CHECK(contains(planned.out, "p5.24xlarge"));
  CHECK(flowplan_run({"catalog", "import", "tests/flow/cases/parking-lot.json"}).code == 3);
}

TEST_CASE("a training log stands beside the prediction, and gives rows") {
  const std::string log = temporary("train.log");
  REQUIRE(flowplan::write_text(
      log,
      " iteration 1/ 9 | elapsed time per iteration (ms): 30000.0 | global batch size: 1024 |\n"
      " iteration 2/ 9 | elapsed time per iteration (ms): 15000.0 | global batch size: 1024 |\n"));
  const std::string rows = temporary("rows.csv");
  const Ran ran = flowplan_run({"import", "log", log, "scenarios/pretrain-llama3-70b-p5.json", "-o",
                                "csv=" + rows, "--format", "json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["files"][0]["predicted"] == 1);
  CHECK(json["files"][0]["rows_detail"][0]["measured"] == 15.0);
  CHECK(flowplan_run({"validate", rows}).code == 0);
  CHECK(flowplan_run({"import", "log", log, "scenarios/serve-llama3-70b-p5.json"}).code == 3);
}

TEST_CASE("version says which optional parts are built in") {
  const Ran ran = flowplan_run({"version"});
  CHECK(contains(ran.out, "protobuf, to read Chakra execution traces"));
  CHECK(contains(ran.out, "Graphviz"));
}

}  // namespace recordings_test
