#include <filesystem>

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

}  // namespace diff_command_test
