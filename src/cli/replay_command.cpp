#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "collective_profile.hpp"
#include "command.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/report/replay.hpp"

namespace flowplan::cli {

namespace {

Result<double> factor_option(const Arguments& arguments) {
  const auto text = arguments.value("compute-factor");
  if (!text) return 1.0;
  constexpr double most = 1e6;
  char* end = nullptr;
  const double value = std::strtod(text->c_str(), &end);
  if (end == text->c_str() || *end != '\0' || !(value > 0.0 && value <= most))
    return fail(error(Code::usage, fmt::format("--compute-factor {}: a factor is needed", *text),
                      "0.5: compute takes half of its time"));
  return value;
}

Result<replay::ReplayOptions> replay_options(const Arguments& arguments) {
  replay::ReplayOptions options;
  const auto factor = factor_option(arguments);
  if (!factor) return fail(factor.error());
  options.compute_factor = *factor;
  if (arguments.value("compute") == "floor") options.compute = replay::ComputeTime::floor;
  for (const std::string& text : arguments.values("group")) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals + 1 == text.size())
      return fail(error(Code::usage, fmt::format("--group {}: NAME=RANKS is needed", text),
                        "for example --group 3=tp8, or model=tp8 for a text workload"));
    options.groups[text.substr(0, equals)] = text.substr(equals + 1);
  }
  if (const auto path = arguments.value("comm-groups")) {
    auto members = replay::read_members(*path);
    if (!members) return fail(std::move(members.error()));
    options.members = std::move(*members);
  }
  return options;
}

/// Where a trace is replayed.
struct Stage {
  topology::Cluster cluster;
  topology::Placement placement;
  collective::Stack stack;
  std::vector<std::string> conditions;
};

Result<Stage> stage_from(const Arguments& arguments, const catalog::Catalog& catalog) {
  const auto built = cluster_from(arguments, catalog);
  if (!built) return fail(built.error());
  auto cluster = degraded(arguments, *built);
  if (!cluster) return fail(std::move(cluster.error()));
  auto placed = placement_from(arguments, *cluster);
  if (!placed) return fail(std::move(placed.error()));
  const auto profile = profile_from(arguments, catalog, *cluster->spec().instance);
  if (!profile) return fail(profile.error());
  auto stack = collective::read_stack(**profile);
  if (!stack) return fail(std::move(stack.error()));
  std::vector<std::string> conditions;
  if (const auto file = arguments.value("import")) conditions.push_back("nodes of " + *file);
  for (std::string& condition : degradation_conditions(arguments, *cluster))
    conditions.push_back(std::move(condition));
  if (!placed->condition.empty()) conditions.push_back(placed->condition);
  return Stage{std::move(*cluster), std::move(placed->placement), std::move(*stack),
               std::move(conditions)};
}

std::string title_of(const Arguments& arguments) {
  return std::filesystem::path(arguments.positionals.front()).filename().string();
}

int show_graph(const Arguments& arguments, Session& session, const catalog::Catalog& catalog,
               const replay::ExecutionTrace& trace) {
  const auto options = replay_options(arguments);
  if (!options) return refuse(session, options.error());
  const auto stage = stage_from(arguments, catalog);
  if (!stage) return refuse(session, stage.error());
  const catalog::Instance& instance = *stage->cluster.spec().instance;
  auto replayed = replay::simulate(trace, catalog.gpu_of(instance), stage->stack, stage->cluster,
                                   stage->placement, *options);
  if (!replayed) return refuse(session, replayed.error());
  const report::ReplayView view{title_of(arguments), std::string(name(trace.format)),
                                instance.id,         stage->cluster.spec().count,
                                stage->conditions,   std::move(*replayed)};
  return emit(arguments, session,
              renderings(session, [&] { return report::replay(view); },
                         {{"json", [&] { return report::replay_json(view); }}}),
              0);
}

int show_profile(const Arguments& arguments, Session& session, const catalog::Catalog& catalog,
                 replay::EventLog log) {
  for (const char* option : {"compute", "compute-factor", "group", "comm-groups"})
    if (arguments.has(option))
      return refuse(session,
                    error(Code::usage, fmt::format("--{} does not go with a profile", option),
                          "its events name the ranks of their groups"));
  const auto stage = stage_from(arguments, catalog);
  if (!stage) return refuse(session, stage.error());
  auto rows = replay::compare_events(log, stage->stack, stage->cluster, stage->placement);
  if (!rows) return refuse(session, rows.error());
  const report::EventView view{title_of(arguments),
                               stage->cluster.spec().instance->id,
                               stage->cluster.spec().count,
                               stage->conditions,
                               std::move(log),
                               std::move(*rows)};
  return emit(arguments, session,
              renderings(session, [&] { return report::profile(view); },
                         {{"json", [&] { return report::profile_json(view); }}}),
              0);
}

int replay_trace(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  auto files = replay::read_recording(arguments.positionals);
  if (!files) return refuse(session, files.error());
  if (auto* log = std::get_if<replay::EventLog>(&*files))
    return show_profile(arguments, session, *catalog, std::move(*log));
  return show_graph(arguments, session, *catalog, std::get<replay::ExecutionTrace>(*files));
}

}  // namespace

Command replay_command() {
  Command command{
      "replay",
      "Replay a Chakra, ASTRA-sim or PyTorch trace on any cluster.",
      "One file is the graph that every rank runs; the files of all ranks (NAME.0.et, NAME.1.et, "
      "...) are joined where they exchange. Collectives take what they take on the cluster, and "
      "share its links with those beside them; compute takes its recorded time. Of one rank's "
      "profile "
      "(Kineto) the collectives are listed, measured against predicted.",
      {{"TRACE", "Files of a trace; - is standard input.", 1, 1000000}},
      cluster_options(),
      {{"replay llama.0.et --instance p5.48xlarge --nodes 4", "What the trace takes on 32 GPUs"},
       {"replay llama.0.et --instance p6-b200.48xlarge --nodes 4 --compute-factor 0.45 --group "
        "1=tp8 --group 2=dp8",
        "On faster GPUs, with its communicators named"},
       {"replay rank0.pt.trace.json --instance p5.48xlarge --nodes 4",
        "What a profile's collectives took, and should"}},
      replay_trace};
  const std::vector<Option> more{
      {"compute",
       0,
       "NAME",
       "Compute times: recorded (default; where there is none, floor), or floor: operations and "
       "bytes of each node at the GPU's dense bf16 peak and memory bandwidth.",
       false,
       {"recorded", "floor"}},
      {"compute-factor", 0, "X", "Multiply compute times; 1 by default.", false, {}},
      {"group",
       0,
       "NAME=RANKS",
       "Ranks of a communicator that the trace names: tp8 (blocks of 8), dp8 (those at the same "
       "place of each block), all.",
       true,
       {}},
      {"comm-groups", 0, "FILE", "ASTRA-sim's file of communicators and their ranks.", false, {}},
      {"nccl", 0, "VERSION", "NCCL's version; a current one by default.", false, {}},
      {"plugin", 0, "VERSION", "Version of aws-ofi-nccl; a current one by default.", false, {}},
      {"profile", 0, "ID", "Software stack: a set of kind collectives of the catalog.", false, {}},
      degrade_option(),
      format_option(),
      output_option(),
      catalog_option()};
  const std::vector<Option> placement = placement_options();
  command.options.insert(command.options.end(), placement.begin(), placement.end());
  command.options.insert(command.options.end(), more.begin(), more.end());
  return command;
}

}  // namespace flowplan::cli
