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
#include "collective_sizes.hpp"
#include "command.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/profile.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/report/collective.hpp"
#include "kernel_exchange.hpp"
#include "stopwatch.hpp"

namespace flowplan::cli {

namespace {

using collective::Operation;

const std::vector<std::string> operation_names{
    "all_reduce", "all_gather", "reduce_scatter",    "alltoall",    "sendrecv",  "broadcast",
    "reduce",     "ep",         "custom_all_reduce", "ep_dispatch", "ep_combine"};

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
  const auto algorithm =
      collective::parse_algorithms(arguments.value("algorithm").value_or("auto"), *op);
  if (!algorithm) return fail(algorithm.error());
  request.algorithm = *algorithm;
  const auto protocol =
      collective::parse_protocols(arguments.value("protocol").value_or("auto"), *op);
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

/// The times on the same cluster at 2:1, or at 1:1 if it is oversubscribed, where leaves are
/// crossed.
Result<void> add_other_ratio(const Arguments& arguments, const collective::Stack& stack,
                             const topology::Cluster& cluster, collective::Request request,
                             report::CollectiveSweep& sweep) {
  const auto& carried = sweep.lines.front().outcome.carried;
  const bool crossed = std::any_of(carried.begin(), carried.end(), [](const auto& tier) {
    return tier.first == topology::Tier::leaf_spine;
  });
  if (!crossed) return {};
  topology::ClusterSpec spec = cluster.spec();
  sweep.other_ratio = spec.fabric.leaf_oversubscription > 1.0 ? 1.0 : 2.0;
  spec.fabric.leaf_oversubscription = sweep.other_ratio;
  const auto built = topology::Cluster::build(spec);
  if (!built) return fail(built.error());
  const auto other = degraded(arguments, *built);
  // Under ecmp the ratio decides how many uplinks there are: one that is named may be gone.
  if (!other) return {};
  for (report::CollectiveLine& line : sweep.lines) {
    request.size = line.size;
    const auto outcome = collective::predict(stack, *other, request);
    if (!outcome) return fail(outcome.error());
    line.other_time = outcome->time;
  }
  return {};
}

Result<report::CollectiveSweep> sweep(const Arguments& arguments, const catalog::Catalog& catalog,
                                      Stopwatch& watch) {
  report::CollectiveSweep result;
  auto request = request_from(arguments);
  if (!request) return fail(request.error());
  const auto size_list = collective_sizes(arguments);
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
  const std::string nccl = arguments.value("nccl").value_or("");
  if (std::string note = collective::newer_than_known(**profile, {nccl, {}}); !note.empty())
    result.conditions.push_back(std::move(note));
  const auto stack = collective::read_stack(**profile);
  if (!stack) return fail(stack.error());
  result.instance = instance.id;
  result.nodes = cluster->spec().count;
  for (const Bytes size : *kept) {
    request->size = size;
    auto outcome = collective::predict(*stack, *cluster, *request);
    if (!outcome) return fail(std::move(outcome.error()));
    result.profile = outcome->stack;
    result.lines.push_back({size, std::move(*outcome), {}, {}});
    report::CollectiveLine& line = result.lines.back();
    if (arguments.has("explain"))
      line.candidates = candidates(*stack, *cluster, *request, line.outcome.shape);
  }
  if (auto added = add_other_ratio(arguments, *stack, *cluster, *request, result); !added)
    return fail(added.error());
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

std::optional<Diagnostic> refuse_kernel_options(const Arguments& arguments) {
  for (const Option& option : kernel_exchange_options()) {
    if (arguments.has(option.name))
      return error(Code::usage,
                   fmt::format("--{} goes with ep, ep_dispatch, ep_combine", option.name));
  }
  return std::nullopt;
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
                                 "broadcast, reduce, custom_all_reduce, ep; or --groups, or a log "
                                 "with --compare"));
  }
  if (is_kernel_exchange(arguments.positionals[0]))
    return kernel_exchange(arguments, session, arguments.positionals[0]);
  if (auto alien = refuse_kernel_options(arguments)) return refuse(session, *alien);
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
        "all_reduce, all_gather, reduce_scatter, alltoall, sendrecv, broadcast or reduce; "
        "custom_all_reduce (serving engines' kernels); ep_dispatch, ep_combine or ep for both "
        "(tokens to their experts).",
        0,
        1,
        {"all_reduce", "all_gather", "reduce_scatter", "alltoall", "sendrecv", "broadcast",
         "reduce", "custom_all_reduce", "ep", "ep_dispatch", "ep_combine"}}},
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
       {"collective ep --instance p5en.48xlarge --nodes 4 --tokens 128,4096 --backend uccl",
        "Tokens of an MoE layer to their experts and back"},
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
       "NAMES",
       "Force RING, TREE, NVLS, NVLSTREE, PAT or COLLNET as NCCL_ALGO does: one, a list A,B, or "
       "^A,B "
       "for all but these; alltoall: PAIRWISE, PXN or HIERARCHICAL.",
       false,
       {},
       {"RING", "TREE", "NVLS", "NVLSTREE", "PAT", "COLLNET", "PAIRWISE", "PXN", "HIERARCHICAL"}},
      {"protocol",
       0,
       "NAMES",
       "Force LL, LL128 or SIMPLE as NCCL_PROTO does: one, a list, or ^LL for all but LL.",
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
  const std::vector<Option> kernels = kernel_exchange_options();
  command.options.insert(command.options.end(), kernels.begin(), kernels.end());
  return command;
}

}  // namespace flowplan::cli
