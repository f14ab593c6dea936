#include "flowplan/planner/sensitivity.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_document.hpp"

namespace sensitivity_test {

using namespace flowplan;

namespace {

const catalog::Catalog& catalog_as_shipped() {
  static const catalog::Catalog all =
      catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs").value();
  return all;
}

const JsonDocument& scenario_schema() {
  static const JsonDocument schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json").value();
  return schema;
}

planner::Sensitivity of(const std::string& text, int threads = 0) {
  const auto document = JsonDocument::parse(text, "scenario.json");
  REQUIRE(document);
  planner::SensitivityOptions options;
  options.threads = threads;
  auto found = planner::sensitivity(catalog_as_shipped(), *document, scenario_schema(), options);
  REQUIRE(found);
  return *found;
}

const char* const small = R"({
  "cluster": {"instance": "p5.48xlarge", "nodes": 2},
  "workload": {"kind": "pretraining", "model": "llama3-8b", "tokens": "1B", "seq_len": 4096,
               "global_batch": 128, "parallelism": {"tp": 2}}
})";

const planner::Sensitivity& of_small() {
  static const planner::Sensitivity found = of(small);
  return found;
}

const planner::SensitivityRow& row(const planner::Sensitivity& all, const std::string& input) {
  const auto found = std::find_if(all.rows.begin(), all.rows.end(),
                                  [&](const auto& one) { return one.input == input; });
  REQUIRE(found != all.rows.end());
  return *found;
}

planner::Swing swing_of(const planner::Sensitivity& all, const std::string& metric,
                        const std::string& input) {
  for (const planner::Swing& one : planner::swings(all, metric))
    if (one.row->input == input) return one;
  FAIL(input << " does not move " << metric);
  return {};
}

}  // namespace

TEST_CASE("a tenth of the price is a tenth of the money, and moves no time") {
  const planner::Sensitivity& all = of_small();
  const planner::Swing money = swing_of(all, "training.cost_usd", "p5.48xlarge price");
  CHECK(*money.less == Approx(-0.1));
  CHECK(*money.more == Approx(0.1));
  for (const planner::Swing& one : planner::swings(all, "training.days"))
    CHECK(one.row->input != "p5.48xlarge price");
}

TEST_CASE("a tenth more tokens takes a tenth longer") {
  const planner::Swing days = swing_of(of_small(), "training.days", "workload.tokens");
  CHECK(*days.more == Approx(0.1).margin(1e-3));  // whole steps
  CHECK(*days.less == Approx(-0.1).margin(1e-3));
}

TEST_CASE("faster hardware is never slower") {
  const planner::Sensitivity& all = of_small();
  for (const char* input : {"H100-SXM-80GB matrix rate", "H100-SXM-80GB HBM bandwidth",
                            "H100-SXM-80GB NVLink", "p5.48xlarge network"}) {
    const planner::Swing step = swing_of(all, "training.step_time", input);
    CHECK(*step.less >= 0.0);
    CHECK(*step.more <= 0.0);
  }
}

TEST_CASE("swings are ranked, the largest first") {
  const planner::Sensitivity& all = of_small();
  const auto ranked = planner::swings(all, "training.step_time");
  REQUIRE(ranked.size() > 5);
  CHECK(std::is_sorted(ranked.begin(), ranked.end(),
                       [](const auto& a, const auto& b) { return a.size() > b.size(); }));
  CHECK(planner::swings(all, "inference.ttft_p99").empty());
}

TEST_CASE("whole numbers move to values that still divide") {
  const planner::Sensitivity& all = of_small();
  // 4096 by steps of 256: 3686 becomes 3584 and 4506 becomes 4608.
  CHECK(row(all, "workload.seq_len").less.value == "3584");
  CHECK(row(all, "workload.seq_len").more.value == "4608");
  CHECK(row(all, "workload.seq_len").more.fault.empty());
}

TEST_CASE("what cannot be changed so says why") {
  // 16 GPUs in 2 nodes: a tenth of 2 is less than a node, so that there is nothing to change.
  const planner::Sensitivity& all = of_small();
  for (const planner::SensitivityRow& one : all.rows)
    CHECK(one.input != "cluster.nodes");
  const planner::Sensitivity large = of(R"({
    "cluster": {"instance": "p5.48xlarge", "nodes": 16},
    "workload": {"kind": "pretraining", "model": "llama3-8b", "seq_len": 4096,
                 "global_batch": 128, "parallelism": {"tp": 2, "dp": 64}}
  })");
  const planner::SensitivityRow& nodes = row(large, "cluster.nodes");
  CHECK_FALSE(nodes.more.fault.empty());
  CHECK(nodes.more.metrics.empty());
}

TEST_CASE("the answer does not depend on the number of threads", "[slow]") {
  const planner::Sensitivity one = of(small, 1);
  const planner::Sensitivity& two = of_small();
  REQUIRE(one.rows.size() == two.rows.size());
  for (std::size_t i = 0; i < one.rows.size(); ++i) {
    CHECK(one.rows[i].input == two.rows[i].input);
    REQUIRE(one.rows[i].more.metrics.size() == two.rows[i].more.metrics.size());
    for (std::size_t m = 0; m < one.rows[i].more.metrics.size(); ++m)
      CHECK(one.rows[i].more.metrics[m].value == two.rows[i].more.metrics[m].value);
  }
}

}  // namespace sensitivity_test
