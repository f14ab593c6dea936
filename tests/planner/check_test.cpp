#include "flowplan/planner/check.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace check_test {

using namespace flowplan;
using scenario::Check;

namespace {

scenario::Scenario with(std::vector<Check> checks) {
  return {"",
          "",
          {},
          {},
          std::move(checks),
          {},
          {},
          {},
          {},
          {},
          JsonDocument::parse("{}", "test").value()};
}

Check bound(const std::string& metric, std::optional<double> min, std::optional<double> max) {
  Check check;
  check.metric = metric;
  check.min = min;
  check.max = max;
  return check;
}

Check infeasible() {
  Check check;
  check.expect_infeasible = true;
  check.binding = "memory";
  return check;
}

scenario::Answer answer(bool fits) {
  scenario::Answer result;
  result.iteration.fits = fits;
  if (fits) result.estimate.add("training.mfu", 0.4);
  result.estimate.add("training.memory_headroom", fits ? 8e9 : -8e9);
  return result;
}

planner::CheckOutcome outcome(const Check& check, bool fits = true) {
  return planner::check(with({check}), answer(fits)).at(0);
}

planner::CheckReport report(std::vector<Check> checks, bool fits = true) {
  planner::CheckReport result;
  const auto scenario = with(std::move(checks));
  result.outcomes = planner::check(scenario, answer(fits));
  result.infeasible = !fits && !scenario.expects_infeasible();
  return result;
}

}  // namespace

TEST_CASE("a bound says expected, actual and margin") {
  const auto pass = outcome(bound("training.mfu", 0.32, {}));
  CHECK(pass.passed);
  CHECK(pass.expected == ">= 0.32");
  CHECK(pass.actual == "0.4");
  CHECK(*pass.margin == Approx(0.25));  // (0.4 - 0.32) / 0.32

  const auto fails = outcome(bound("training.mfu", 0.5, {}));
  CHECK(!fails.passed);
  CHECK(*fails.margin == Approx(-0.2));  // (0.4 - 0.5) / 0.5
}

TEST_CASE("of two bounds the nearer one makes the margin") {
  const auto both = outcome(bound("training.mfu", 0.2, 0.5));
  CHECK(both.passed);
  CHECK(*both.margin == Approx(0.2));  // (0.5 - 0.4) / 0.5 is less than (0.4 - 0.2) / 0.2
  CHECK(!outcome(bound("training.mfu", 0.2, 0.3)).passed);
}

TEST_CASE("a bound itself passes, and a bound of zero has an absolute margin") {
  CHECK(outcome(bound("training.mfu", 0.4, {})).passed);
  const auto zero = outcome(bound("training.memory_headroom", 0.0, {}));
  CHECK(zero.passed);
  CHECK(*zero.margin == 8e9);
}

TEST_CASE("a metric that the answer does not have fails and says so") {
  const auto none = outcome(bound("training.days", {}, 30));
  CHECK(!none.passed);
  CHECK(!none.margin);
  CHECK(none.actual.find("does not have") != std::string::npos);
  CHECK(outcome(bound("training.mfu", 0.1, {}), false).actual.find("does not fit") !=
        std::string::npos);
}

TEST_CASE("an expected infeasibility passes only when it is there") {
  CHECK(outcome(infeasible(), false).passed);
  CHECK(!outcome(infeasible(), true).passed);
  CHECK(report({infeasible()}, false).exit_code(false) == 0);
  CHECK(report({infeasible()}, true).exit_code(false) == 1);
}

TEST_CASE("exit codes: failed 1, unexpectedly infeasible 4, invalid 3") {
  CHECK(report({bound("training.mfu", 0.1, {})}).exit_code(false) == 0);
  CHECK(report({bound("training.mfu", 0.9, {})}).exit_code(false) == 1);
  CHECK(report({bound("training.memory_headroom", 0, {})}, false).exit_code(false) == 4);
  planner::CheckReport invalid;
  invalid.diagnostics.push_back(error(Code::json_syntax, "broken"));
  CHECK(invalid.exit_code(false) == 3);
}

TEST_CASE("a warning fails only when asked for") {
  Check check = bound("training.mfu", 0.9, {});
  check.level = Check::Level::warn;
  CHECK(report({check}).exit_code(false) == 0);
  CHECK(report({check}).exit_code(true) == 1);
}

TEST_CASE("the gravest of several codes counts: 5, 3, 4, 2, 1, 0") {
  CHECK(planner::gravest(0, 1) == 1);
  CHECK(planner::gravest(1, 4) == 4);
  CHECK(planner::gravest(4, 3) == 3);
  CHECK(planner::gravest(3, 5) == 5);
  CHECK(planner::gravest(0, 0) == 0);
}

}  // namespace check_test
