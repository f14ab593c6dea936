#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace flow_test {

namespace {

using nlohmann::json;

json flow_json(std::vector<std::string> args) {
  args.insert(args.begin(), "flow");
  args.insert(args.end(), {"--format", "json"});
  const Ran ran = flowplan_run(args);
  INFO(ran.err);
  REQUIRE(ran.code == 0);
  return json::parse(ran.out);
}

const std::vector<std::string> all_to_all{"--generate", "fat-tree:16", "--traffic", "all-to-all"};

std::vector<std::string> with(std::vector<std::string> args, const std::vector<std::string>& more) {
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace

TEST_CASE("a generated case needs no file") {
  // 15 flows of 100 MB leave each host at 50 GB/s.
  const json result = flow_json(all_to_all);
  CHECK(result["makespan_s"].get<double>() == Approx(15 * 100e6 / 50e9).epsilon(1e-12));
  CHECK(result["flows"].size() == 240);
  CHECK(flow_json(with(all_to_all, {"--bytes", "200MB", "--group", "4"}))["makespan_s"]
            .get<double>() == Approx(3 * 200e6 / 50e9).epsilon(1e-12));
}

TEST_CASE("seeds decide what is random") {
  const auto random = with(all_to_all, {"--sizes", "random", "--spread", "1s", "--seed"});
  CHECK(flow_json(with(random, {"4"})) == flow_json(with(random, {"4"})));
  CHECK(flow_json(with(random, {"4"})) != flow_json(with(random, {"5"})));
}

TEST_CASE("doing without symmetry gives the same result") {
  const json folded = flow_json(with(all_to_all, {"--verify"}));
  const json plain = flow_json(with(all_to_all, {"--verify", "--no-fold"}));
  CHECK(folded["verified"] == true);
  for (std::size_t f = 0; f < 240; ++f) {
    REQUIRE(folded["flows"][f]["end_s"].get<double>() ==
            Approx(plain["flows"][f]["end_s"].get<double>()).epsilon(1e-9));
  }
}

TEST_CASE("timing stays out of the result") {
  const Ran plain = flowplan_run(with({"flow"}, all_to_all));
  const Ran timed = flowplan_run(with({"flow", "--timing"}, all_to_all));
  CHECK(plain.err.empty());
  CHECK(timed.out == plain.out);
  for (const char* phase : {"build", "solve", "peak memory", "classes of flows"})
    CHECK(contains(timed.err, phase));
  CHECK(contains(flowplan_run({"flow", "tests/flow/cases/parking-lot.json", "--timing"}).err,
                 "parse"));
}

TEST_CASE("tables are cut to the rows asked for, the most important first") {
  const Ran ran = flowplan_run({"flow", "tests/flow/cases/parking-lot.json", "--top", "2"});
  CHECK(contains(ran.out, "2 of 4: those that end last"));
  CHECK(contains(ran.out, "2 of 3: the busiest"));
  CHECK_FALSE(contains(ran.out, "0.0500000"));  // flow 3 ends first
  const json result = flow_json({"tests/flow/cases/parking-lot.json", "--top", "1"});
  CHECK(result["flows"].size() == 1);
  CHECK(result["links"].size() == 1);
  const json large = flow_json({"--generate", "torus:200"});
  CHECK(large["flows"].size() == 200);
  CHECK(contains(flowplan_run({"flow", "--generate", "torus:200"}).out, "100 of 200"));
}

TEST_CASE("tasks are reported") {
  const auto path = std::filesystem::temp_directory_path() / "flowplan_flow_tasks.json";
  std::ofstream(path) << R"({"format": "flowplan-flow-1",
    "links": [{"from": "a", "to": "b", "gbytes_per_s": 1}],
    "flows": [{"source": "a", "target": "b", "gbytes": 2}],
    "tasks": [{"name": "send", "flows": [0], "repeat": 2, "delay_s": 0.5}]})";
  const json result = flow_json({path.string()});
  CHECK(result["tasks"] == json::parse(R"([{"name": "send", "start_s": 0.0, "end_s": 5.0}])"));
  CHECK(result["flows"][0]["start_s"] == 0.5);
  const Ran text = flowplan_run({"flow", path.string()});
  CHECK(contains(text.out, "Tasks"));
  CHECK(contains(text.out, "send"));
  const auto trace = std::filesystem::temp_directory_path() / "flowplan_flow_trace.json";
  REQUIRE(flowplan_run({"flow", path.string(), "--trace", trace.string()}).code == 0);
  std::ifstream in(trace);
  CHECK(json::parse(in)["otherData"]["tasks"] == 1);
  std::filesystem::remove(path);
  std::filesystem::remove(trace);
}

TEST_CASE("what does not go together is refused") {
  const auto refused = [](const std::vector<std::string>& args, const std::string& code,
                          const std::string& part) {
    const Ran ran = flowplan_run(with({"flow"}, args));
    CHECK(ran.code == 2);
    CHECK(ran.out.empty());
    CHECK(contains(ran.err, code));
    CHECK(contains(ran.err, part));
  };
  const std::string file = "tests/flow/cases/parking-lot.json";
  refused({}, "FP090", "needs a case file or --generate");
  refused({file, "--generate", "torus:4"}, "FP090", "both a case file and --generate");
  refused({file, "--seed", "2"}, "FP090", "--seed goes with --generate");
  refused({"--generate", "toruss:4"}, "FP053", "did you mean `torus`?");
  refused({"--generate", "torus:4", "--traffic", "rings"}, "FP053", "did you mean `ring`?");
  refused({"--generate", "torus:4", "--seed", "-1"}, "FP090", "a whole number is needed");
  refused({"--generate", "torus:4", "--group", "3"}, "FP053", "in groups of 3");
}

}  // namespace flow_test
