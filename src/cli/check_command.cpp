#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "answer_side.hpp"
#include "command.hpp"
#include "fault_place.hpp"
#include "flowplan/planner/check.hpp"
#include "flowplan/report/checks.hpp"
#include "flowplan/report/markdown.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"
#include "input.hpp"

namespace flowplan::cli {

namespace {

namespace fs = std::filesystem;

/// Hugging Face configs that scenarios name may stand beside them.
bool is_model_config(const std::string& path) {
  constexpr std::string_view ending = ".config.json";
  return path.size() > ending.size() && path.ends_with(ending);
}

/// Files as given, folders as all the .json files in them that are no models' configs, in order of
/// their names.
std::vector<std::string> scenario_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code ignored;
    if (!fs::is_directory(path, ignored)) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> inside;
    for (const auto& entry : fs::recursive_directory_iterator(path, ignored)) {
      if (entry.is_regular_file() && entry.path().extension() == ".json" &&
          !is_model_config(entry.path().string())) {
        inside.push_back(entry.path().string());
      }
    }
    std::sort(inside.begin(), inside.end());
    files.insert(files.end(), inside.begin(), inside.end());
  }
  return files;
}

/// The base of one scenario: the file that --base names, or the one of that name in its folder.
Result<planner::Side> base_of(const Arguments& arguments, const catalog::Catalog& catalog,
                              const JsonDocument& schema, const std::string& file,
                              const scenario::Scenario& scenario) {
  const auto named = arguments.value("base");
  if (!named) {
    return fail(error(Code::bad_check, scenario.document.place("/checks"),
                      "checks are relative to a base, and none is given",
                      "--base RESULT.json (of `flowplan run -o json=`), --base SCENARIO.json, or "
                      "a folder with files of the same names"));
  }
  std::error_code ignored;
  const std::string path = fs::is_directory(*named, ignored)
                               ? (fs::path(*named) / fs::path(file).filename()).string()
                               : *named;
  return answer_side(catalog, schema, path, {}, "check");
}

planner::CheckReport evaluate(const Arguments& arguments, const catalog::Catalog& catalog,
                              const JsonDocument& schema, const std::string& file) {
  planner::CheckReport report;
  report.file = file;
  const auto document = scenario_document(arguments, schema, file, "check");
  if (!document) {
    report.diagnostics = document.error();
    return report;
  }
  const auto overrides = arguments.values("set");
  const auto scenario = scenario::read(catalog, *document, schema);
  if (!scenario) {
    report.diagnostics = placed_in(scenario::at_overrides(scenario.error(), overrides), file);
    return report;
  }
  report.name = scenario->name;
  auto answer = scenario::run(catalog, *scenario, FLOWPLAN_VERSION);
  if (!answer) {
    report.diagnostics =
        placed_in(scenario::at_overrides(std::move(answer.error()), overrides), file);
    return report;
  }
  report.name = answer->name;
  std::optional<planner::Side> base;
  if (planner::needs_base(*scenario)) {
    auto found = base_of(arguments, catalog, schema, file, *scenario);
    if (!found) {
      report.diagnostics = std::move(found.error());
      return report;
    }
    base = std::move(*found);
  }
  report.outcomes = planner::check(*scenario, *answer, base ? &*base : nullptr);
  report.infeasible = !answer->feasible() && !scenario->expects_infeasible();
  if (report.infeasible) report.infeasible_reason = answer->reason();
  return report;
}

/// Under GitHub Actions: annotations on standard error, which the runner reads too, and the table
/// at the end of the step's summary.
Result<void> tell_github(Session& session, const std::vector<planner::CheckReport>& reports) {
  if (!session.environment.github_actions) return {};
  session.err << report::checks_github(reports) << std::flush;
  const std::string& path = session.environment.github_step_summary;
  if (path.empty()) return {};
  std::ofstream summary(path, std::ios::app | std::ios::binary);
  summary << report::to_markdown(report::checks(reports)) << std::flush;
  if (!summary)
    return fail(
        error(Code::file_unreadable, in_file(path), "the step's summary cannot be written"));
  return {};
}

int check(const Arguments& arguments, Session& session) {
  const auto files = scenario_files(arguments.positionals);
  if (files.empty()) {
    return refuse(session, error(Code::file_not_found, "these folders hold no .json file"));
  }
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return refuse(session, schema.error());

  std::vector<planner::CheckReport> reports;
  int code = 0;
  const bool fail_on_warn = arguments.value("fail-on") == "warn";
  for (const std::string& file : files) {
    reports.push_back(evaluate(arguments, *catalog, *schema, file));
    if (!reports.back().diagnostics.empty()) refuse(session, reports.back().diagnostics);
    const planner::CheckReport& last = reports.back();
    code = planner::gravest(code, last.diagnostics.empty() ? last.exit_code(fail_on_warn)
                                                           : exit_code_of(last.diagnostics));
  }
  if (const auto told = tell_github(session, reports); !told) return refuse(session, told.error());
  return emit(
      arguments, session,
      renderings(session, [&] { return report::checks(reports); },
                 {{"json", [&] { return report::checks_json(reports); }},
                  {"junit", [&] { return report::checks_junit(reports); }},
                  {"sarif", [&] { return report::checks_sarif(reports, FLOWPLAN_VERSION); }},
                  {"github", [&] { return report::checks_github(reports); }}}),
      code);
}

}  // namespace

Command check_command() {
  const std::vector<std::string_view> formats{"text",  "markdown", "json", "junit",
                                              "sarif", "github",   "html", "csv"};
  return {
      "check",
      "Evaluate the checks of scenarios, for CI.",
      "Exit code 1: a check failed; 4: a workload does not fit and no check expects that. Checks "
      "of level warn fail only with --fail-on warn. Under GitHub Actions failures are also "
      "annotations, "
      "and the table stands in the step's summary.",
      {{"FILE|DIR", "Scenario files, or folders with them (*.config.json are models' configs).", 1,
        1000000}},
      {{"base",
        0,
        "FILE|DIR",
        "What checks with a ratio compare with: a saved result, a scenario, or a folder with files "
        "of the same names.",
        false,
        {}},
       {"fail-on", 0, "LEVEL", "The least level that fails.", false, {"error", "warn"}},
       set_option(),
       format_option(formats),
       output_option(formats),
       catalog_option()},
      {{"check scenarios -o junit=checks.xml", "All scenarios of a folder, for a CI server"},
       {"check scenarios -o sarif=checks.sarif", "For code scanning"},
       {"check scenario.json --base main.json", "No slower than the result of another branch"}},
      check};
}

}  // namespace flowplan::cli
