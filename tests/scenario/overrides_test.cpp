#include "flowplan/scenario/overrides.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace overrides_test {

using namespace flowplan;
using nlohmann::ordered_json;

namespace {

JsonDocument document(const std::string& text) {
  return JsonDocument::parse(text, "scenario.json").value();
}

const JsonDocument& schema() {
  static const JsonDocument read =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json").value();
  return read;
}

ordered_json overridden(const std::string& text, const std::vector<std::string>& overrides) {
  return scenario::with_overrides(document(text), schema(), overrides).value().root();
}

Diagnostic fault(const std::vector<std::string>& overrides) {
  const auto result = scenario::with_overrides(document("{}"), schema(), overrides);
  REQUIRE(!result);
  REQUIRE(result.error().size() == 1);
  return result.error()[0];
}

}  // namespace

TEST_CASE("an override replaces a value and leaves the rest") {
  const auto json = overridden(R"({"workload": {"micro_batch": 1, "seq_len": 4096}})",
                               {"workload.micro_batch=2"});
  CHECK(json["workload"]["micro_batch"] == 2);
  CHECK(json["workload"]["seq_len"] == 4096);
}

TEST_CASE("an override adds what is missing, with the objects on its way") {
  CHECK(overridden("{}", {"workload.parallelism.tp=4"})["workload"]["parallelism"]["tp"] == 4);
}

TEST_CASE("a value that is not JSON is a string") {
  const auto json = overridden("{}", {"workload.tokens=15T", "cluster.region=us-west-2"});
  CHECK(json["workload"]["tokens"] == "15T");
  CHECK(json["cluster"]["region"] == "us-west-2");
}

TEST_CASE("count and nodes are one number: an override of one replaces the other") {
  const std::string text = R"({"cluster": {"nodes": 64}})";
  const auto json = overridden(text, {"cluster.count=8"});
  CHECK(json["cluster"] == ordered_json{{"count", 8}});
  // Both stated is for the reader of the scenario to judge.
  CHECK(overridden(text, {"cluster.count=8", "cluster.nodes=9"})["cluster"].size() == 2);
}

TEST_CASE("a path leads through what the schema refers to") {
  const auto json = overridden("{}", {"storage.checkpoint.store.access=ena"});
  CHECK(json["storage"]["checkpoint"]["store"]["access"] == "ena");
}

TEST_CASE("the last of two overrides of one value holds") {
  const auto json = overridden("{}", {"workload.micro_batch=2", "workload.micro_batch=4"});
  CHECK(json["workload"]["micro_batch"] == 4);
}

TEST_CASE("an override reaches into lists by position, one beyond the end appends") {
  const std::string text = R"({"checks": [{"metric": "training.mfu", "min": 0.3}]})";
  CHECK(overridden(text, {"checks.0.min=0.5"})["checks"][0]["min"] == 0.5);
  CHECK(overridden(text, {"checks.1.metric=training.days"})["checks"][1]["metric"] ==
        "training.days");
  const auto beyond = scenario::with_overrides(document(text), schema(),
                                               std::vector<std::string>{"checks.7.min=1"});
  REQUIRE(!beyond);
  CHECK(beyond.error()[0].code == Code::value_out_of_range);
}

TEST_CASE("an unknown path is refused with the nearest one") {
  const Diagnostic d = fault({"workload.micro_bacth=2"});
  CHECK(d.code == Code::unknown_key);
  CHECK(d.hint == "did you mean `workload.micro_batch`?");
  CHECK(d.place.file == "--set workload.micro_bacth=2");
}

TEST_CASE("an override without = is a usage error") {
  CHECK(fault({"workload.micro_batch"}).code == Code::usage);
  CHECK(fault({"=2"}).code == Code::usage);
}

TEST_CASE("every wrong override is reported") {
  const auto result =
      scenario::with_overrides(document("{}"), schema(), std::vector<std::string>{"a=1", "b=2"});
  REQUIRE(!result);
  CHECK(result.error().size() == 2);
}

}  // namespace overrides_test
