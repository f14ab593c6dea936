#include <utility>
#include <vector>

#include "command.hpp"
#include "fault_place.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/planner/check.hpp"
#include "flowplan/report/validation.hpp"
#include "input.hpp"

namespace flowplan::cli {

namespace {

int validate(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  std::vector<accuracy::Report> reports;
  int code = 0;
  for (const std::string& path : arguments.positionals) {
    if (auto fault = not_a_table(path)) {
      code = planner::gravest(code, refuse(session, std::move(*fault)));
      continue;
    }
    auto report = accuracy::validate(*catalog, path, arguments.values("left-out"));
    if (report) {
      reports.push_back(std::move(*report));
    } else {
      code = planner::gravest(code, refuse(session, placed_in(report.error(), path)));
    }
  }
  if (reports.empty()) return code;
  const bool rows = arguments.has("rows");
  return emit(arguments, session,
              renderings(session, [&] { return report::validation(reports, rows); },
                         {{"json", [&] { return report::validation_json(reports, rows); }}}),
              code);
}

}  // namespace

Command validate_command() {
  return {
      "validate",
      "Hold predictions against measurements: error per row, source, GPU.",
      "The header of a CSV file tells its format: collectives (those of expert parallelism are "
      "rows of such a file), custom all-reduce, training, or kernels (GEMMs, experts, attention, "
      "latent attention).",
      {{"MEASUREMENTS", "CSV files of measurements.", 1, 1000000}},
      {{"rows", 0, "", "Show every predicted row.", false, {}},
       {"left-out",
        0,
        "FILE",
        "Also score the errors of rows by figures that were fitted without them: a CSV file with "
        "`id` and `left_out_error_percent`. X-left-out.csv beside X.csv is taken unasked.",
        true,
        {}},
       format_option(),
       output_option(),
       catalog_option()},
      {{"validate tests/accuracy/collectives.csv", "How far off collectives are"}},
      validate};
}

}  // namespace flowplan::cli
