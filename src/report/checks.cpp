#include "flowplan/report/checks.hpp"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/format.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using planner::CheckOutcome;
using planner::CheckReport;
using scenario::Check;

std::string verdict(const CheckOutcome& outcome) {
  if (outcome.passed) return "pass";
  return outcome.level == Check::Level::warn ? "warn" : "FAIL";
}

std::string actual(const CheckOutcome& outcome) {
  if (!outcome.actual_value) return outcome.actual;
  const std::string value = metric_value(*outcome.actual_value, outcome.unit);
  return outcome.ratio ? fmt::format("{}, {} x", value, significant(*outcome.ratio)) : value;
}

std::string margin(const CheckOutcome& outcome) {
  if (!outcome.margin) return "-";
  return outcome.margin_is_absolute ? metric_value(*outcome.margin, outcome.unit)
                                    : percent(*outcome.margin);
}

Section section(const CheckReport& report) {
  Section section{report.file.empty() ? report.name : report.file, {}, {}, {}};
  if (!report.diagnostics.empty()) {
    section.remarks.push_back(fmt::format("not evaluated: {}", report.diagnostics[0].message));
    return section;
  }
  if (report.infeasible) section.remarks.push_back("does not fit: " + report.infeasible_reason);
  if (report.outcomes.empty()) {
    section.remarks.emplace_back("has no checks");
    return section;
  }
  section.table =
      Table{{{"", false}, {"check", false}, {"actual"}, {"margin"}, {"says", false}}, {}};
  for (const CheckOutcome& outcome : report.outcomes) {
    section.table->rows.push_back({verdict(outcome), outcome.title, actual(outcome),
                                   margin(outcome), outcome.passed ? "" : outcome.message});
  }
  return section;
}

struct Totals {
  std::size_t checks = 0, failed = 0, warned = 0, invalid = 0, infeasible = 0;
};

Totals count(const std::vector<CheckReport>& reports) {
  Totals totals;
  for (const CheckReport& report : reports) {
    totals.invalid += report.diagnostics.empty() ? 0 : 1;
    totals.infeasible += report.infeasible ? 1 : 0;
    totals.checks += report.outcomes.size();
    for (const CheckOutcome& outcome : report.outcomes) {
      if (outcome.passed) continue;
      (outcome.level == Check::Level::warn ? totals.warned : totals.failed) += 1;
    }
  }
  return totals;
}

}  // namespace

Document checks(const std::vector<CheckReport>& reports) {
  const Totals totals = count(reports);
  std::string lead = fmt::format("{} checks in {} scenarios: {} failed", totals.checks,
                                 reports.size(), totals.failed);
  if (totals.warned > 0) lead += fmt::format(", {} warned", totals.warned);
  if (totals.infeasible > 0) lead += fmt::format(", {} unexpectedly infeasible", totals.infeasible);
  if (totals.invalid > 0) lead += fmt::format(", {} invalid", totals.invalid);
  Document document{"", lead, {}};
  for (const CheckReport& report : reports)
    document.sections.push_back(section(report));
  return document;
}

std::string checks_json(const std::vector<CheckReport>& reports) {
  Json scenarios = Json::array();
  for (const CheckReport& report : reports) {
    Json outcomes = Json::array();
    for (const CheckOutcome& o : report.outcomes) {
      outcomes.push_back({{"title", o.title},
                          {"metric", o.metric.empty() ? Json(nullptr) : Json(o.metric)},
                          {"unit", o.unit},
                          {"level", o.level == Check::Level::warn ? "warn" : "error"},
                          {"passed", o.passed},
                          {"expected", o.expected},
                          {"actual", o.actual_value ? Json(*o.actual_value) : Json(o.actual)},
                          {"ratio", o.ratio ? Json(*o.ratio) : Json(nullptr)},
                          {"margin", o.margin ? Json(*o.margin) : Json(nullptr)},
                          {"margin_is_absolute", o.margin_is_absolute},
                          {"message", o.message},
                          {"line", o.place.line}});
    }
    Json diagnostics = Json::array();
    for (const Diagnostic& d : report.diagnostics) {
      diagnostics.push_back({{"code", code_name(d.code)},
                             {"message", d.message},
                             {"line", d.place.line},
                             {"column", d.place.column},
                             {"pointer", d.place.pointer},
                             {"hint", d.hint}});
    }
    scenarios.push_back({{"file", report.file},
                         {"name", report.name},
                         {"infeasible", report.infeasible},
                         {"checks", std::move(outcomes)},
                         {"diagnostics", std::move(diagnostics)}});
  }
  const Totals totals = count(reports);
  Json json{{"format_version", result_format_version},
            {"kind", "checks"},
            {"checks", totals.checks},
            {"failed", totals.failed},
            {"warned", totals.warned},
            {"infeasible", totals.infeasible},
            {"invalid", totals.invalid},
            {"scenarios", std::move(scenarios)}};
  return json.dump(2) + "\n";
}

}  // namespace flowplan::report
