#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "collective_compare.hpp"
#include "collective_groups.hpp"
#include "collective_profile.hpp"
#include "command.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/report/collective.hpp"
#include "stopwatch.hpp"

namespace flowplan::cli {

namespace {

using collective::Operation;

constexpr std::size_t most_sizes = 10000;

const std::vector<std::string> operation_names{
    "all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast", "reduce"};

/// nccl-tests' programs are called all_reduce_perf, sendrecv_perf, ...
Result<Operation> operation(std::string name) {
  constexpr std::string_view suffix = "_perf";
  if (name.size() > suffix.size() &&
      name.compare(name.size() - suffix.size(), suffix.size(), suffix) == 0) {
    name.resize(name.size() - suffix.size());
  }
  if (const auto found = collective::find_operation(name)) return *found;
  return fail(error(Code::bad_collective, fmt::format("there is no collective `{}`", name),
                    suggest(name, operation_names)));
}

Result<Bytes> size_option(const Arguments& arguments, std::string_view name,
                          std::string_view otherwise) {
  return parse_nccl_size(arguments.value(name).value_or(std::string(otherwise)));
}

/// From begin to end, times a factor or plus a step, as nccl-tests does.
Result<std::vector<Bytes>> sizes(const Arguments& arguments) {
  const auto begin = size_option(arguments, "begin", "32M");
  if (!begin) return fail(begin.error());
  const auto end = size_option(arguments, "end", arguments.value("begin").value_or("32M"));
  if (!end) return fail(end.error());
  const auto factor = int_option(arguments, "factor", 2, 1 << 20);
  if (!factor) return fail(factor.error());
  std::optional<Bytes> step;
  if (arguments.has("step")) {
    const auto parsed = size_option(arguments, "step", "");
    if (!parsed) return fail(parsed.error());
    step = *parsed;
  }
  if (*end < *begin) {
    return fail(error(Code::usage, "-e is smaller than -b", "sizes grow from -b to -e"));
  }
  std::vector<Bytes> list;
  for (Bytes size = *begin; size <= *end;
       size = step ? size + *step : size * static_cast<double>(factor->value_or(2))) {
    if (list.size() == most_sizes) {
      return fail(error(Code::usage, fmt::format("more than {} sizes", most_sizes)));
    }
    list.push_back(size);
  }
  return list;
}

template <class T>
Result<std::optional<T>> choice(const Arguments& arguments, std::string_view option,
                                std::optional<T> (*find)(std::string_view),
                                std::string_view allowed) {
  const auto text = arguments.value(option);
  if (!text || *text == "auto") return std::optional<T>{};
  if (const auto found = find(*text)) return found;
  return fail(error(Code::bad_collective, fmt::format("there is no {} `{}`", option, *text),
                    std::string(allowed)));
}

/// The sizes that hold an element of every rank that has a part, and another number of elements
/// than the size before; nccl-tests prints rows of 0 elements for the others.
Result<std::vector<Bytes>> of_whole_elements(const std::vector<Bytes>& sizes,
                                             report::CollectiveSweep& sweep) {
  std::vector<Bytes> kept;
  std::int64_t last = 0;
  for (const Bytes size : sizes) {
    const std::int64_t count = report::collective_elements(sweep.operation, sweep.ranks, size);
    if (count == last) continue;
    last = count;
    kept.push_back(size);
  }
  if (kept.empty())
    return fail(error(
        Code::usage,
        fmt::format("no size from -b to -e holds an element of each of {} ranks", sweep.ranks),
        "elements are floats of 4 bytes, as in nccl-tests"));
  if (kept.size() < sizes.size())
    sweep.conditions.push_back(
        fmt::format("{} sizes without another whole element left out", sizes.size() - kept.size()));
  return kept;
}

/// What of the options asks for the collective itself; its groups come with the cluster.
Result<collective::Request> request_from(const Arguments& arguments) {
  collective::Request request;
  const auto op = operation(arguments.positionals[0]);
  if (!op) return fail(op.error());
  request.operation = *op;
  const auto algorithm = choice<collective::Algorithm>(
      arguments, "algorithm", collective::find_algorithm,
      "one of RING, TREE, NVLS, NVLS_TREE, PAT, COLLNET, PAIRWISE, PXN");
  if (!algorithm) return fail(algorithm.error());
  request.algorithm = *algorithm;
  const auto protocol = choice<collective::Protocol>(
      arguments, "protocol", collective::find_protocol, "one of LL, LL128, SIMPLE");
  if (!protocol) return fail(protocol.error());
  request.protocol = *protocol;
  const auto channels = int_option(arguments, "channels", 1, collective::most_channels);
  if (!channels) return fail(channels.error());
  request.channels = *channels;
  request.list_flows = arguments.has("no-fold");
  return request;
}

/// What NCCL could have run, with the time of each when it is forced.
std::vector<report::CollectiveCandidate> candidates(const collective::Stack& stack,
                                                    const topology::Cluster& cluster,
                                                    collective::Request request,
                                                    const collective::Shape& shape) {
  std::vector<report::CollectiveCandidate> out;
  for (const collective::Candidate& candidate : collective::candidates(
           stack, request.operation, shape, request.size, cluster.spec().instance->nvls)) {
    request.algorithm = candidate.algorithm;
    request.protocol = candidate.protocol;
    const auto outcome = collective::predict(stack, cluster, request);
    out.push_back({candidate, outcome ? std::optional(outcome->time) : std::nullopt});
  }
  return out;
}

Result<report::CollectiveSweep> sweep(const Arguments& arguments, const catalog::Catalog& catalog,
                                      Stopwatch& watch) {
  report::CollectiveSweep result;
  auto request = request_from(arguments);
  if (!request) return fail(request.error());
  const auto size_list = sizes(arguments);
  if (!size_list) return fail(size_list.error());

  const auto built = cluster_from(arguments, catalog);
  if (!built) return fail(built.error());
  const auto cluster = degraded(arguments, *built);
  if (!cluster) return fail(cluster.error());
  if (const auto file = arguments.value("import")) result.conditions.push_back("nodes of " + *file);
  for (std::string& condition : degradation_conditions(arguments, *cluster))
    result.conditions.push_back(std::move(condition));
  const auto placed = placement_from(arguments, *cluster);
  if (!placed) return fail(placed.error());
  if (!placed->condition.empty()) result.conditions.push_back(placed->condition);
  result.ranks = static_cast<int>(placed->placement.ranks());
  result.operation = request->operation;
  const auto kept = of_whole_elements(*size_list, result);
  if (!kept) return fail(kept.error());
  request->groups = {placed->placement.gpu};
  watch.lap("graph", fmt::format("{} GPUs, {} links", cluster->gpus(), cluster->links()));

  const catalog::Instance& instance = *cluster->spec().instance;
  const auto profile = profile_from(arguments, catalog, instance);
  if (!profile) return fail(profile.error());
  const auto stack = collective::read_stack(**profile);
  if (!stack) return fail(stack.error());
  result.instance = instance.id;
  result.nodes = cluster->spec().count;
  for (const Bytes size : *kept) {
    request->size = size;
    auto outcome = collective::predict(*stack, *cluster, *request);
    if (!outcome) return fail(std::move(outcome.error()));
    result.profile = outcome->stack;
    result.lines.push_back({size, std::move(*outcome), {}});
    report::CollectiveLine& line = result.lines.back();
    if (arguments.has("explain"))
      line.candidates = candidates(*stack, *cluster, *request, line.outcome.shape);
  }
  watch.lap("predict", fmt::format("{} size{}", kept->size(), kept->size() == 1 ? "" : "s"));
  return result;
}

/// --compare LOG: the collective is the log's where it is not named.
int compare(const Arguments& arguments, Session& session) {
  std::optional<Operation> named;
  if (!arguments.positionals.empty()) {
    const auto op = operation(arguments.positionals[0]);
    if (!op) return refuse(session, op.error());
    named = *op;
  }
  return compare_collective(arguments, session, named);
}

int run(const Arguments& arguments, Session& session) {
  if (arguments.has("compare")) return compare(arguments, session);
  if (arguments.has("groups")) return collective_groups(arguments, session);
  if (arguments.has("background")) {
    return refuse(session, error(Code::usage, "--background goes with --groups"));
  }
  if (arguments.has("min-ratio")) {
    return refuse(session, error(Code::usage, "--min-ratio goes with --compare"));
  }
  if (arguments.positionals.empty()) {
    return refuse(session, error(Code::usage, "a collective is needed",
                                 "all_reduce, all_gather, reduce_scatter, alltoall, sendrecv, "
                                 "broadcast, reduce; or --groups, or a log with --compare"));
  }
  Stopwatch watch;
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  watch.lap("catalog");
  const auto result = sweep(arguments, *catalog, watch);
  if (!result) return refuse(session, result.error());
  if (arguments.has("timing")) watch.print(session.err);
  std::vector<Rendering> shown =
      renderings(session, [&] { return report::collective(*result); },
                 {{"json", [&] { return report::collective_json(*result); }}});
  shown[0].make = [&] { return report::collective_text(*result); };
  return emit(arguments, session, shown, 0);
}

}  // namespace

Command collective_command() {
  Command command{
      "collective",
      "Predict a collective: nccl-tests' columns for any cluster.",
      "Sizes are spelt as in nccl-tests: bare bytes, K, M, G are 2^10, 2^20, 2^30.",
      {{"OP",
        "all_reduce, all_gather, reduce_scatter, alltoall, sendrecv, broadcast or reduce.",
        0,
        1,
        {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast",
         "reduce"}}},
      cluster_options(),
      {{"collective all_reduce --instance p5.48xlarge --nodes 4 -b 8 -e 16G -f 2",
        "A size sweep on four nodes"},
       {"collective all_gather --instance p6-b200.48xlarge --nodes 8 -b 1G --protocol SIMPLE",
        "One size, protocol forced"},
       {"collective alltoall --instance p5.48xlarge --nodes 12500 -b 1G --degrade nic:gpu12=0.5",
        "100,000 GPUs, the NICs of one at half their rate"},
       {"collective --instance p5.48xlarge --nodes 4 --groups "
        "tp8:all_reduce:64M,dp8:all_gather:1G --background 0.2",
        "Tensor-parallel groups and data-parallel rails alone and together"},
       {"collective --compare all_reduce.log --instance p5.48xlarge -b 1G --min-ratio 0.9",
        "Acceptance: a log's large sizes against what the cluster should show"}},
      run};
  const std::vector<Option> more{
      {"begin", 'b', "SIZE", "Smallest size; 32M by default.", false, {}},
      {"end", 'e', "SIZE", "Largest size; that of -b by default.", false, {}},
      {"factor", 'f', "N", "Each size is the last one times N; 2 by default.", false, {}},
      {"step", 'i', "SIZE", "Each size is the last one plus SIZE, instead of a factor.", false, {}},
      {"algorithm",
       0,
       "NAME",
       "Force RING, TREE, NVLS, NVLS_TREE, PAT or COLLNET, as NCCL_ALGO does; alltoall: PAIRWISE "
       "or "
       "PXN.",
       false,
       {},
       {"RING", "TREE", "NVLS", "NVLS_TREE", "PAT", "COLLNET", "PAIRWISE", "PXN"}},
      {"protocol",
       0,
       "NAME",
       "Force LL, LL128 or SIMPLE, as NCCL_PROTO does.",
       false,
       {},
       {"LL", "LL128", "SIMPLE"}},
      {"channels",
       0,
       "N",
       "Force the channels, as NCCL_MIN_NCHANNELS and NCCL_MAX_NCHANNELS do.",
       false,
       {}},
      {"explain",
       0,
       "",
       "Show what else could have run, its cost by NCCL's model and its time.",
       false,
       {}},
      {"groups",
       0,
       "SPEC",
       "Run several at once, GROUPS:OP:SIZE each, separated by commas: tp8:all_reduce:64M (blocks "
       "of 8 ranks), "
       "dp8:all_gather:1G (those at the same place of each block), ep16:alltoall:256M, "
       "all:OP:SIZE.",
       true,
       {}},
      {"background",
       0,
       "SHARE",
       "With --groups: share of every NIC that other traffic takes, 0 to below 1.",
       false,
       {}},
      {"nccl", 0, "VERSION", "NCCL's version; a current one by default.", false, {}},
      {"plugin", 0, "VERSION", "Version of aws-ofi-nccl; a current one by default.", false, {}},
      {"profile",
       0,
       "CONSTANTS",
       "Software stack: a set of kind collectives of the catalog.",
       false,
       {}},
      degrade_option(),
      {"no-fold",
       0,
       "",
       "List every flow instead of counting; the same result, slower.",
       false,
       {}},
      {"timing", 0, "", "Print seconds and peak memory of each phase to stderr.", false, {}},
      {"compare",
       0,
       "LOG",
       "Hold an nccl-tests log (its output, or JSON of -J) against the prediction: ratio of each "
       "size, likely causes. Nodes and collective are the log's unless given.",
       false,
       {}},
      {"min-ratio",
       0,
       "RATIO",
       "With --compare: exit code 1 when a size between -b and -e is below it.",
       false,
       {}},
      format_option(),
      output_option(),
      catalog_option()};
  const std::vector<Option> placement = placement_options();
  command.options.insert(command.options.end(), placement.begin(), placement.end());
  command.options.insert(command.options.end(), more.begin(), more.end());
  return command;
}

}  // namespace flowplan::cli
