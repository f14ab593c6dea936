#include <ostream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "command.hpp"
#include "flowplan/planner/sweep.hpp"
#include "flowplan/report/sweep.hpp"
#include "input.hpp"
#include "progress.hpp"
#include "sweep_rows.hpp"

namespace flowplan::cli {

namespace {

constexpr int most_threads = 1024;
constexpr int infeasible_sweep = 4;
constexpr int invalid_sweep = 3;

/// The shard that --shard states or else that a scheduler's array job gives this process.
Result<planner::Shard> shard_of(const Arguments& arguments, Session& session) {
  if (const auto text = arguments.value("shard")) return planner::parse_shard(*text);
  const Environment& environment = session.environment;
  if (environment.array_count.empty()) return planner::Shard{};
  auto shard = planner::parse_shard(environment.array_index + "/" + environment.array_count);
  if (shard)
    session.err << fmt::format("note: shard {}/{}, as this array job says\n", shard->index,
                               shard->count);
  return shard;
}

int code_of(const report::SweepSummary& summary) {
  if (summary.rows() == 0 || summary.ok() > 0) return 0;
  return summary.unfit() > 0 ? infeasible_sweep : invalid_sweep;
}

int merge(const Arguments& arguments, Session& session) {
  std::vector<planner::SweepFile> files;
  Diagnostics faults;
  for (const std::string& path : arguments.positionals) {
    auto file = planner::read_sweep_file(path);
    if (file)
      files.push_back(std::move(*file));
    else
      faults.insert(faults.end(), file.error().begin(), file.error().end());
  }
  if (!faults.empty()) return refuse(session, faults);
  const auto merged = planner::merge_sweeps(files);
  if (!merged) return refuse(session, merged.error());
  const auto head = planner::parse_head(files.front());
  if (!head) return refuse(session, head.error());
  auto rows = RowOutputs::open(arguments, session, *head, {});
  if (!rows) return refuse(session, rows.error());
  std::size_t begin = merged->find('\n') + 1;
  for (std::size_t end = merged->find('\n', begin); end != std::string::npos;
       begin = end + 1, end = merged->find('\n', begin))
    rows->write(planner::parse_row(std::string_view(*merged).substr(begin, end - begin)));
  return rows->finish(0);
}

int sweep(const Arguments& arguments, Session& session) {
  if (arguments.has("merge")) return merge(arguments, session);
  if (arguments.positionals.size() != 1)
    return refuse(session, error(Code::usage, "`sweep` takes one scenario",
                                 "several files are merged with --merge"));
  const auto threads = int_option(arguments, "threads", 1, most_threads);
  if (!threads) return refuse(session, threads.error());
  const auto shard = shard_of(arguments, session);
  if (!shard) return refuse(session, shard.error());
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return refuse(session, schema.error());
  const auto document = scenario_document(arguments, *schema, arguments.positionals[0], "sweep");
  if (!document) return refuse(session, document.error());
  auto grid = planner::read_grid(*document, arguments.values("vary"));
  if (!grid) return refuse(session, grid.error());
  if (grid->axes.empty())
    return refuse(session, error(Code::usage, "there is nothing to vary",
                                 "--vary cluster.count=16,32,64, or a `sweep` section"));

  const planner::SweepHead head =
      planner::sweep_head(*document, std::move(*grid), FLOWPLAN_VERSION, catalog->version());
  auto rows = RowOutputs::open(arguments, session, head, *shard);
  if (!rows) return refuse(session, rows.error());
  planner::SweepOptions options;
  options.shard = *shard;
  options.done = rows->done();
  options.threads = threads->value_or(0);
  options.program_version = FLOWPLAN_VERSION;
  const auto swept = [&] {
    const Progress progress(session, "sweep", "points", !rows->on_terminal());
    const std::uint64_t size = shard->size(head.grid.points());
    progress.set(options.done, size);
    return planner::sweep(*catalog, *document, *schema, head.grid, options,
                          [&](const planner::SweepRow& row) {
                            rows->write(row);
                            progress.set(rows->summary().rows(), size);
                          });
  }();
  if (!swept) return refuse(session, swept.error());
  return rows->finish(code_of(rows->summary()));
}

}  // namespace

Command sweep_command() {
  const Option format = format_option({"text", "markdown", "json", "html", "jsonl", "csv"});
  Option output = output_option({"text", "markdown", "json", "html", "jsonl", "csv"});
  output.about =
      "Also write FORMAT=FILE; rows of jsonl and csv stand there as soon as they are known.";
  return {"sweep",
          "Run a scenario at every point of a grid.",
          "The grid is the scenario's `sweep` section and every --vary. Rows are in the order of "
          "their points on any number of threads and shards. Points that do not fit or are invalid "
          "are rows that say so; exit code 4 or 3 only when no point is ok.",
          {{"SCENARIO", "Scenario file, - is standard input; with --merge the shards' files.", 1,
            1000000}},
          {{"vary",
            0,
            "PATH=VALUES",
            "Values of one key: cluster.count=16,32, 16:64:16 (step) or 8:64:x2 (factor).",
            true,
            {}},
           {"shard",
            0,
            "I/N",
            "Only every N-th point from the I-th (from 0). Default: as a Slurm array "
            "(SLURM_ARRAY_TASK_ID, SLURM_ARRAY_TASK_COUNT) or an indexed Kubernetes job "
            "(JOB_COMPLETION_INDEX, JOB_COMPLETION_COUNT) says, else all.",
            false,
            {}},
           {"resume", 0, "", "Go on where the file of -o jsonl=FILE ends.", false, {}},
           {"merge", 0, "", "Put the files of all shards together as one sweep's.", false, {}},
           {"by", 0, "METRIC", "Metric that ranks the summary.", false, {}},
           {"top", 0, "N", "Rows of the summary.", false, {}},
           {"threads", 0, "N", "Threads; the rows do not depend on it.", false, {}},
           set_option(),
           format,
           output,
           catalog_option()},
          {{"sweep scenario.json --vary cluster.count=16:128:x2 --vary workload.parallelism.tp=4,8",
            "Eight points, ranked"},
           {"sweep scenario.json --vary cluster.count=1:100:1 -o jsonl=rows.jsonl --resume",
            "Rows in a file, continued after an interruption"},
           {"sweep --merge rows-0.jsonl rows-1.jsonl -o jsonl=rows.jsonl", "Two shards as one"}},
          sweep};
}

}  // namespace flowplan::cli
