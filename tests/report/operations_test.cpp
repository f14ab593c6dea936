#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_schema.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/report/markdown.hpp"
#include "flowplan/report/sizing.hpp"
#include "flowplan/report/text.hpp"
#include "flowplan/scenario/run.hpp"

namespace report_operations_test {

using namespace flowplan;
using nlohmann::ordered_json;

namespace {

/// Llama 3 8B on 16 nodes with saves to memory and store, bought as blocks; `tokens` may be empty.
scenario::Answer answer(const std::string& tokens = R"("tokens": "1T",)",
                        const std::string& policy = "split") {
  static const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  static const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  REQUIRE(catalog);
  REQUIRE(schema);
  const std::string text = R"({"cluster": {"instance": "p5.48xlarge", "nodes": 16,
    "purchase": "capacity_block"}, "workload": {"kind": "pretraining", "model": "llama3-8b", )" +
                           tokens + R"( "parallelism": {"tp": 1, "pp": 1}},
    "operations": {"checkpoint": {"save_time": "20s", "memory": {"stall": "1s",
      "restore_time": "5s"}}, "spares": 1, "simulation": {"runs": 40, "seed": 3},
      "stragglers": {"share": 0.01, "slowdown": 1.1}, "purchase_limits": ")" +
                           policy + R"("}})";
  const auto document = JsonDocument::parse(text, "test.json");
  REQUIRE(document);
  const auto scenario = scenario::read(*catalog, *document, *schema);
  INFO((scenario ? "" : render(scenario.error())));
  REQUIRE(scenario);
  auto run = scenario::run(*catalog, *scenario, "test");
  INFO((run ? "" : render(run.error())));
  REQUIRE(run);
  REQUIRE(run->operations);
  return std::move(*run);
}

}  // namespace

TEST_CASE("a report with operations says goodput, time and money, and how they come about") {
  const std::string text = report::to_text(report::sizing(answer()));
  for (const char* what :
       {"ETTR", "uptime", "effective MFU", "time with failures", "money with failures",
        "Failures and goodput: where the wall time goes", "computing that is kept",
        "computed again after failures", "communicator init", "waiting for a node",
        "saves into host memory", "Young", "1 node stands ready", "Money with goodput",
        "USD per 10^12 tokens", "energy, an estimate", "stragglers", "(seed 3)",
        "charged up front"}) {
    INFO(what);
    CHECK_THAT(text, Catch::Contains(what));
  }
  CHECK_THAT(report::to_markdown(report::sizing(answer())), Catch::Contains("Money with goodput"));
}

TEST_CASE("without tokens the report shares out a day and has no money with goodput") {
  const std::string text = report::to_text(report::sizing(answer("")));
  CHECK_THAT(text, Catch::Contains("where a day goes"));
  CHECK_THAT(text, !Catch::Contains("Money with goodput"));
}

TEST_CASE("JSON results with operations follow their schema and add up") {
  const auto schema = JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/result.schema.json");
  REQUIRE(schema);
  for (const auto& a : {answer(), answer(""), answer(R"("tokens": "1T",)", "flag")}) {
    const std::string text = report::sizing_json(a);
    const auto document = JsonDocument::parse(text, "result.json");
    REQUIRE(document);
    const Diagnostics faults = validate(*document, *schema);
    INFO(render(faults));
    CHECK(faults.empty());
    const auto json = ordered_json::parse(text);
    const auto& expected = json["operations"]["expected"];
    double sum = 0.0;
    for (const char* part : {"productive", "saving", "recomputed", "down", "waiting"})
      sum += expected[part].get<double>();
    CHECK(sum == Approx(1.0));
    CHECK(json["metrics"]["operations.ettr"]["value"] == expected["ettr"]);
  }
}

}  // namespace report_operations_test
