#include "flowplan/planner/diff.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace flowplan::planner::diff_test {

namespace {

Breakdown leaf(const char* id, double seconds, const char* limit = "") {
  Breakdown node;
  node.id = id;
  node.label = id;
  node.leaf_time = Seconds(seconds);
  node.limit = limit;
  return node;
}

Side side(std::vector<Breakdown> terms) {
  Side result;
  result.time.id = "step";
  result.time.children = std::move(terms);
  return result;
}

Result<Side> saved(const std::string& text) {
  return side_of(JsonDocument::parse(text, "result.json").value());
}

}  // namespace

TEST_CASE("terms that moved come the largest first and sum to the change of the whole") {
  const Difference difference = diff(
      side({leaf("gemm", 3.0), leaf("bubble", 1.0), leaf("tp", 0.5, "nvlink")}),
      side({leaf("gemm", 3.0), leaf("bubble", 0.25), leaf("tp", 0.75, "efa"), leaf("cp", 2.0)}));
  REQUIRE(difference.terms.size() == 3);
  CHECK(difference.terms[0].id == "cp");
  CHECK_FALSE(difference.terms[0].base);
  CHECK(difference.terms[0].difference().value() == 2.0);
  CHECK(difference.terms[1].id == "bubble");
  CHECK(difference.terms[1].difference().value() == -0.75);
  CHECK(difference.terms[2].base_limit == "nvlink");
  CHECK(difference.terms[2].fresh_limit == "efa");
  double sum = 0.0;
  for (const TermChange& term : difference.terms)
    sum += term.difference().value();
  CHECK(sum == difference.fresh.time.time().value() - difference.base.time.time().value());
}

TEST_CASE("links of storage that are wider, fuller, new or gone are told along each path") {
  Side base, fresh;
  base.storage_links = {{"dataset", "disk", "disks", 1e9, 1.0},
                        {"checkpoint", "client", "client over EFA", 8e9, 0.1},
                        {"checkpoint", "efa", "EFA devices", 9e9, 0.2}};
  fresh.storage_links = {{"dataset", "disk", "disks", 1e9, 1.0},
                         {"checkpoint", "client", "client over ENA", 1e9, 0.8},
                         {"checkpoint", "ena", "ENA", 2e9, 0.4}};
  const auto links = diff(base, fresh).links;
  REQUIRE(links.size() == 3);
  CHECK(links[0].label == "client over EFA -> client over ENA");
  CHECK(links[0].fresh->ceiling_bytes_per_s == 1e9);
  CHECK(links[1].label == "EFA devices");
  CHECK_FALSE(links[1].fresh);
  CHECK(links[2].label == "ENA");
  CHECK_FALSE(links[2].base);
}

TEST_CASE("inputs are new, gone or other; equal ones are not told") {
  Side base, fresh;
  base.inputs = {{"a", "1"}, {"b", "2"}, {"c", "3"}};
  fresh.inputs = {{"a", "1"}, {"c", "4"}, {"d", "5"}};
  const auto changes = diff(base, fresh).inputs;
  REQUIRE(changes.size() == 3);
  CHECK(changes[0].path == "b");
  CHECK_FALSE(changes[0].fresh);
  CHECK(changes[1].base == "3");
  CHECK(changes[1].fresh == "4");
  CHECK_FALSE(changes[2].base);
  fresh.from_result = true;
  CHECK_FALSE(diff(base, fresh).inputs_comparable);
  CHECK(diff(base, fresh).inputs.empty());
}

TEST_CASE("a metric's factor is new over base, where there is one") {
  Side base, fresh;
  base.metrics = {{"training.mfu", 0.4}, {"training.days", 0.0}};
  fresh.metrics = {{"training.mfu", 0.5}, {"training.days", 3.0}, {"training.step_time", 2.0}};
  for (const MetricChange& change : diff(base, fresh).metrics) {
    if (change.id == "training.mfu") CHECK(*change.factor() == Approx(1.25));
    if (change.id != "training.mfu") CHECK_FALSE(change.factor());
  }
}

TEST_CASE("a saved result is read with its metrics, inputs and breakdown") {
  const auto read = saved(R"({"format_version": 1, "kind": "pretraining", "name": "n",
    "feasible": true, "metrics": {"training.mfu": {"value": 0.4, "unit": ""}},
    "cluster": {"instance": "p5", "network": {"links": 1}}, "workload": {"parallelism": {"tp": 8}},
    "training": {"breakdown": {"id": "step", "label": "Step", "time_s": 3, "children":
      [{"id": "a", "label": "A", "time_s": 1, "limit": "x"}, {"id": "b", "label": "B", "time_s": 2}]}}})");
  REQUIRE(read);
  CHECK(read->name == "n");
  CHECK(read->inputs == std::vector<std::pair<std::string, std::string>>{
                            {"cluster.instance", "\"p5\""}, {"workload.parallelism.tp", "8"}});
  CHECK(read->metrics.at(0).value == 0.4);
  CHECK(read->time.time().value() == 3.0);
  CHECK(read->time.children.at(0).limit == "x");
}

TEST_CASE("what is no result, or of another format, is refused") {
  CHECK(saved("{}").error().front().code == Code::wrong_kind_of_file);
  CHECK(saved(R"({"format_version": 99, "metrics": {}})").error().front().code ==
        Code::unsupported_feature);
}

}  // namespace flowplan::planner::diff_test
