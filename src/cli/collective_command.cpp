#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "command.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/report/collective.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/placement.hpp"
#include "stopwatch.hpp"

namespace flowplan::cli {

namespace {

using collective::Operation;

constexpr std::size_t most_sizes = 10000;
constexpr int most_gpus = 100000000;

const std::vector<std::string> operation_names{"all_reduce", "all_gather", "reduce_scatter",
                                               "sendrecv"};

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

/// What of the options asks for the collective itself; its groups come with the cluster.
Result<collective::Request> request_from(const Arguments& arguments) {
  collective::Request request;
  const auto op = operation(arguments.positionals[0]);
  if (!op) return fail(op.error());
  request.operation = *op;
  const auto algorithm =
      choice<collective::Algorithm>(arguments, "algorithm", collective::find_algorithm,
                                    "one of RING, TREE, NVLS, NVLS_TREE, PAIRWISE, PXN");
  if (!algorithm) return fail(algorithm.error());
  request.algorithm = *algorithm;
  const auto protocol = choice<collective::Protocol>(
      arguments, "protocol", collective::find_protocol, "one of LL, LL128, SIMPLE");
  if (!protocol) return fail(protocol.error());
  request.protocol = *protocol;
  request.list_flows = arguments.has("no-fold");
  return request;
}

/// The cluster with what --degrade takes from it.
Result<topology::Cluster> degraded_cluster(const Arguments& arguments,
                                           const catalog::Catalog& catalog) {
  auto cluster = cluster_from(arguments, catalog);
  if (!cluster) return cluster;
  std::vector<topology::Slowdown> slow;
  for (const std::string& text : arguments.values("degrade")) {
    const auto parsed = topology::parse_degradation(*cluster, text);
    if (!parsed) return fail(parsed.error());
    slow.insert(slow.end(), parsed->begin(), parsed->end());
  }
  if (slow.empty()) return cluster;
  return cluster->degraded(slow);
}

/// The ranks' GPUs.
Result<topology::Placement> placed(const Arguments& arguments, const topology::Cluster& cluster,
                                   report::CollectiveSweep& result) {
  const auto ranks = int_option(arguments, "gpus", 2, most_gpus);
  if (!ranks) return fail(ranks.error());
  result.ranks = ranks->value_or(static_cast<int>(cluster.gpus()));
  if (result.ranks > static_cast<int>(cluster.gpus())) {
    return fail(error(Code::bad_placement,
                      fmt::format("{} ranks on {} GPUs", result.ranks, cluster.gpus()),
                      "give more --nodes or fewer --gpus"));
  }
  topology::PlacementSpec spec;
  if (arguments.value("placement") == topology::name(topology::PlacementKind::scattered)) {
    const auto seed = int_option(arguments, "seed", 0, std::numeric_limits<int>::max());
    if (!seed) return fail(seed.error());
    spec.kind = topology::PlacementKind::scattered;
    spec.seed = static_cast<std::uint64_t>(seed->value_or(0));
    result.conditions.push_back(fmt::format("nodes scattered, seed {}", spec.seed));
  } else if (arguments.has("seed")) {
    return fail(error(Code::usage, "--seed belongs to --placement scattered"));
  }
  return topology::place(cluster, static_cast<std::uint32_t>(result.ranks), spec);
}

Result<report::CollectiveSweep> sweep(const Arguments& arguments, const catalog::Catalog& catalog,
                                      Stopwatch& watch) {
  report::CollectiveSweep result;
  auto request = request_from(arguments);
  if (!request) return fail(request.error());
  const auto size_list = sizes(arguments);
  if (!size_list) return fail(size_list.error());

  const auto cluster = degraded_cluster(arguments, catalog);
  if (!cluster) return fail(cluster.error());
  for (const std::string& text : arguments.values("degrade"))
    result.conditions.push_back("degraded " + text);
  const auto placement = placed(arguments, *cluster, result);
  if (!placement) return fail(placement.error());
  request->groups = {placement->gpu};
  watch.lap("graph", fmt::format("{} GPUs, {} links", cluster->gpus(), cluster->links()));

  const catalog::Instance& instance = *cluster->spec().instance;
  const auto profile =
      catalog.constants(arguments.value("profile").value_or(instance.collective_profile));
  if (!profile) return fail(profile.error());
  result.operation = request->operation;
  result.instance = instance.id;
  result.nodes = cluster->spec().count;
  for (const Bytes size : *size_list) {
    request->size = size;
    auto outcome = collective::predict(catalog, *cluster, *request, *profile);
    if (!outcome) return fail(std::move(outcome.error()));
    result.profile = outcome->stack;
    result.lines.push_back({size, std::move(*outcome)});
  }
  watch.lap("predict",
            fmt::format("{} size{}", size_list->size(), size_list->size() == 1 ? "" : "s"));
  return result;
}

int run(const Arguments& arguments, Session& session) {
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
      {{"OP", "all_reduce, all_gather, reduce_scatter, alltoall or sendrecv.", 1, 1}},
      cluster_options(),
      {{"collective all_reduce --instance p5.48xlarge --nodes 4 -b 8 -e 16G -f 2",
        "A size sweep on four nodes"},
       {"collective all_gather --instance p6-b200.48xlarge --nodes 8 -b 1G --protocol SIMPLE",
        "One size, protocol forced"},
       {"collective alltoall --instance p5.48xlarge --nodes 12500 -b 1G --degrade nic:gpu12=0.5",
        "100,000 GPUs, the NICs of one at half their rate"}},
      run};
  const std::vector<Option> more{
      {"begin", 'b', "SIZE", "Smallest size; 32M by default.", false, {}},
      {"end", 'e', "SIZE", "Largest size; that of -b by default.", false, {}},
      {"factor", 'f', "N", "Each size is the last one times N; 2 by default.", false, {}},
      {"step", 'i', "SIZE", "Each size is the last one plus SIZE, instead of a factor.", false, {}},
      {"gpus", 'g', "N", "Ranks: the first N GPUs; all by default.", false, {}},
      {"algorithm",
       0,
       "NAME",
       "Force RING, TREE, NVLS or NVLS_TREE, as NCCL_ALGO does; alltoall: PAIRWISE or PXN.",
       false,
       {}},
      {"protocol", 0, "NAME", "Force LL, LL128 or SIMPLE, as NCCL_PROTO does.", false, {}},
      {"profile", 0, "ID", "Software stack: a set of kind collectives of the catalog.", false, {}},
      {"placement",
       0,
       "NAME",
       "Which nodes the ranks get: the first ones, or random ones.",
       false,
       {"contiguous", "scattered"}},
      {"seed", 0, "N", "Of the scattered placement; 0 by default.", false, {}},
      {"degrade",
       0,
       "SPEC",
       "Slow or fail a part: nic:gpu12=0.5 (its NICs at half rate, 0: failed), nic:node3, "
       "nvlink:gpu12, pcie:gpu12, uplink:leaf5, uplink:pod1; several with commas.",
       true,
       {}},
      {"no-fold",
       0,
       "",
       "List every flow instead of counting; the same result, slower.",
       false,
       {}},
      {"timing", 0, "", "Print seconds and peak memory of each phase to stderr.", false, {}},
      format_option(),
      output_option(),
      catalog_option()};
  command.options.insert(command.options.end(), more.begin(), more.end());
  return command;
}

}  // namespace flowplan::cli
