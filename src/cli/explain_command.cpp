#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/report/sizing.hpp"
#include "flowplan/scenario/run.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

int explain(const Arguments& arguments, Session& session) {
  const std::string metric = arguments.positionals.size() > 1 ? arguments.positionals[1] : "";
  if (!metric.empty() && !find_metric(metric)) {
    std::vector<std::string> known;
    for (const MetricInfo& info : metric_registry())
      known.emplace_back(info.id);
    return refuse(session,
                  error(Code::unknown_metric, fmt::format("there is no metric `{}`", metric),
                        suggest(metric, known)));
  }
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto answer = answer_from(arguments, session, *catalog, "explain");
  if (!answer) return refuse(session, answer.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::explanation(*answer, metric); },
                         {{"json", [&] { return report::sizing_json(*answer); }}}),
              0);
}

}  // namespace

Command explain_command() {
  return {"explain",
          "Show where the numbers come from: formulas, figures, sources.",
          "",
          {{"SCENARIO", "Scenario file; - is standard input.", 1, 1},
           {"METRIC", "One metric only: training.mfu.", 0, 1}},
          {set_option(), format_option(), output_option(), catalog_option()},
          {{"explain scenarios/pretrain-llama3-70b-p5.json", "Every term of the step"}},
          explain};
}

}  // namespace flowplan::cli
