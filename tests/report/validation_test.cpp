#include "flowplan/report/validation.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/report/text.hpp"

namespace validation_test {

using namespace flowplan;

namespace {

std::vector<accuracy::Report> reports() {
  accuracy::Report report;
  report.file = "rows.csv";
  report.rows = 3;
  report.predicted = 2;
  report.skipped = {{"no layout", 1}};
  report.details = {{"a", "step_time", 2.0, 2.2, "", {{"gpu", "H100"}}},
                    {"b", "step_time", 4.0, 3.0, "", {{"gpu", "H100"}}},
                    {"c", "step_time", 1.0, std::nullopt, "no layout", {}}};
  report.overall = {2, 17.5, 17.5, 23.5, -7.5};
  report.groups = {{{{"gpu", "H100"}}, report.overall}};
  return {report};
}

}  // namespace

TEST_CASE("JSON has the figures of every file and group, rows only when asked for") {
  const auto json = nlohmann::json::parse(report::validation_json(reports(), false));
  const auto& file = json["files"][0];
  CHECK(file["file"] == "rows.csv");
  CHECK(file["rows"] == 3);
  CHECK(file["predicted"] == 2);
  CHECK(file["skipped"]["no layout"] == 1);
  CHECK(file["overall"]["median_ape"] == 17.5);
  CHECK(file["groups"][0]["by"]["gpu"] == "H100");
  CHECK(file["groups"][0]["p90_ape"] == 23.5);
  CHECK(!file.contains("rows_detail"));
}

TEST_CASE("JSON rows give measured, predicted and the error in percent") {
  const auto json = nlohmann::json::parse(report::validation_json(reports(), true));
  const auto& rows = json["files"][0]["rows_detail"];
  REQUIRE(rows.size() == 2);  // a skipped row has no prediction
  CHECK(rows[0]["id"] == "a");
  CHECK(rows[0]["ape"] == Approx(10.0));
  CHECK(rows[1]["ape"] == Approx(25.0));
}

TEST_CASE("the text shows skipped rows by reason and the worst rows first") {
  const std::string text = report::to_text(report::validation(reports(), false));
  CHECK(text.find("no layout") != std::string::npos);
  CHECK(text.find("-25.0") < text.find("+10.0"));
}

}  // namespace validation_test
