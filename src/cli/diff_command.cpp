#include <utility>

#include "answer_side.hpp"
#include "command.hpp"
#include "flowplan/planner/diff.hpp"
#include "flowplan/report/diff.hpp"

namespace flowplan::cli {

namespace {

int diff(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return refuse(session, schema.error());
  const std::string& base_path = arguments.positionals[0];
  const std::string& fresh_path =
      arguments.positionals.size() > 1 ? arguments.positionals[1] : base_path;
  const auto overrides = arguments.values("set");
  if (arguments.positionals.size() == 1 && overrides.empty())
    return refuse(session, error(Code::usage, "there is nothing to compare with",
                                 "a second file, or --set PATH=VALUE for the same one changed"));
  auto base = answer_side(*catalog, *schema, base_path, {}, "diff");
  auto fresh = answer_side(*catalog, *schema, fresh_path, overrides, "diff");
  Diagnostics faults;
  for (const auto* one : {&base, &fresh})
    if (!*one) faults.insert(faults.end(), one->error().begin(), one->error().end());
  if (!faults.empty()) return refuse(session, faults);
  const planner::Difference difference = planner::diff(std::move(*base), std::move(*fresh));
  return emit(arguments, session,
              renderings(session, [&] { return report::diff(difference); },
                         {{"json", [&] { return report::diff_json(difference); }}}),
              0);
}

}  // namespace

Command diff_command() {
  return {"diff",
          "Lay two scenarios or saved results side by side.",
          "Inputs that differ (+ new, - gone, ~ other), metrics with their factors, and the terms "
          "of the time that moved, the largest first. --set changes the new side only; with one "
          "file it is compared with itself so changed.",
          {{"BASE", "Scenario or saved result.", 1, 1}, {"NEW", "The other. Default: BASE.", 0, 1}},
          {set_option(), format_option(), output_option(), catalog_option()},
          {{"diff old.json new.json", "Two scenarios, or results saved with -o json=FILE"},
           {"diff scenario.json --set workload.parallelism.tp=8", "What one change does"}},
          diff};
}

}  // namespace flowplan::cli
