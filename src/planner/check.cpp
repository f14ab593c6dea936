#include "flowplan/planner/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "flowplan/estimate/metric.hpp"

namespace flowplan::planner {

namespace {

using scenario::Answer;
using scenario::Check;

constexpr int check_failed = 1;
constexpr int invalid_input = 3;
constexpr int infeasible_code = 4;

std::string number(double value) {
  return fmt::format("{:.4g}", value);
}

std::string bounds(const Check& check) {
  if (check.min && check.max)
    return fmt::format("{} to {}", number(*check.min), number(*check.max));
  return check.min ? ">= " + number(*check.min) : "<= " + number(*check.max);
}

/// Distance to the nearest bound, as a share of that bound (absolute for a bound of 0).
double margin(const Check& check, double value) {
  const auto relative = [](double distance, double bound) {
    return bound == 0.0 ? distance : distance / std::abs(bound);
  };
  double least = std::numeric_limits<double>::infinity();
  if (check.min) least = std::min(least, relative(value - *check.min, *check.min));
  if (check.max) least = std::min(least, relative(*check.max - value, *check.max));
  return least;
}

CheckOutcome expectation(const Check& check, const Answer& answer) {
  CheckOutcome outcome;
  outcome.title = "infeasible";
  outcome.expected = check.binding.empty() ? "does not fit" : "does not fit: " + check.binding;
  const std::string binding = answer.binding();
  outcome.passed = !answer.feasible() && (check.binding.empty() || check.binding == binding);
  outcome.actual = answer.feasible() ? "fits" : "does not fit: " + binding;
  if (!check.binding.empty()) outcome.title += " by " + check.binding;
  return outcome;
}

/// Why an answer does not have the metric that a check bounds.
std::string why_absent(const Check& check, const scenario::Scenario& scenario,
                       const Answer& answer) {
  if (!answer.feasible()) return "none: the workload does not fit";
  if (check.metric.find("_usd") != std::string::npos) {
    const catalog::Instance* instance = scenario.cluster.instance;
    return fmt::format("none: no price that it needs is known of {} in {} ({})",
                       instance == nullptr ? "these instances" : instance->id,
                       scenario.cluster.region.value_or("any region"), code_name(Code::no_price));
  }
  return "the answer does not have this metric";
}

CheckOutcome bound(const Check& check, const scenario::Scenario& scenario, const Answer& answer) {
  CheckOutcome outcome;
  outcome.metric = check.metric;
  outcome.unit = find_metric(check.metric)->unit;
  outcome.expected = bounds(check);
  outcome.title = fmt::format("{} {}", check.metric, outcome.expected);
  const double* value = answer.estimate.value(check.metric);
  if (value == nullptr) {
    outcome.actual = why_absent(check, scenario, answer);
    return outcome;
  }
  outcome.actual_value = *value;
  outcome.actual = number(*value);
  outcome.margin = margin(check, *value);
  outcome.margin_is_absolute = check.min.value_or(check.max.value_or(0.0)) == 0.0;
  outcome.passed = *outcome.margin >= 0.0;
  return outcome;
}

}  // namespace

std::vector<CheckOutcome> check(const scenario::Scenario& scenario, const Answer& answer) {
  std::vector<CheckOutcome> outcomes;
  for (const Check& one : scenario.checks) {
    CheckOutcome outcome =
        one.expect_infeasible ? expectation(one, answer) : bound(one, scenario, answer);
    outcome.level = one.level;
    outcome.message = one.message;
    outcome.place = one.place;
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

int CheckReport::exit_code(bool fail_on_warn) const {
  if (!diagnostics.empty()) return flowplan::exit_code(diagnostics);
  if (infeasible) return infeasible_code;
  const bool failed = std::any_of(outcomes.begin(), outcomes.end(), [&](const CheckOutcome& o) {
    return !o.passed && (o.level == Check::Level::error || fail_on_warn);
  });
  return failed ? check_failed : 0;
}

int gravest(int a, int b) {
  constexpr std::array order{5, invalid_input, infeasible_code, 2, check_failed, 0};
  return std::find(order.begin(), order.end(), a) < std::find(order.begin(), order.end(), b) ? a
                                                                                             : b;
}

}  // namespace flowplan::planner
