#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/accuracy/framework_log.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/operations/job_statistics.hpp"
#include "flowplan/report/job_log.hpp"
#include "flowplan/report/validation.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_gpus = 100000000;

int import_jobs(const Arguments& arguments, Session& session) {
  const auto gpus = int_option(arguments, "gpus", 1, most_gpus);
  if (!gpus) return refuse(session, gpus.error());
  const auto log = operations::read_job_log(arguments.positionals[0]);
  if (!log) return refuse(session, log.error());
  const operations::JobStatistics seen = operations::summarise(
      *log, *gpus ? std::optional(static_cast<double>(**gpus)) : std::nullopt);
  return emit(arguments, session,
              renderings(session, [&] { return report::job_log(*log, seen); },
                         {{"json", [&] { return report::job_log_json(*log, seen); }}}),
              0);
}

int import_log(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto log = accuracy::read_framework_log(arguments.positionals[0]);
  if (!log) return refuse(session, log.error());
  Arguments of_scenario = arguments;
  of_scenario.positionals = {arguments.positionals[1]};
  const auto scenario = load_scenario(of_scenario, session, *catalog, "import log");
  if (!scenario) return refuse(session, scenario.error());
  const auto rows = accuracy::measurement_rows(*catalog, *log, *scenario);
  if (!rows) return refuse(session, rows.error());
  auto report = accuracy::validate_text(*catalog, *rows, log->file);
  if (!report) return refuse(session, report.error());
  const std::vector<accuracy::Report> reports{std::move(*report)};
  return emit(arguments, session,
              renderings(session, [&] { return report::validation(reports, true); },
                         {{"json", [&] { return report::validation_json(reports, true); }},
                          {"csv", [&] { return *rows; }}}),
              0);
}

}  // namespace

Command import_log_command() {
  return {"import log",
          "Hold a training log or serving benchmark against its prediction.",
          "Takes the output of Megatron-LM, Megatron-Bridge or torchtitan, or the JSON of `vllm "
          "bench serve --save-result`. Medians leave out the first tenth of the steps. -o csv=FILE "
          "writes the rows, which `flowplan validate` takes.",
          {{"LOG", "The log; - is standard input.", 1, 1},
           {"SCENARIO", "What ran: its cluster, model and layout.", 1, 1}},
          {set_option(), format_option({"text", "markdown", "json", "csv"}),
           output_option({"text", "markdown", "json", "csv"}), catalog_option()},
          {{"import log train.log pretrain.json", "Measured against predicted"},
           {"import log bench.json serve.json -o csv=measured.csv", "Rows for later"}},
          import_log};
}

Command import_jobs_command() {
  return {"import jobs",
          "Read a scheduler's job log: GPU hours, waits, failure rate.",
          "Takes `sacct --parsable2`, the Standard Workload Format (SWF), or CSV with Helios' and "
          "Acme's columns. The failure rate is what `operations.failures.per_node_day` takes.",
          {{"FILE", "The log; - is standard input.", 1, 1}},
          {{"gpus", 'g', "N", "GPUs of the cluster, for its utilisation.", false, {}},
           format_option(),
           output_option()},
          {{"import jobs sacct.psv --gpus 512",
            "sacct -a -X --parsable2 --format=JobIDRaw,State,Submit,Start,End,ElapsedRaw,NNodes,"
            "AllocTRES > sacct.psv"}},
          import_jobs};
}

}  // namespace flowplan::cli
