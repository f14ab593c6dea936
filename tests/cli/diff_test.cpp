#include <filesystem>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace diff_command_test {

const std::string scenario = "scenarios/pretrain-llama3-70b-p5.json";

TEST_CASE("one change of a scenario: what moved and by how much") {
  const Ran ran = flowplan_run({"diff", scenario, "--set", "workload.parallelism.tp=8"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "~  workload.parallelism.tp  4     8"));
  CHECK(contains(ran.out, "most of it: Tensor parallel, exposed"));
  CHECK(contains(ran.out, "training.mfu"));
}

TEST_CASE("saved results are laid side by side, also with a scenario") {
  const std::string saved =
      (std::filesystem::temp_directory_path() / "flowplan-diff.json").string();
  REQUIRE(flowplan_run({"run", scenario, "-o", "json=" + saved}).code == 0);
  const Ran same = flowplan_run({"diff", saved, saved});
  CHECK(same.code == 0);
  CHECK(contains(same.out, "no difference"));
  CHECK_FALSE(contains(same.out, "What moved"));
  const Ran mixed = flowplan_run({"diff", scenario, saved, "--format", "json"});
  CHECK(mixed.code == 0);
  CHECK(contains(mixed.out, "\"terms\": []"));
  // Elsewhere a result is named as what it is.
  const Ran run = flowplan_run({"run", saved});
  CHECK(run.code == 3);
  CHECK(contains(run.err, "FP016"));
  CHECK(contains(run.err, "flowplan diff"));
}

TEST_CASE("a scenario over ENA instead of EFA is told link by link, saved results alike") {
  const std::string storage = "scenarios/storage-llama3.1-405b-p5.json";
  const std::string ena = "storage.checkpoint.store.access=ena";
  const Ran ran = flowplan_run({"diff", storage, "--set", ena});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "Links of storage that differ"));
  CHECK(contains(ran.out, "-  checkpoint  EFA devices of a node"));
  CHECK(contains(ran.out, "+  checkpoint  ENA of a node"));
  const std::string saved = (std::filesystem::temp_directory_path() / "flowplan-ena.json").string();
  REQUIRE(flowplan_run({"run", storage, "--set", ena, "-o", "json=" + saved}).code == 0);
  CHECK(contains(flowplan_run({"diff", storage, saved}).out, "+  checkpoint  ENA of a node"));
}

TEST_CASE("against one that does not fit") {
  const Ran ran = flowplan_run({"diff", scenario, "scenarios/pretrain-llama3-405b-too-big.json"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "The new one does not fit: "));
}

TEST_CASE("a diff of nothing, or of what is no scenario, is refused") {
  CHECK(flowplan_run({"diff", scenario}).code == 2);
  CHECK(flowplan_run({"diff", scenario, "no-such.json"}).code == 3);
  CHECK(flowplan_run({"diff", scenario, "tests/flow/cases/parking-lot.json"}).code == 3);
}

TEST_CASE("checks hold a scenario against another branch's result, file by file of a folder") {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / "flowplan-base";
  fs::remove_all(folder);
  fs::create_directories(folder);
  const std::string base = (folder / "pretrain-llama3-70b-p5.json").string();
  REQUIRE(flowplan_run({"run", scenario, "-o", "json=" + base}).code == 0);
  const std::vector<std::string> ratio{
      "--set", R"(checks=[{"metric":"training.step_time","max_ratio":1.01}])"};
  const auto checked = [&](std::vector<std::string> more) {
    std::vector<std::string> args{"check", scenario};
    args.insert(args.end(), ratio.begin(), ratio.end());
    args.insert(args.end(), more.begin(), more.end());
    return flowplan_run(args);
  };
  CHECK(checked({"--base", base}).code == 0);
  CHECK(checked({"--base", folder.string()}).code == 0);
  CHECK(checked({"--base", scenario}).code == 0);
  const Ran slower = checked({"--base", base, "--set", "workload.parallelism.tp=8"});
  CHECK(slower.code == 1);
  CHECK(contains(slower.out, "training.step_time <= 1.01 x base"));
  const Ran none = checked({});
  CHECK(none.code != 0);
  CHECK(contains(none.err, "--base"));
  CHECK(checked({"--base", (folder / "nothing.json").string()}).code == 3);
  fs::remove_all(folder);
}

}  // namespace diff_command_test
