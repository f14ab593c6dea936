#include "flowplan/report/checks.hpp"

#include <algorithm>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <pugixml.hpp>

#include "../export/external_tool.hpp"
#include "../missing_tool.hpp"
#include "flowplan/report/text.hpp"

namespace checks_test {

using namespace flowplan;
using planner::CheckOutcome;
using planner::CheckReport;

namespace {

CheckOutcome outcome(bool passed, scenario::Check::Level level) {
  CheckOutcome one;
  one.title = "training.mfu >= 0.5";
  one.metric = "training.mfu";
  one.expected = ">= 0.5";
  one.actual = "0.4";
  one.actual_value = 0.4;
  one.margin = -0.2;
  one.passed = passed;
  one.level = level;
  one.message = "the budget needs <it>";
  one.place.file = "a.json";
  one.place.line = 7;
  return one;
}

std::vector<CheckReport> reports() {
  CheckReport mixed{"a.json", "A", {}, {}, false, ""};
  mixed.outcomes = {outcome(true, scenario::Check::Level::error),
                    outcome(false, scenario::Check::Level::error),
                    outcome(false, scenario::Check::Level::warn)};
  CheckReport invalid{"b.json", "", {}, {error(Code::json_syntax, "broken")}, false, ""};
  CheckReport infeasible{"c.json", "C", {}, {}, true, "stage 0: activations"};
  return {mixed, invalid, infeasible};
}

}  // namespace

TEST_CASE("the text counts first, then shows every check") {
  const std::string text = report::to_text(report::checks(reports()));
  CHECK(text.rfind("3 checks in 3 scenarios: 1 failed, 1 warned, 1 unexpectedly infeasible, 1 "
                   "invalid\n",
                   0) == 0);
  CHECK(text.find("FAIL  training.mfu >= 0.5") != std::string::npos);
  CHECK(text.find("-20.0 %") != std::string::npos);
  CHECK(text.find("the budget needs <it>") != std::string::npos);
  CHECK(text.find("not evaluated: broken") != std::string::npos);
}

TEST_CASE("JUnit has a case a check, and counts that agree with its cases") {
  pugi::xml_document xml;
  REQUIRE(xml.load_string(report::checks_junit(reports()).c_str()));
  std::size_t suites = 0;
  for (const pugi::xml_node suite : xml.child("testsuites").children("testsuite")) {
    ++suites;
    std::size_t cases = 0;
    std::size_t failures = 0;
    std::size_t errors = 0;
    for (const pugi::xml_node one : suite.children("testcase")) {
      ++cases;
      failures += one.child("failure") ? 1 : 0;
      errors += one.child("error") ? 1 : 0;
    }
    CHECK(suite.attribute("tests").as_uint() == cases);
    CHECK(suite.attribute("failures").as_uint() == failures);
    CHECK(suite.attribute("errors").as_uint() == errors);
  }
  CHECK(suites == 3);
  const auto suite = xml.child("testsuites").child("testsuite");
  CHECK(suite.attribute("failures").as_uint() == 1);
  const auto failed = suite.find_child([](pugi::xml_node n) { return bool(n.child("failure")); });
  const std::string text = failed.child("failure").text().get();
  CHECK(text.starts_with("a.json:7: expected"));
  CHECK(text.find("the budget needs <it>") != std::string::npos);
}

TEST_CASE("JUnit follows the schema of what CI servers read") {
  if (!exporting::has_tool("xmllint")) {
    missing_tool("skipped: xmllint is not installed (libxml2-utils)");
    return;
  }
  const exporting::ToolFolder folder("flowplan-junit");
  const auto checked = [&](const std::string& text) {
    return exporting::run_tool("xmllint --noout --schema " FLOWPLAN_SOURCE_DIR
                               "/tests/report/junit.xsd " +
                               folder.write("checks.xml", text));
  };
  const std::string good = report::checks_junit(reports());
  const auto ran = checked(good);
  INFO(ran.output);
  CHECK(ran.code == 0);
  CHECK(checked(report::checks_junit({})).code == 0);
  // What the schemas in use require, and what Jenkins' does not know, is not let through.
  const auto broken = [&](const std::string& what, const std::string& by) {
    std::string bad = good;
    bad.replace(bad.find(what), what.size(), by);
    return checked(bad).code != 0;
  };
  for (const char* required : {"time=\"0\"", "skipped=\"0\"", "type=\"failure\""}) {
    CAPTURE(required);
    CHECK(broken(required, ""));
  }
  CHECK(broken("classname=", "file=\"a.json\" classname="));
  CHECK(broken("time=\"0\"", "time=\"soon\""));
}

TEST_CASE("JSON gives expected, actual and margin of every check") {
  const auto json = nlohmann::json::parse(report::checks_json(reports()));
  CHECK(json["failed"] == 1);
  CHECK(json["invalid"] == 1);
  CHECK(json["scenarios"][0]["checks"][1]["actual"] == 0.4);
  CHECK(json["scenarios"][0]["checks"][1]["margin"] == -0.2);
  CHECK(json["scenarios"][0]["checks"][1]["line"] == 7);
}

TEST_CASE("SARIF has only failures, each with its rule, file and line") {
  const auto sarif = nlohmann::json::parse(report::checks_sarif(reports(), "1.2.3"));
  CHECK(sarif["version"] == "2.1.0");
  const auto& run = sarif["runs"][0];
  CHECK(run["tool"]["driver"]["name"] == "flowplan");
  CHECK(run["tool"]["driver"]["version"] == "1.2.3");
  // Of three checks two failed; one file is invalid, one workload does not fit.
  REQUIRE(run["results"].size() == 4);
  CHECK(run["results"][0]["ruleId"] == "check");
  CHECK(run["results"][0]["level"] == "error");
  CHECK(run["results"][1]["level"] == "warning");
  CHECK(run["results"][2]["ruleId"] == "FP010");
  CHECK(run["results"][3]["ruleId"] == "does-not-fit");
  const auto& place = run["results"][0]["locations"][0]["physicalLocation"];
  CHECK(place["artifactLocation"]["uri"] == "a.json");
  CHECK(place["region"]["startLine"] == 7);
  for (const auto& result : run["results"]) {
    bool known = false;
    for (const auto& rule : run["tool"]["driver"]["rules"])
      known = known || rule["id"] == result["ruleId"];
    CHECK(known);
    // What SARIF 2.1.0 requires of a result and of a place, and what code scanning needs beside it:
    // a message with text, a level that it knows, a path relative to the repository.
    CHECK_FALSE(result["message"]["text"].get<std::string>().empty());
    CHECK((result["level"] == "error" || result["level"] == "warning"));
    REQUIRE(result["locations"].size() == 1);
    const std::string uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"];
    CHECK_FALSE(uri.empty());
    CHECK(uri.front() != '/');
    CHECK(uri.find("..") == uri.npos);
    CHECK(result["locations"][0]["physicalLocation"]["region"]["startLine"] >= 1);
  }
}

TEST_CASE("GitHub's annotations are one line a failure, escaped") {
  auto all = reports();
  all[0].file = "a,b.json";
  all[0].outcomes[1].place.file = "./a,b.json";
  all[0].outcomes[1].message = "100 %\nof it";
  const std::string text = report::checks_github(all);
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  CHECK(text.find("::error file=a%2Cb.json,line=7,title=flowplan check::") == 0);
  CHECK(text.find("100 %25%0Aof it") != std::string::npos);
  CHECK(text.find("::warning file=") != std::string::npos);
}

}  // namespace checks_test
