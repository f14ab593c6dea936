#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/diagnostic.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/planner/diff.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// What became of one check.
struct CheckOutcome {
  std::string title;   ///< "training.mfu >= 0.35"
  std::string metric;  ///< empty for an expectation
  std::string unit;
  std::string expected;  ///< ">= 0.35"
  std::string actual;    ///< "0.412", or why there is no value
  std::optional<double> actual_value;
  std::optional<double> ratio;      ///< of the value over what it is relative to
  bool margin_is_absolute = false;  ///< in the metric's unit: the bound is 0
  std::optional<double> margin;  ///< distance to the nearest bound over that bound; negative: fails
  bool passed = false;
  scenario::Check::Level level = scenario::Check::Level::error;
  std::string message;
  Place place;
};

/// All checks of one scenario.
struct CheckReport {
  std::string file;
  std::string name;  ///< of the scenario
  std::vector<CheckOutcome> outcomes;
  Diagnostics diagnostics;  ///< why the scenario could not be evaluated
  bool infeasible = false;  ///< it does not fit, and no check expects that
  std::string infeasible_reason;

  /// 0, 1 (a check failed), 3 (invalid) or 4 (does not fit unexpectedly). Checks of level warn
  /// count only when `fail_on_warn`.
  [[nodiscard]] int exit_code(bool fail_on_warn) const;
};

/// Whether a check compares with the answer of another scenario or run.
[[nodiscard]] bool needs_base(const scenario::Scenario& scenario);

/// Holds an answer against the scenario's checks, in their order. `answer.feasible()` may be false.
/// `base` is what checks relative to a base compare with; without one they fail and say so.
[[nodiscard]] std::vector<CheckOutcome> check(const scenario::Scenario& scenario,
                                              const scenario::Answer& answer,
                                              const Side* base = nullptr);

/// The gravest of several exit codes: 5, 3, 4, 2, 1, 0.
[[nodiscard]] int gravest(int a, int b);

}  // namespace flowplan::planner
