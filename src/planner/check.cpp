#include "flowplan/planner/check.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flowplan/estimate/metric.hpp"
#include "flowplan/planner/ceiling.hpp"

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

bool is_ratio(const Check& check) {
  return check.min_ratio || check.max_ratio;
}

std::string_view reference_name(const Check& check) {
  return check.reference == Check::Reference::base ? "base" : "ceiling";
}

/// In the metric's unit, or over what the check is relative to.
struct Bounds {
  std::optional<double> min, max;
};

Bounds bounds_of(const Check& check) {
  return is_ratio(check) ? Bounds{check.min_ratio, check.max_ratio} : Bounds{check.min, check.max};
}

std::string bounds_text(const Check& check) {
  const auto [min, max] = bounds_of(check);
  const std::string text = min && max ? fmt::format("{} to {}", number(*min), number(*max))
                           : min      ? ">= " + number(*min)
                                      : "<= " + number(*max);
  return is_ratio(check) ? fmt::format("{} x {}", text, reference_name(check)) : text;
}

/// Distance to the nearest bound, as a share of that bound (absolute for a bound of 0).
double margin(const Bounds& check, double value) {
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

/// What a ratio is over, or why there is nothing.
struct ReferenceValue {
  std::optional<double> value;
  std::string why_not;
};

ReferenceValue reference_of(const Check& check, const Answer& answer, const Side* base) {
  if (check.reference == Check::Reference::ceiling) {
    const auto ceiling = ceiling_of(check.metric, answer);
    if (ceiling && *ceiling > 0.0) return {ceiling, {}};
    const auto all = metrics_with_ceiling();
    const bool known = std::find(all.begin(), all.end(), check.metric) != all.end();
    return {{},
            known ? "the answer does not have what the ceiling is made of"
                  : fmt::format("this metric has no ceiling; those that have: {}",
                                fmt::join(all, ", "))};
  }
  if (base == nullptr) return {{}, "there is no base: --base RESULT or --base SCENARIO"};
  if (!base->feasible) return {{}, "the base does not fit: " + base->reason};
  for (const Metric& metric : base->metrics) {
    if (metric.id != check.metric) continue;
    if (metric.value != 0.0) return {metric.value, {}};
    return {{}, "the base has 0"};
  }
  return {{}, "the base does not have this metric"};
}

CheckOutcome bound(const Check& check, const scenario::Scenario& scenario, const Answer& answer,
                   const Side* base) {
  CheckOutcome outcome;
  outcome.metric = check.metric;
  outcome.unit = find_metric(check.metric)->unit;
  outcome.expected = bounds_text(check);
  outcome.title = fmt::format("{} {}", check.metric, outcome.expected);
  const double* value = answer.estimate.value(check.metric);
  if (value == nullptr) {
    outcome.actual = why_absent(check, scenario, answer);
    return outcome;
  }
  const Bounds limits = bounds_of(check);
  double held = *value;
  if (is_ratio(check)) {
    const ReferenceValue reference = reference_of(check, answer, base);
    if (!reference.value) {
      outcome.actual = reference.why_not;
      return outcome;
    }
    held = *value / *reference.value;
    outcome.ratio = held;
  }
  outcome.actual_value = *value;
  outcome.actual = outcome.ratio ? fmt::format("{} ({} x {})", number(*value), number(held),
                                               reference_name(check))
                                 : number(*value);
  outcome.margin = margin(limits, held);
  outcome.margin_is_absolute = limits.min.value_or(limits.max.value_or(0.0)) == 0.0;
  outcome.passed = *outcome.margin >= 0.0;
  return outcome;
}

}  // namespace

bool needs_base(const scenario::Scenario& scenario) {
  return std::any_of(scenario.checks.begin(), scenario.checks.end(), [](const Check& check) {
    return is_ratio(check) && check.reference == Check::Reference::base;
  });
}

std::vector<CheckOutcome> check(const scenario::Scenario& scenario, const Answer& answer,
                                const Side* base) {
  std::vector<CheckOutcome> outcomes;
  for (const Check& one : scenario.checks) {
    CheckOutcome outcome =
        one.expect_infeasible ? expectation(one, answer) : bound(one, scenario, answer, base);
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
