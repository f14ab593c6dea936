#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace sweep_test {

namespace {

std::string folder() {
  const auto path = std::filesystem::temp_directory_path() / "flowplan-sweep";
  std::filesystem::create_directories(path);
  return path.string() + "/";
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::vector<std::string> sweep(std::vector<std::string> more) {
  std::vector<std::string> args{"sweep",  "scenarios/pretrain-llama3-70b-p5.json",
                                "--vary", "cluster.count=64:256:x2",
                                "--vary", "workload.parallelism.tp=4,8"};
  args.insert(args.end(), more.begin(), more.end());
  return args;
}

}  // namespace

TEST_CASE("a sweep ranks its points") {
  const Ran ran = flowplan_run(sweep({"--by", "training.mfu", "--top", "2"}));
  CHECK(ran.code == 0);
  CHECK(ran.err.empty());
  CHECK(contains(ran.out, "6 points: 6 fit"));
  CHECK(contains(ran.out, "Best by training.mfu"));
}

TEST_CASE("rows stream as JSON lines and as CSV") {
  const Ran lines = flowplan_run(sweep({"--format", "jsonl"}));
  CHECK(std::count(lines.out.begin(), lines.out.end(), '\n') == 7);
  CHECK(
      contains(lines.out, R"({"point":0,"set":{"cluster.count":64,"workload.parallelism.tp":4})"));
  const Ran table = flowplan_run(sweep({"--format", "csv"}));
  CHECK(std::count(table.out.begin(), table.out.end(), '\n') == 7);
  CHECK(contains(table.out, "point,cluster.count,workload.parallelism.tp,state,reason,training."));
}

TEST_CASE("an interrupted sweep goes on to the same bytes", "[slow]") {
  const std::string path = folder() + "rows.jsonl", table = folder() + "rows.csv";
  REQUIRE(flowplan_run(sweep({"-o", "jsonl=" + path, "-o", "csv=" + table})).code == 0);
  const std::string whole = content(path), whole_table = content(table);
  for (const std::size_t kept :
       {whole.size(), whole.size() - 1, whole.size() / 2, std::size_t{3}, std::size_t{0}}) {
    CAPTURE(kept);
    std::ofstream(path, std::ios::binary) << whole.substr(0, kept);
    const Ran ran = flowplan_run(sweep({"-o", "jsonl=" + path, "-o", "csv=" + table, "--resume"}));
    CHECK(ran.code == 0);
    CHECK(content(path) == whole);
    CHECK(content(table) == whole_table);
    CHECK(contains(ran.out, "6 points: 6 fit"));
  }
  std::filesystem::remove(path);
  CHECK(flowplan_run(sweep({"-o", "jsonl=" + path, "--resume"})).code == 0);
  CHECK(content(path) == whole);
  // Rows of another grid are not continued, and stay as they are.
  const Ran other = flowplan_run({"sweep", "scenarios/pretrain-llama3-70b-p5.json", "--vary",
                                  "cluster.count=64", "-o", "jsonl=" + path, "--resume"});
  CHECK(other.code == 3);
  CHECK(contains(other.err, "FP083"));
  CHECK(content(path) == whole);
}

TEST_CASE("shards of any number merge to the same bytes", "[slow]") {
  const std::string whole = folder() + "whole.jsonl", merged = folder() + "merged.jsonl";
  REQUIRE(flowplan_run(sweep({"-o", "jsonl=" + whole})).code == 0);
  for (const int count : {2, 7}) {
    std::vector<std::string> merge{"sweep", "--merge", "-o", "jsonl=" + merged};
    for (int i = 0; i < count; ++i) {
      const std::string part = folder() + "part" + std::to_string(i) + ".jsonl";
      const std::string shard = std::to_string(i) + "/" + std::to_string(count);
      REQUIRE(flowplan_run(sweep({"-o", "jsonl=" + part, "--shard", shard})).code == 0);
      merge.push_back(part);
    }
    CHECK(flowplan_run(merge).code == 0);
    CHECK(content(merged) == content(whole));
  }
}

TEST_CASE("a task of an array job takes its shard") {
  std::filesystem::current_path(FLOWPLAN_SOURCE_DIR);
  flowplan::cli::Environment environment;
  environment.catalogs = "catalogs";
  environment.array_index = "2";
  environment.array_count = "4";
  std::ostringstream out, err;
  CHECK(flowplan::cli::run(sweep({"--format", "jsonl"}), out, err, environment) == 0);
  CHECK(contains(err.str(), "shard 2/4"));
  const std::string rows = out.str();
  CHECK(std::count(rows.begin(), rows.end(), '\n') == 2);  // head and point 2 of 6
  CHECK(contains(rows, "{\"point\":2,"));
}

TEST_CASE("sweeps that cannot be meant are refused", "[slow]") {
  const std::string scenario = "scenarios/pretrain-llama3-70b-p5.json";
  CHECK(contains(flowplan_run({"sweep", scenario}).err, "nothing to vary"));
  CHECK(flowplan_run({"sweep", scenario}).code == 2);
  CHECK(flowplan_run({"sweep", scenario, "--vary", "cluster.count"}).code == 2);
  CHECK(flowplan_run(sweep({"--shard", "4/4"})).code == 2);
  CHECK(flowplan_run(sweep({"--resume"})).code == 2);
  CHECK(flowplan_run(sweep({"--format", "junit"})).code == 2);
  CHECK(flowplan_run(sweep({"-o", "jsonl"})).code == 2);
  CHECK(flowplan_run(sweep({"--by", "training.mfuu"})).code == 2);
  CHECK(contains(flowplan_run(sweep({"--by", "training.mfuu"})).err, "training.mfu"));
  const Ran path = flowplan_run({"sweep", scenario, "--vary", "cluster.cuont=1"});
  CHECK(path.code == 2);
  CHECK(contains(path.err, "cluster.count"));
  CHECK(flowplan_run({"sweep", "--merge", scenario}).code == 3);
}

TEST_CASE("no point that is ok: 4 when some do not fit, 3 when all are invalid") {
  CHECK(flowplan_run({"sweep", "scenarios/pretrain-llama3-405b-too-big.json", "--vary",
                      "workload.micro_batch=1,2"})
            .code == 4);
  CHECK(flowplan_run({"sweep", "scenarios/pretrain-llama3-70b-p5.json", "--vary",
                      "workload.parallelism.tp=3,5"})
            .code == 3);
}

}  // namespace sweep_test
