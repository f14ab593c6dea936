#include <utility>

#include "command.hpp"
#include "flowplan/report/sizing.hpp"
#include "flowplan/scenario/run.hpp"
#include "report_details.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

constexpr int infeasible = 4;

int run_scenario(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto scenario = load_scenario(arguments, session, *catalog, "run");
  if (!scenario) return refuse(session, scenario.error());
  const auto answer = answer_to(arguments, *catalog, *scenario);
  if (!answer) return refuse(session, answer.error());
  report::SizingDetails details;
  if (wants_full_report(arguments)) {
    const auto schema = load_schema(arguments, session, "scenario");
    if (!schema) return refuse(session, schema.error());
    auto more = report_details(*catalog, *schema, *scenario, *answer);
    if (!more) return refuse(session, more.error());
    details = std::move(*more);
  }
  return emit(arguments, session,
              renderings(session, [&] { return report::sizing(*answer, details); },
                         {{"json", [&] { return report::sizing_json(*answer, details); }}}),
              answer->feasible() ? 0 : infeasible);
}

}  // namespace

Command run_command() {
  Command command{
      "run",
      "Estimate a scenario: speed, memory, bottlenecks, time, money.",
      "Without a file the options describe the scenario; with one they override it. What is left "
      "out gets a default, and the report lists which. Exit code 4: the workload does not fit.",
      {{"SCENARIO", "Scenario file; - is standard input.", 0, 1}},
      scenario_options(),
      {{"run scenarios/pretrain-llama3-70b-p5.json", "The sizing report of a scenario"},
       {"run --model llama3-70b --instance p5.48xlarge --nodes 64 --tokens 15T", "Without a file"},
       {"run scenario.json --set workload.parallelism.tp=4 --format json", "What if, as JSON"},
       {"run scenario.json -o html=report.html", "A page with charts, to hand on"},
       {"run scenario.json -o markdown=report.md -o json=result.json", "Write files as well"}},
      run_scenario};
  command.options.push_back(full_option());
  command.options.push_back(set_option());
  command.options.push_back(format_option());
  command.options.push_back(output_option());
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
