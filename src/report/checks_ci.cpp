// What failed, for the places where code is reviewed.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/report/checks.hpp"
#include "json_format.hpp"

namespace flowplan::report {

namespace {

using planner::CheckOutcome;
using planner::CheckReport;
using scenario::Check;

/// One failure with its place.
struct Finding {
  std::string rule;  ///< "check", "does-not-fit" or a diagnostic's code
  bool is_error = true;
  std::string file, message;
  int line = 0, column = 0;
};

std::string outcome_text(const CheckOutcome& outcome) {
  std::string text =
      fmt::format("{}: expected {}, actual {}", outcome.title, outcome.expected, outcome.actual);
  if (!outcome.message.empty()) text += "; " + outcome.message;
  return text;
}

std::vector<Finding> findings_of(const std::vector<CheckReport>& reports) {
  std::vector<Finding> findings;
  for (const CheckReport& report : reports) {
    for (const Diagnostic& fault : report.diagnostics)
      findings.push_back({code_name(fault.code), true,
                          fault.place.file.empty() ? report.file : fault.place.file,
                          fault.hint.empty() ? fault.message : fault.message + "; " + fault.hint,
                          fault.place.line, fault.place.column});
    if (report.infeasible)
      findings.push_back({"does-not-fit", true, report.file, report.infeasible_reason, 0, 0});
    for (const CheckOutcome& outcome : report.outcomes) {
      if (outcome.passed) continue;
      findings.push_back({"check", outcome.level == Check::Level::error,
                          outcome.place.file.empty() ? report.file : outcome.place.file,
                          outcome_text(outcome), outcome.place.line, outcome.place.column});
    }
  }
  return findings;
}

std::string about_rule(const std::string& rule) {
  if (rule == "check") return "A check of a scenario failed.";
  if (rule == "does-not-fit") return "A workload does not fit, and no check expects that.";
  for (const CodeInfo& info : code_table())
    if (code_name(info.code) == rule) return std::string(info.meaning);
  return rule;
}

/// As SARIF and GitHub want paths: from the folder in which the program runs.
std::string relative(std::string path) {
  while (path.rfind("./", 0) == 0)
    path.erase(0, 2);
  return path;
}

/// GitHub's escapes of a workflow command's text; of a property ':' and ',' too.
std::string escaped_command(const std::string& text, bool property) {
  std::string out;
  for (const char c : text) {
    if (c == '%')
      out += "%25";
    else if (c == '\r')
      out += "%0D";
    else if (c == '\n')
      out += "%0A";
    else if (property && c == ':')
      out += "%3A";
    else if (property && c == ',')
      out += "%2C";
    else
      out += c;
  }
  return out;
}

}  // namespace

std::string checks_sarif(const std::vector<CheckReport>& reports, const std::string& version) {
  const std::vector<Finding> findings = findings_of(reports);
  std::set<std::string> used;
  for (const Finding& one : findings)
    used.insert(one.rule);
  Json rules = Json::array();
  for (const std::string& rule : used)
    rules.push_back({{"id", rule}, {"shortDescription", {{"text", about_rule(rule)}}}});
  Json results = Json::array();
  for (const Finding& one : findings) {
    Json region{{"startLine", std::max(1, one.line)}};
    if (one.column > 0) region["startColumn"] = one.column;
    results.push_back(
        {{"ruleId", one.rule},
         {"level", one.is_error ? "error" : "warning"},
         {"message", {{"text", one.message}}},
         {"locations", Json::array({{{"physicalLocation",
                                      {{"artifactLocation", {{"uri", relative(one.file)}}},
                                       {"region", region}}}}})}});
  }
  const Json driver{{"name", "flowplan"}, {"version", version}, {"rules", rules}};
  const Json run{{"tool", {{"driver", driver}}}, {"results", results}};
  const Json sarif{{"$schema",
                    "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/master/Schemata/"
                    "sarif-schema-2.1.0.json"},
                   {"version", "2.1.0"},
                   {"runs", Json::array({run})}};
  return sarif.dump(2) + "\n";
}

std::string checks_github(const std::vector<CheckReport>& reports) {
  std::string text;
  for (const Finding& one : findings_of(reports)) {
    text += fmt::format("::{} file={}", one.is_error ? "error" : "warning",
                        escaped_command(relative(one.file), true));
    if (one.line > 0) text += fmt::format(",line={}", one.line);
    if (one.column > 0) text += fmt::format(",col={}", one.column);
    text += fmt::format(",title={}::{}\n", escaped_command("flowplan " + one.rule, true),
                        escaped_command(one.message, false));
  }
  return text;
}

}  // namespace flowplan::report
