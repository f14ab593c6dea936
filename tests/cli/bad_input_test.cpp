// Every kind of bad input ends in a diagnostic with its place and the documented exit code.
#include <cstddef>
#include <filesystem>
#include <fstream>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace bad_input_test {

namespace {

namespace fs = std::filesystem;

/// A file that is gone when the test ends.
class Temporary {
 public:
  Temporary(const std::string& name, const std::string& text)
      : path_(fs::temp_directory_path() / ("flowplan_bad_" + name)) {
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~Temporary() { fs::remove(path_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  fs::path path_;
};

Ran run_scenario(const std::string& text) {
  const Temporary file("scenario.json", text);
  return flowplan_run({"run", file.path()});
}

std::string llama(const std::string& cluster, const std::string& workload) {
  return "{\n  \"cluster\": {" + cluster +
         "},\n  \"workload\": {\"kind\": \"pretraining\", \"model\": \"llama3-70b\"" + workload +
         "}\n}\n";
}

const std::string p5x64 = R"("instance": "p5.48xlarge", "nodes": 64)";

void check_refused(const Ran& ran, const std::string& code, const std::string& place,
                   int exit_code = 3) {
  INFO(ran.err);
  CHECK(ran.code == exit_code);
  CHECK(ran.out.empty());
  CHECK(contains(ran.err, "error[" + code + "]"));
  CHECK(contains(ran.err, place));
}

}  // namespace

TEST_CASE("broken JSON") {
  check_refused(run_scenario("{\n  \"cluster\": {,}\n}"), "FP010", "scenario.json:2:15:");
  check_refused(run_scenario("{"), "FP010", "scenario.json:1:");
  check_refused(run_scenario(""), "FP010", "scenario.json");
}

TEST_CASE("a duplicate key") {
  check_refused(run_scenario("{\"cluster\": {},\n \"cluster\": {}}"), "FP011", "scenario.json:2:");
}

TEST_CASE("an unknown key names the nearest one") {
  const Ran ran = run_scenario(llama(p5x64, R"(, "micro_bacth": 1)"));
  check_refused(ran, "FP020", "scenario.json:3:");
  CHECK(contains(ran.err, "did you mean `micro_batch`?"));
}

TEST_CASE("a wrong type") {
  check_refused(run_scenario(llama(p5x64, R"(, "micro_batch": "one")")), "FP022",
                "scenario.json:3:");
  check_refused(run_scenario("[]"), "FP022", "scenario.json:1:1:");
}

TEST_CASE("a misspelt instance is told with a suggestion") {
  const Ran ran = run_scenario(llama(R"("instance": "p5.48xlrage", "nodes": 64)", ""));
  check_refused(ran, "FP030", "scenario.json:2:27:");
  CHECK(contains(ran.err, "p5.48xlarge"));
  CHECK(contains(ran.err, "^"));
}

TEST_CASE("negative and zero counts") {
  check_refused(run_scenario(llama(R"("instance": "p5.48xlarge", "nodes": -1)", "")), "FP024",
                "scenario.json:2:");
  check_refused(run_scenario(llama(R"("instance": "p5.48xlarge", "nodes": 0)", "")), "FP024",
                "scenario.json:2:");
  check_refused(run_scenario(llama(p5x64, R"(, "tokens": 0)")), "FP024", "scenario.json:3:");
  check_refused(run_scenario(llama(p5x64, R"(, "tokens": "-1T")")), "FP040", "scenario.json:3:");
}

TEST_CASE("TP that does not divide the heads") {
  check_refused(run_scenario(llama(R"("instance": "p5.48xlarge", "nodes": 3)",
                                   R"(, "parallelism": {"tp": 3, "pp": 1})")),
                "FP071", "scenario.json:3:");
}

TEST_CASE("GPUs that do not match the layout") {
  check_refused(run_scenario(llama(p5x64, R"(, "parallelism": {"tp": 8, "pp": 4, "dp": 8})")),
                "FP070", "scenario.json:3:");
}

TEST_CASE("more pipeline stages than layers") {
  check_refused(run_scenario(llama(p5x64, R"(, "parallelism": {"tp": 1, "pp": 128})")), "FP072",
                "scenario.json:3:");
}

TEST_CASE("a 100 MB file is refused by its size") {
  const Temporary file("large.json", "");
  {
    std::ofstream(file.path(), std::ios::binary) << "{\"about\": \"";
    fs::resize_file(file.path(), 100u << 20);
  }
  check_refused(flowplan_run({"run", file.path()}), "FP003", "large.json");
}

TEST_CASE("100,000 levels of nesting") {
  check_refused(run_scenario(std::string(100000, '[')), "FP012", "scenario.json:");
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  check_refused(run_scenario(objects), "FP012", "scenario.json:");
}

TEST_CASE("no such file names the nearest one") {
  const Ran ran = flowplan_run({"run", "scenarios/pretrain-llama3-70b-p6.json"});
  check_refused(ran, "FP001", "scenarios/pretrain-llama3-70b-p6.json");
  CHECK(contains(ran.err, "did you mean `scenarios/pretrain-llama3-70b-p5.json`?"));
}

TEST_CASE("a folder instead of a file") {
  check_refused(flowplan_run({"run", "scenarios"}), "FP002", "scenarios");
}

TEST_CASE("a measurements file given to run says which command takes it") {
  const Ran ran = flowplan_run({"run", "tests/accuracy/collectives.csv"});
  check_refused(ran, "FP016", "tests/accuracy/collectives.csv");
  CHECK(contains(ran.err, "`flowplan validate tests/accuracy/collectives.csv` takes it"));
}

TEST_CASE("files of other kinds say which command takes them") {
  const std::string flow_case = "tests/flow/cases/parking-lot.json";
  const std::string scenario = "scenarios/pretrain-llama3-70b-p5.json";
  CHECK(contains(flowplan_run({"run", flow_case}).err, "`flowplan flow " + flow_case));
  CHECK(contains(flowplan_run({"check", flow_case}).err, "`flowplan flow " + flow_case));
  CHECK(contains(flowplan_run({"flow", scenario}).err, "`flowplan run " + scenario));
  CHECK(flowplan_run({"flow", scenario}).code == 3);
  CHECK(flowplan_run({"validate", scenario}).code == 3);
  CHECK(contains(flowplan_run({"validate", scenario}).err, "`flowplan run " + scenario));
  const std::string types = "tests/catalog/files/instance-types.json";
  const std::string profile = "tests/replay/files/profile.json";
  CHECK(contains(flowplan_run({"run", types}).err, "`flowplan catalog import " + types));
  CHECK(contains(flowplan_run({"run", profile}).err, "`flowplan replay " + profile));
}

TEST_CASE("all faults of a file are told in one go") {
  const Ran ran = run_scenario(
      llama(R"("instance": "p5.48xlarge", "nodes": 0)", R"(, "micro_batch": "one", "sep_len": 1)"));
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "FP020"));
  CHECK(contains(ran.err, "FP022"));
  CHECK(contains(ran.err, "FP024"));
}

TEST_CASE("faults that a schema sees do not hide wrong names") {
  const Ran ran = run_scenario(
      llama(R"("instance": "p5.48xlrage", "nodes": 0)", R"(, "tokens": "many", "sep_len": 1)"));
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "FP020"));
  CHECK(contains(ran.err, "FP024"));
  CHECK(contains(ran.err, "FP030"));
  CHECK(contains(ran.err, "FP040"));
  CHECK(!contains(ran.err, "FP021"));  // the count is there, only wrong
}

TEST_CASE("a wrong value from the command line is told as such") {
  const std::string file = "scenarios/pretrain-llama3-70b-p5.json";
  const Ran by_set = flowplan_run({"run", file, "--set", "workload.parallelism.tp=3"});
  check_refused(by_set, "FP071", "--set workload.parallelism.tp=3: error");
  const Ran by_option = flowplan_run({"run", file, "--micro-batch", "0"});
  check_refused(by_option, "FP024", "--set workload.micro_batch=0: error", 2);
  const Ran alone =
      flowplan_run({"run", "--model", "llama3-70b", "--instance", "p5", "--nodes", "0"});
  check_refused(alone, "FP024", "<command line>:4:14:", 2);
}

TEST_CASE("what nobody published is refused with the reason") {
  const Ran ran =
      flowplan_run({"run", "--model", "llama3-8b", "--instance", "u-p6e-gb300x72", "--count", "2"});
  check_refused(ran, "FP032", "efa_gbps_total");
  CHECK(
      flowplan_run({"run", "--model", "llama3-8b", "--instance", "u-p6e-gb300x72", "--count", "1"})
          .code == 0);
}

TEST_CASE("a broken overlay is refused with its place") {
  const Temporary file("overlay.json", "{\n \"gpus\": 7\n}");
  const Ran ran = flowplan_run({"catalog", "list", "--catalog", file.path()});
  CHECK(ran.code == 3);
  CHECK(contains(ran.err, "overlay.json:2:"));
}

}  // namespace bad_input_test
