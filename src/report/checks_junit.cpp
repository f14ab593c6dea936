#include <cstddef>
#include <sstream>
#include <string>

#include <fmt/format.h>
#include <pugixml.hpp>

#include "flowplan/report/checks.hpp"

namespace flowplan::report {

namespace {

using planner::CheckOutcome;
using planner::CheckReport;
using scenario::Check;

std::string where(const Place& place) {
  return place.line > 0 ? fmt::format("{}:{}", place.file, place.line) : place.file;
}

pugi::xml_node add_case(pugi::xml_node suite, const CheckReport& report, const std::string& name) {
  pugi::xml_node node = suite.append_child("testcase");
  node.append_attribute("name") = name.c_str();
  node.append_attribute("classname") = report.name.c_str();
  node.append_attribute("time") = "0";  // required by Surefire's schema; none is taken
  return node;
}

void add_fault(pugi::xml_node node, const char* element, const std::string& message,
               const std::string& text) {
  pugi::xml_node fault = node.append_child(element);
  fault.append_attribute("message") = message.c_str();
  fault.append_attribute("type") = element;
  fault.text().set(text.c_str());
}

void add_outcome(pugi::xml_node suite, const CheckReport& report, const CheckOutcome& outcome,
                 std::size_t& failures) {
  pugi::xml_node node = add_case(suite, report, outcome.title);
  if (outcome.passed) return;
  const std::string message =
      fmt::format("expected {}, actual {}", outcome.expected, outcome.actual);
  std::string text = fmt::format("{}: {}\n", where(outcome.place), message);
  if (outcome.margin && !outcome.margin_is_absolute) {
    text += fmt::format("margin {:.1f} %\n", 100.0 * *outcome.margin);
  }
  if (!outcome.message.empty()) text += outcome.message + "\n";
  if (outcome.level == Check::Level::warn) {
    node.append_child("system-out").text().set(("warning: " + text).c_str());
    return;
  }
  ++failures;
  add_fault(node, "failure", message, text);
}

}  // namespace

std::string checks_junit(const std::vector<CheckReport>& reports) {
  pugi::xml_document document;
  pugi::xml_node declaration = document.append_child(pugi::node_declaration);
  declaration.append_attribute("version") = "1.0";
  declaration.append_attribute("encoding") = "UTF-8";
  pugi::xml_node root = document.append_child("testsuites");
  root.append_attribute("name") = "flowplan check";
  std::size_t all_tests = 0, all_failures = 0, all_errors = 0;
  for (const CheckReport& report : reports) {
    pugi::xml_node suite = root.append_child("testsuite");
    suite.append_attribute("name") = report.file.c_str();
    std::size_t tests = report.outcomes.size();
    std::size_t failures = 0;
    std::size_t errors = 0;
    if (!report.diagnostics.empty()) {
      ++tests;
      ++errors;
      add_fault(add_case(suite, report, "scenario is valid"), "error",
                report.diagnostics[0].message, render(report.diagnostics));
    }
    if (report.infeasible) {
      ++tests;
      ++failures;
      add_fault(add_case(suite, report, "workload fits"), "failure", "does not fit",
                report.infeasible_reason);
    }
    for (const CheckOutcome& outcome : report.outcomes)
      add_outcome(suite, report, outcome, failures);
    suite.append_attribute("tests") = tests;
    suite.append_attribute("failures") = failures;
    suite.append_attribute("errors") = errors;
    suite.append_attribute("skipped") = 0;
    all_tests += tests;
    all_failures += failures;
    all_errors += errors;
  }
  root.append_attribute("tests") = all_tests;
  root.append_attribute("failures") = all_failures;
  root.append_attribute("errors") = all_errors;
  std::ostringstream text;
  document.save(text, "  ");
  return text.str();
}

}  // namespace flowplan::report
