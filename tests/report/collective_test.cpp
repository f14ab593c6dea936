#include "flowplan/report/collective.hpp"

#include <sstream>
#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace collective_test {

using namespace flowplan;

namespace {

report::CollectiveSweep sweep(collective::Operation operation) {
  report::CollectiveSweep result;
  result.operation = operation;
  result.instance = "p5.48xlarge";
  result.nodes = 2;
  result.ranks = 16;
  result.profile = "collectives-p5";
  report::CollectiveLine line;
  line.size = mebibytes(1);
  line.outcome.time = microseconds(100);
  line.outcome.algbw = line.size / line.outcome.time;
  line.outcome.busbw = line.outcome.algbw * 1.875;
  line.outcome.limit = "latency";
  result.lines = {line};
  return result;
}

/// The words of the first line that is not a comment.
std::vector<std::string> words(const std::string& text) {
  std::istringstream lines(text);
  std::string line;
  while (std::getline(lines, line) && line.rfind('#', 0) == 0) {
  }
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;)
    result.push_back(word);
  return result;
}

}  // namespace

TEST_CASE("the columns are those of nccl-tests, then algorithm, protocol, limit") {
  const auto row = words(report::collective_text(sweep(collective::Operation::all_reduce)));
  // 1 MiB / 100 us = 10.49 GB/s; x 2 x 15 / 16 = 19.66.
  CHECK(row == std::vector<std::string>{"1048576", "262144", "float", "sum", "-1", "100.00",
                                        "10.49", "19.66", "RING", "LL", "latency"});
}

TEST_CASE("what differs from the cluster as built is in the title and in the JSON") {
  report::CollectiveSweep degraded = sweep(collective::Operation::all_reduce);
  degraded.conditions = {"nodes scattered, seed 7"};
  CHECK(report::collective_text(degraded).find(", nodes scattered, seed 7\n") != std::string::npos);
  CHECK(nlohmann::json::parse(report::collective_json(degraded))["conditions"][0] ==
        "nodes scattered, seed 7");
}

TEST_CASE("all_gather, reduce_scatter and alltoall count the elements of one rank's part") {
  CHECK(words(report::collective_text(sweep(collective::Operation::all_gather)))[1] == "16384");
  CHECK(words(report::collective_text(sweep(collective::Operation::all_gather)))[3] == "none");
  CHECK(words(report::collective_text(sweep(collective::Operation::reduce_scatter)))[1] == "16384");
  CHECK(words(report::collective_text(sweep(collective::Operation::all_to_all)))[1] == "16384");
  CHECK(words(report::collective_text(sweep(collective::Operation::send_recv)))[1] == "262144");
}

TEST_CASE("JSON gives seconds and bytes per second") {
  const auto json =
      nlohmann::json::parse(report::collective_json(sweep(collective::Operation::all_reduce)));
  CHECK(json["results"][0]["time_s"] == Approx(1e-4));
  CHECK(json["results"][0]["busbw_bytes_per_s"] == Approx(1048576 / 1e-4 * 1.875));
  CHECK(json["results"][0]["algorithm"] == "RING");
}

}  // namespace collective_test
