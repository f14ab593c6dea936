#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/estimate/metric.hpp"
#include "flowplan/planner/sensitivity.hpp"
#include "flowplan/report/html.hpp"
#include "flowplan/report/saved.hpp"
#include "flowplan/report/sensitivity.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_sensitivity_threads = 1024;
constexpr int default_rows = 12, most_sensitivity_rows = 1000;
constexpr int least_percent = 1, most_percent = 90, default_percent = 10;

Result<std::vector<std::string>> asked_metrics(const Arguments& arguments) {
  std::vector<std::string> known;
  for (const MetricInfo& info : metric_registry())
    known.emplace_back(info.id);
  std::vector<std::string> metrics = arguments.values("metric");
  for (const std::string& metric : metrics)
    if (!find_metric(metric))
      return fail(error(Code::unknown_metric, fmt::format("there is no metric `{}`", metric),
                        suggest(metric, known)));
  return metrics;
}

int sensitivity(const Arguments& arguments, Session& session) {
  const auto metrics = asked_metrics(arguments);
  if (!metrics) return refuse(session, metrics.error());
  const auto threads = int_option(arguments, "threads", 1, most_sensitivity_threads);
  const auto top = int_option(arguments, "top", 1, most_sensitivity_rows);
  const auto by = int_option(arguments, "by", least_percent, most_percent);
  for (const auto* option : {&threads, &top, &by})
    if (!*option) return refuse(session, option->error());
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return refuse(session, schema.error());
  const auto document = scenario_from(arguments, *schema, "sensitivity");
  if (!document) return refuse(session, document.error());
  planner::SensitivityOptions options;
  options.by = by->value_or(default_percent) / 100.0;
  options.threads = threads->value_or(0);
  options.program_version = FLOWPLAN_VERSION;
  const auto found = planner::sensitivity(*catalog, *document, *schema, options);
  if (!found) {
    return refuse(session, scenario::at_overrides(found.error(), arguments.values("set")));
  }
  const auto rows = static_cast<std::size_t>(top->value_or(default_rows));
  return emit(
      arguments, session,
      renderings(session, [&] { return report::sensitivity(*found, *metrics, rows); },
                 {{"json", [&] { return report::sensitivity_json(*found, *metrics, rows); }}}),
      0);
}

}  // namespace

Command sensitivity_command() {
  Command command{
      "sensitivity",
      "Rank the inputs by how much a tenth of each moves the answer.",
      "Runs the scenario with each of its numbers, and each of the catalog's figures behind it, "
      "made 10 % smaller and larger, one at a time. What cannot be changed so is said.",
      {{"SCENARIO", "Scenario file; - is standard input.", 0, 1}},
      scenario_options(),
      {{"sensitivity scenarios/pretrain-llama3-70b-p5.json", "What time and money hang on"},
       {"sensitivity scenario.json --metric training.mfu --by 20", "Another metric, a fifth"},
       {"sensitivity scenario.json -o html=tornado.html", "With its charts"}},
      sensitivity};
  command.options.push_back(
      {"metric", 0, "NAME", "What is ranked. Default: money and time.", true, {}});
  command.options.push_back(
      {"by", 0, "PERCENT", "How much each input is changed. Default: 10.", false, {}});
  command.options.push_back({"top", 0, "N", "Rows of each ranking. Default: 12.", false, {}});
  command.options.push_back(
      {"threads", 0, "N", "Threads; the answer does not depend on it.", false, {}});
  command.options.push_back(set_option());
  command.options.push_back(format_option());
  command.options.push_back(output_option());
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
