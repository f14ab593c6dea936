#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/report/schema.hpp"
#include "flowplan/scenario/overrides.hpp"

namespace flowplan::cli {

namespace {

constexpr std::size_t max_schema_bytes = 1u << 20;

int schema(const Arguments& arguments, Session& session) {
  if (arguments.has("paths")) {
    const auto scenarios = load_schema(arguments, session, "scenario");
    if (!scenarios) return refuse(session, scenarios.error());
    for (const std::string& path : scenario::override_paths(*scenarios))
      session.out << path << '\n';
    session.out << std::flush;
    return 0;
  }
  const auto folder = catalog_folder(arguments, session);
  if (!folder) return refuse(session, folder.error());
  const std::string name = arguments.positionals.empty() ? "scenario" : arguments.positionals[0];
  const auto file = std::filesystem::path(*folder) / "schema" / (name + ".schema.json");
  const auto text = read_text(file.string(), max_schema_bytes);
  if (!text) {
    return refuse(
        session,
        error(Code::usage, fmt::format("there is no schema `{}`", name),
              "schemas: scenario, flow-case, result, result-serving, "
              "result-posttraining, result-plan, "
              "result-serving_plan, result-diff, result-sensitivity, result-sweep_summary"));
  }
  const auto document = load_schema(arguments, session, name);
  if (!document) return refuse(session, document.error());
  const std::string command = fmt::format("flowplan schema {} --format markdown", name);
  return emit(arguments, session,
              {{"json", [&] { return *text; }},
               {"markdown", [&] { return report::schema_markdown(*document, command); }}},
              0);
}

}  // namespace

Command schema_command() {
  return {
      "schema",
      "Print a JSON Schema (draft 7), for editors and other programs.",
      "An editor that knows the schema completes and checks scenario files while they are "
      "typed.",
      {{"NAME",
        "scenario (default), flow-case, or the kind of a result: result (run), result-serving, "
        "result-posttraining, result-plan, result-serving_plan, result-diff, result-sensitivity, "
        "result-sweep_summary.",
        0,
        1,
        {"scenario", "flow-case", "result", "result-serving", "result-posttraining", "result-plan",
         "result-serving_plan", "result-diff", "result-sensitivity", "result-sweep_summary"}}},
      {{"paths", 0, "", "Print instead the paths that --set and --vary take, one a line."},
       format_option({"json", "markdown"}),
       output_option({"json", "markdown"}),
       catalog_option()},
      {{"schema > scenario.schema.json", "Save the schema of scenarios"},
       {"schema --paths", "Everything that --set can change"}},
      schema};
}

}  // namespace flowplan::cli
