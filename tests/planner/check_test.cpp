#include "flowplan/planner/check.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/planner/ceiling.hpp"

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

TEST_CASE("a ratio is over the base's metric, and over the answer's own ceiling") {
  planner::Side base;
  base.metrics = {{"training.mfu", 0.5}};
  Check slower;
  slower.metric = "training.mfu";
  slower.min_ratio = 0.75;
  const auto with_base = [&](const Check& check, const planner::Side* side) {
    return planner::check(with({check}), answer(true), side).at(0);
  };
  const auto pass = with_base(slower, &base);  // 0.4 over 0.5 is 0.8
  CHECK(pass.passed);
  CHECK(pass.title == "training.mfu >= 0.75 x base");
  CHECK(*pass.ratio == Approx(0.8));
  CHECK(*pass.margin == Approx(0.05 / 0.75));
  slower.min_ratio = 0.9;
  CHECK_FALSE(with_base(slower, &base).passed);
  slower.min_ratio.reset();
  slower.max_ratio = 0.8001;
  CHECK(with_base(slower, &base).passed);
  // Of MFU the ceiling is 1: every tensor core at its peak.
  slower.reference = Check::Reference::ceiling;
  slower.max_ratio.reset();
  slower.min_ratio = 0.39;
  const auto of_peak = with_base(slower, nullptr);
  CHECK(of_peak.passed);
  CHECK(*of_peak.ratio == Approx(0.4));
  CHECK(of_peak.title == "training.mfu >= 0.39 x ceiling");
}

TEST_CASE("a ratio over nothing fails and says what is missing") {
  Check check;
  check.metric = "training.mfu";
  check.min_ratio = 0.5;
  const auto without = planner::check(with({check}), answer(true)).at(0);
  CHECK_FALSE(without.passed);
  CHECK_THAT(without.actual, Catch::Contains("--base"));
  CHECK(planner::needs_base(with({check})));
  planner::Side base;
  CHECK(planner::check(with({check}), answer(true), &base).at(0).actual ==
        "the base does not have this metric");
  base.feasible = false;
  base.reason = "memory";
  CHECK_THAT(planner::check(with({check}), answer(true), &base).at(0).actual,
             Catch::Contains("the base does not fit"));
  check.metric = "training.memory_headroom";
  check.reference = Check::Reference::ceiling;
  CHECK_FALSE(planner::needs_base(with({check})));
  CHECK_THAT(planner::check(with({check}), answer(true)).at(0).actual,
             Catch::Contains("has no ceiling") && Catch::Contains("training.step_time"));
}

}  // namespace check_test
