// `flowplan collective`: what-ifs, placement, all-to-all.
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace collective_test {

namespace {

nlohmann::json outcome(std::vector<std::string> args) {
  args.insert(args.begin(), "collective");
  for (const char* more : {"--instance", "p5.48xlarge", "--format", "json"})
    args.emplace_back(more);
  const Ran ran = flowplan_run(args);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return nlohmann::json::parse(ran.out);
}

double transfer(const nlohmann::json& json) {
  return json["results"][0]["transfer_s"].get<double>();
}

}  // namespace

TEST_CASE("alltoall has nccl-tests' name and ours") {
  for (const char* name : {"alltoall", "all_to_all", "alltoall_perf"}) {
    const auto json = outcome({name, "--nodes", "2", "-b", "64M"});
    CHECK(json["operation"] == "alltoall");
    CHECK(json["results"][0]["algorithm"] == "PXN");
  }
}

TEST_CASE("--degrade slows what it names and says so") {
  const std::vector<std::string> plain{"all_reduce", "--nodes", "4", "-b", "8G"};
  std::vector<std::string> slow = plain;
  slow.insert(slow.end(), {"--degrade", "nic:gpu12=0.5"});
  const auto json = outcome(slow);
  CHECK(transfer(json) == Approx(2.0 * transfer(outcome(plain))));
  CHECK(json["conditions"] == nlohmann::json{"degraded nic:gpu12=0.5"});
  slow.back() = "nic:gpu12=0";
  CHECK(transfer(outcome(slow)) == Approx(8.0 / 7.0 * transfer(outcome(plain))));
}

TEST_CASE("--degrade that cannot be read, or that cuts the ranks off, is refused") {
  const auto refused = [](const char* spec) {
    return flowplan_run({"collective", "all_reduce", "--instance", "p5.48xlarge", "--nodes", "2",
                         "--degrade", spec});
  };
  CHECK(refused("nic:12").code == 2);
  CHECK(contains(refused("nic:gpu99=0").err, "FP060"));
  const Ran cut = refused("nic:node1=0");
  CHECK(cut.code == 3);
  CHECK(contains(cut.err, "node1.nic"));
}

TEST_CASE("scattered nodes pay for an oversubscribed fabric, the same with the same seed") {
  const std::vector<std::string> near{"all_reduce",         "--nodes", "256", "-b", "64G",
                                      "--oversubscription", "2"};
  std::vector<std::string> far = near;
  far.insert(far.end(), {"--placement", "scattered", "--seed", "3"});
  const auto first = outcome(far), second = outcome(far);
  CHECK(first == second);
  CHECK(transfer(first) > 1.5 * transfer(outcome(near)));
  CHECK(flowplan_run({"collective", "all_reduce", "--instance", "p5", "--seed", "3"}).code == 2);
}

TEST_CASE("--no-fold gives the same") {
  for (const char* operation : {"alltoall", "all_reduce", "all_gather", "sendrecv"}) {
    const auto folded = outcome({operation, "--nodes", "37", "-b", "64M"});
    const auto listed = outcome({operation, "--nodes", "37", "-b", "64M", "--no-fold"});
    CHECK(folded["results"][0]["limit"] == listed["results"][0]["limit"]);
    CHECK(folded["results"][0]["time_s"].get<double>() ==
          Approx(listed["results"][0]["time_s"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("--timing reports each phase beside the result") {
  const Ran ran = flowplan_run({"collective", "alltoall", "--instance", "p5.48xlarge", "--nodes",
                                "12500", "-b", "1G", "--timing"});
  REQUIRE(ran.code == 0);
  for (const char* phase : {"catalog", "graph", "predict", "100000 GPUs", "MiB"})
    CHECK(contains(ran.err, phase));
  CHECK_FALSE(contains(ran.out, "timing"));
}

}  // namespace collective_test
