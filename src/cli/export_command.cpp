#include <charconv>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "command.hpp"
#include "fault_place.hpp"
#include "flowplan/base/text_file.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/export/targets.hpp"
#include "flowplan/planner/candidate.hpp"
#include "flowplan/planner/grid.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/topology/hostlist.hpp"
#include "input.hpp"
#include "scenario_flags.hpp"

namespace flowplan::cli {

namespace {

using exporting::ExportRequest;
using exporting::Target;
using exporting::WrittenFile;

constexpr int most_shards = 100000;
constexpr int lowest_rank = 1000000;
constexpr std::size_t largest_scenario = 64u << 20;

/// The targets and what each is, as a paragraph of the help.
std::string target_list() {
  std::string list;
  for (const Target& target : exporting::targets())
    list += fmt::format("{}{}: {}", list.empty() ? "" : "; ", target.name, target.about);
  return list + ".";
}

Diagnostic unknown_target(const std::string& name) {
  std::vector<std::string> names;
  for (const Target& target : exporting::targets())
    names.emplace_back(target.name);
  return error(Code::usage, fmt::format("there is no export target `{}`", name),
               suggest(name, names));
}

Result<std::optional<double>> ratio_option(const Arguments& arguments) {
  const auto text = arguments.value("ratio");
  if (!text) return std::optional<double>{};
  double value = 0.0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code == std::errc{} && end == text->data() + text->size() && value > 0 && value <= 1)
    return std::optional<double>{value};
  return fail(error(Code::usage, fmt::format("--ratio {}: a number in (0, 1] is needed", *text)));
}

Result<std::optional<long long>> timestamp_option(const Arguments& arguments) {
  const auto text = arguments.value("timestamp");
  if (!text) return std::optional<long long>{};
  long long value = 0;
  const auto [end, code] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (code == std::errc{} && end == text->data() + text->size() && value >= 0)
    return std::optional<long long>{value};
  return fail(error(Code::usage,
                    fmt::format("--timestamp {}: whole seconds since 1970 are needed", *text)));
}

Result<std::vector<std::string>> hosts_option(const Arguments& arguments) {
  const auto text = arguments.value("hosts");
  if (!text) return std::vector<std::string>{};
  return topology::expand_hostlist(*text);
}

/// On standard output: a lone file as it is, several below a line with each one's name.
int show_files(Session& session, const std::vector<WrittenFile>& files) {
  for (const WrittenFile& file : files) {
    if (files.size() > 1) session.out << "==> " << file.name << " <==\n";
    session.out << file.text;
    if (files.size() > 1 && &file != &files.back()) session.out << '\n';
  }
  return 0;
}

/// Into a folder when there are several, when one of that name is there, or the name ends in "/".
int write_files(Session& session, const std::string& path, const std::vector<WrittenFile>& files) {
  namespace fs = std::filesystem;
  std::error_code trouble;
  const bool folder = files.size() > 1 || path.ends_with('/') || fs::is_directory(path, trouble);
  if (!folder) {
    const auto written = write_text(path, files.front().text);
    return written ? 0 : refuse(session, written.error());
  }
  fs::create_directories(path, trouble);
  if (trouble)
    return refuse(session, error(Code::file_unreadable,
                                 fmt::format("{} cannot be made: {}", path, trouble.message())));
  for (const WrittenFile& file : files)
    if (const auto written = write_text((fs::path(path) / file.name).string(), file.text); !written)
      return refuse(session, written.error());
  return 0;
}

/// The scenario as it is, unread where nothing of it has to be complete: a grid may fill it.
void take_text(const Arguments& arguments, ExportRequest& request) {
  request.scenario_path = "scenario.json";
  if (arguments.positionals.empty()) return;
  request.scenario_path = arguments.positionals.front();
  if (request.scenario_path == "-") return;
  if (auto text = read_text(request.scenario_path, largest_scenario))
    request.scenario_text = std::move(*text);
}

/// A sweep's job: the grid is read here so that what is wrong with it is said now, not in a queue.
Result<std::vector<WrittenFile>> written_sweep(const Arguments& arguments, const Session& session,
                                               const Target& target, ExportRequest request) {
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return fail(schema.error());
  if (arguments.positionals.empty())
    return fail(error(Code::usage, "a sweep is of a scenario file", "`flowplan init` writes one"));
  const auto document =
      scenario_document(arguments, *schema, arguments.positionals.front(), "export");
  if (!document) return fail(document.error());
  const auto grid = planner::read_grid(*document, arguments.values("vary"));
  if (!grid) return fail(grid.error());
  if (grid->axes.empty())
    return fail(error(Code::usage, "there is nothing to vary",
                      "--vary cluster.count=16,32,64, or a `sweep` section in the scenario"));
  for (const char* option : {"set", "vary"}) {
    for (const std::string& value : arguments.values(option)) {
      request.sweep_options.push_back(std::string("--") + option);
      request.sweep_options.push_back(value);
    }
  }
  request.slug = exporting::slug_of(
      document->root().value("name", std::filesystem::path(request.scenario_path).stem().string()));
  take_text(arguments, request);
  return target.write(request);
}

/// The scenario that is exported: as stated, or with the candidate of --rank of its plan.
Result<scenario::Scenario> exported_scenario(const Arguments& arguments, const Session& session,
                                             const catalog::Catalog& catalog) {
  const auto rank = int_option(arguments, "rank", 1, lowest_rank);
  if (!rank) return fail(rank.error());
  if (!*rank) return load_scenario(arguments, session, catalog, "export");
  const auto schema = load_schema(arguments, session, "scenario");
  if (!schema) return fail(schema.error());
  const auto document = scenario_from(arguments, *schema, "export");
  if (!document) return fail(document.error());
  const auto searched = scenario::read(catalog, *document, *schema, scenario::ReadFor::search);
  if (!searched) return fail(scenario::at_overrides(searched.error(), arguments.values("set")));
  const auto chosen =
      planner::overrides_of_rank(catalog, *searched, static_cast<std::size_t>(**rank));
  if (!chosen) return fail(chosen.error());
  const auto stated = scenario::with_overrides(*document, *schema, *chosen);
  if (!stated) return fail(stated.error());
  return scenario::read(catalog, *stated, *schema);
}

bool needs_answer(exporting::TargetNeeds needs, exporting::Plan::Work work) {
  using exporting::TargetNeeds;
  using Work = exporting::Plan::Work;
  return needs == TargetNeeds::answer || (needs == TargetNeeds::job && work == Work::serving) ||
         (needs != TargetNeeds::plan && work == Work::fine_tuning);
}

/// What the target needs, then the target.
Result<std::vector<WrittenFile>> written(const Arguments& arguments, const Session& session,
                                         const catalog::Catalog& catalog, const Target& target) {
  const auto hosts = hosts_option(arguments);
  if (!hosts) return fail(hosts.error());
  const auto ratio = ratio_option(arguments);
  if (!ratio) return fail(ratio.error());
  const auto timestamp = timestamp_option(arguments);
  if (!timestamp) return fail(timestamp.error());
  const auto shards = int_option(arguments, "shards", 1, most_shards);
  if (!shards) return fail(shards.error());
  ExportRequest request;
  request.ratio = *ratio;
  request.timestamp = *timestamp;
  request.shards = shards->value_or(request.shards);
  if (target.needs == exporting::TargetNeeds::sweep)
    return written_sweep(arguments, session, target, std::move(request));
  if (arguments.has("vary"))
    return fail(error(Code::usage, "--vary is for slurm-array and k8s-indexed-job",
                      "--set changes one value of what is exported"));
  const auto scenario = exported_scenario(arguments, session, catalog);
  if (!scenario) return fail(scenario.error());
  auto plan = exporting::plan_of(catalog, *scenario, *hosts);
  const auto located = [&](const Diagnostics& faults) {
    return arguments.positionals.empty() ? faults : placed_in(faults, arguments.positionals[0]);
  };
  // Names of nodes that are typed have no place in the scenario.
  if (!plan) return fail(arguments.has("hosts") ? plan.error() : located(plan.error()));

  request.plan = &*plan;
  if (scenario->serving) request.serving = &*scenario->serving;
  scenario::Answer answer;
  if (needs_answer(target.needs, plan->work)) {
    auto found = scenario::run(catalog, *scenario, FLOWPLAN_VERSION);
    if (!found) return fail(located(found.error()));
    answer = std::move(*found);
    request.answer = &answer;
    if (const auto taken = exporting::take_update(*plan, answer); !taken)
      return fail(located(taken.error()));
  }
  auto files = target.write(request);
  if (!files) return fail(located(files.error()));
  return files;
}

int export_files(const Arguments& arguments, Session& session) {
  const Target* target = exporting::find_target(arguments.positionals.front());
  if (target == nullptr) return refuse(session, unknown_target(arguments.positionals.front()));
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  Arguments rest = arguments;  // as the commands that take a scenario alone
  rest.positionals.erase(rest.positionals.begin());
  const auto files = written(rest, session, *catalog, *target);
  if (!files) return refuse(session, files.error());
  const std::string path = arguments.value("output").value_or("-");
  return path == "-" ? show_files(session, *files) : write_files(session, path, *files);
}

}  // namespace

Command export_command() {
  static const std::string details =
      "From a plan to a launch, from a prediction to a dashboard. Targets: " + target_list();
  std::vector<std::string_view> names;
  for (const Target& target : exporting::targets())
    names.push_back(target.name);
  Command command{
      "export",
      "Write a scenario in the format of another tool.",
      details,
      {{"TARGET", "Which format; listed above.", 1, 1, names},
       {"SCENARIO", "Scenario file; - is standard input.", 0, 1}},
      scenario_options(),
      {{"export slurm scenarios/pretrain-llama3-70b-p5.json -o job/",
        "Topology, node lines, batch script and launch script"},
       {"export kueue scenarios/pretrain-llama3-70b-p5.json -o kueue.yaml", "For Kubernetes"},
       {"export megatron scenarios/pretrain-llama3-70b-p5.json", "The flags on standard output"},
       {"export slurm scenarios/plan-llama3-70b.json --rank 2 -o job/",
        "The second best of a plan"},
       {"export prometheus scenarios/pretrain-llama3-70b-p5.json -o rules.yml --ratio 0.9",
        "Alerts below 90 % of the prediction"}},
      export_files};
  command.options.push_back({"output",
                             'o',
                             "PATH",
                             "Write there: a file, or a folder where the target has several. "
                             "Standard output by default.",
                             false,
                             {}});
  command.options.push_back({"hosts",
                             0,
                             "HOSTLIST",
                             "Names of the nodes in order: p5-[1-64]. Default: node0, node1, ...",
                             false,
                             {}});
  command.options.push_back({"rank",
                             0,
                             "N",
                             "Search as `flowplan plan` does and write the Nth candidate, 1 the "
                             "best, instead of what the scenario states.",
                             false,
                             {}});
  command.options.push_back(
      {"ratio", 0, "R", "Alert below the prediction times R; 0.8 by default.", false, {}});
  command.options.push_back({"timestamp",
                             0,
                             "S",
                             "Seconds since 1970 that OpenMetrics samples carry; none by default.",
                             false,
                             {}});
  command.options.push_back(
      {"shards", 0, "N", "Parts of a sweep that run beside each other; 8 by default.", false, {}});
  command.options.push_back({"vary",
                             0,
                             "PATH=VALUES",
                             "Of a sweep's job: an axis of its grid, as `flowplan sweep --vary`.",
                             true,
                             {}});
  command.options.push_back(set_option());
  command.options.push_back(catalog_option());
  return command;
}

}  // namespace flowplan::cli
