// `flowplan collective --compare` and `flowplan fit`, on a log of four P5 nodes.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace compare_fit_test {

namespace {

const std::string log_file = "tests/accuracy/logs/all_reduce-p5-4nodes.log";

Ran compared(std::vector<std::string> more) {
  std::vector<std::string> args{"collective", "--compare", log_file, "--instance", "p5.48xlarge"};
  args.insert(args.end(), more.begin(), more.end());
  return flowplan_run(args);
}

}  // namespace

TEST_CASE("--compare takes collective, nodes and ranks from the log") {
  const Ran ran = compared({"--format", "json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["kind"] == "collective_comparison");
  CHECK(json["operation"] == "all_reduce");
  CHECK(json["nodes"] == 4);
  CHECK(json["ranks"] == 32);
  CHECK(json["log"]["nccl_version"] == "2.28.7");
  for (const auto& line : json["results"]) {
    CHECK(line["ratio"].get<double>() ==
          Approx(line["expected_time_s"].get<double>() / line["measured_time_s"].get<double>()));
  }
  CHECK(json["large_ratio"].get<double>() == Approx(1.0).margin(0.15));
  const Ran text = compared({});
  CHECK(contains(text.out, "Likely causes"));
  CHECK(contains(text.out, "ratio"));
}

TEST_CASE("--min-ratio decides the exit code for the sizes between -b and -e") {
  CHECK(compared({"-b", "1G", "--min-ratio", "0.5"}).code == 0);
  const Ran below = compared({"-b", "1G", "--min-ratio", "5"});
  CHECK(below.code == 1);
  CHECK(contains(below.out, "below"));
  CHECK(compared({"-b", "1G", "--min-ratio", "much"}).code == 2);
  CHECK(compared({"-b", "1T"}).code == 2);
}

TEST_CASE("a summary leaves out what the log does not have and names the worst size") {
  const Ran large = compared({"-b", "4G"});
  CHECK(contains(large.out, "Ratio, large sizes"));
  CHECK_FALSE(contains(large.out, "Ratio, small sizes"));
  CHECK(contains(large.out, "Ratio, worst size   0.992 at 8.00 GiB"));
  const auto json = nlohmann::json::parse(compared({"-b", "4G", "--format", "json"}).out);
  CHECK(json["small_ratio"].is_null());
  CHECK(json["least_ratio_size_bytes"] == 8.0 * 1024 * 1024 * 1024);
}

TEST_CASE("a log of another collective is refused") {
  const Ran ran =
      flowplan_run({"collective", "alltoall", "--compare", log_file, "--instance", "p5.48xlarge"});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "the log is of all_reduce, not of alltoall"));
}

TEST_CASE("a log of other GPUs than the instance's does not pass in silence") {
  const Ran ran = flowplan_run({"collective", "--compare", log_file, "--instance", "p4d.24xlarge"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "another GPU: NVIDIA H100 80GB HBM3 in the log, p4d.24xlarge has A100"));
  CHECK(contains(ran.out, "is this the cluster?"));
  CHECK_FALSE(contains(ran.out, "nothing falls short"));
  // A gate that cannot tell must not open.
  const Ran gate = flowplan_run(
      {"collective", "--compare", log_file, "--instance", "p4d.24xlarge", "--min-ratio", "0.1"});
  CHECK(gate.code == 3);
  CHECK(contains(gate.err, "another GPU"));
}

TEST_CASE("validate says once that a file is no table of measurements") {
  const Ran ran = flowplan_run({"validate", "README.md"});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "FP016"));
  CHECK(contains(ran.err, "no table of measurements"));
  CHECK_FALSE(contains(ran.err, "FP015"));
}

TEST_CASE("what does not go with --compare is refused") {
  CHECK(compared({"--degrade", "nic:gpu0=0"}).code == 2);
  CHECK(flowplan_run({"collective", "all_reduce", "--instance", "p5.48xlarge", "--min-ratio", "1"})
            .code == 2);
  CHECK(flowplan_run({"collective", "--instance", "p5.48xlarge"}).code == 2);
  CHECK(flowplan_run({"collective", "--compare", log_file}).code == 2);
  const Ran wrong = flowplan_run(
      {"collective", "--compare", "tests/accuracy/training.csv", "--instance", "p5.48xlarge"});
  CHECK(wrong.code == 3);
  CHECK(contains(wrong.err, "FP016"));
  CHECK(
      flowplan_run({"collective", "--compare", "nothing.log", "--instance", "p5.48xlarge"}).code ==
      3);
}

TEST_CASE("fit writes an overlay that the catalog takes", "[slow]") {
  const auto overlay = std::filesystem::temp_directory_path() / "flowplan-cli-fit-overlay.json";
  const Ran ran =
      flowplan_run({"fit", log_file, "--instance", "p5.48xlarge", "--overlay", overlay.string()});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  CHECK(contains(ran.out, "Fit of collectives-p5"));
  CHECK(contains(ran.out, "kept, not told by these points"));
  const Ran with = compared({"--catalog", overlay.string(), "--format", "json"});
  std::filesystem::remove(overlay);
  INFO(with.err);
  CHECK(with.code == 0);
}

TEST_CASE("fit reports errors before, after and with groups left out", "[slow]") {
  const Ran ran = flowplan_run({"fit", log_file, "tests/accuracy/collectives.csv", "--instance",
                                "p5.48xlarge", "--leave-out", "--format", "json"});
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  const auto json = nlohmann::json::parse(ran.out);
  CHECK(json["after"]["mean_ape"].get<double>() <= json["before"]["mean_ape"].get<double>());
  CHECK(json["left_out"]["n"] == json["after"]["n"]);
  CHECK(json["left_out_groups"].size() >= 4);
  CHECK(flowplan_run({"fit", log_file}).code == 2);
  CHECK(flowplan_run({"fit", log_file, "--instance", "p5.48xlarge", "--leave-out"}).code == 3);
}

}  // namespace compare_fit_test
