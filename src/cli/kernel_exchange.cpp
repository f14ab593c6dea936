#include "kernel_exchange.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "collective_sizes.hpp"
#include "flowplan/collective/custom_all_reduce.hpp"
#include "flowplan/collective/expert_parallel.hpp"
#include "flowplan/report/kernel_exchange.hpp"

namespace flowplan::cli {

namespace {

using collective::ExpertMode;

constexpr std::string_view custom = "custom_all_reduce";
constexpr std::array<std::string_view, 3> expert_operations{"ep", "ep_dispatch", "ep_combine"};

/// Of DeepSeek-V3, whose sizes the libraries' own benchmarks take.
constexpr int default_hidden = 7168, default_top_k = 8, default_experts = 256;
constexpr int normal_tokens = 4096, low_latency_tokens = 128;
constexpr int most_tokens = 1 << 24, most_hidden = 1 << 20, most_experts = 1 << 16;

constexpr double bf16_bytes = 2.0;
constexpr double fp8_bytes = 1.03125;  // one FP32 scale for 128 elements

Result<void> refuse_options(const Arguments& arguments, std::string_view operation,
                            std::initializer_list<std::string_view> options) {
  for (const std::string_view option : options) {
    if (!arguments.has(option)) continue;
    return fail(error(Code::usage, fmt::format("--{} does not go with {}", option, operation)));
  }
  return {};
}

struct Ranks {
  topology::Cluster cluster;
  collective::Group group;
};

Result<Ranks> ranks_from(const Arguments& arguments, const catalog::Catalog& catalog) {
  auto cluster = cluster_from(arguments, catalog);
  if (!cluster) return fail(std::move(cluster.error()));
  auto placed = placement_from(arguments, *cluster);
  if (!placed) return fail(std::move(placed.error()));
  return Ranks{std::move(*cluster), std::move(placed->placement.gpu)};
}

Result<report::CustomAllReduceSweep> custom_sweep(const Arguments& arguments,
                                                  const catalog::Catalog& catalog) {
  const auto sound = refuse_options(arguments, custom,
                                    {"algorithm", "protocol", "channels", "explain", "nccl",
                                     "plugin", "profile", "degrade", "no-fold"});
  if (!sound) return fail(sound.error());
  const auto sizes = collective_sizes(arguments);
  if (!sizes) return fail(sizes.error());
  const auto ranks = ranks_from(arguments, catalog);
  if (!ranks) return fail(ranks.error());
  report::CustomAllReduceSweep sweep;
  sweep.instance = ranks->cluster.spec().instance->id;
  sweep.ranks = static_cast<int>(ranks->group.size());
  for (const Bytes size : *sizes) {
    const auto outcome = collective::custom_all_reduce(catalog, ranks->cluster, ranks->group, size);
    if (!outcome) return fail(outcome.error());
    sweep.lines.push_back({size, *outcome});
  }
  return sweep;
}

/// "128,4096".
Result<std::vector<double>> token_counts(const Arguments& arguments, ExpertMode mode) {
  std::vector<double> counts;
  std::string text = arguments.value("tokens").value_or(
      std::to_string(mode == ExpertMode::normal ? normal_tokens : low_latency_tokens));
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    Arguments one;
    one.options["tokens"] = {text.substr(begin, comma - begin)};
    const auto count = int_option(one, "tokens", 1, most_tokens);
    if (!count) return fail(count.error());
    counts.push_back(**count);
    begin = comma + 1;
  }
  return counts;
}

double element_bytes(const Arguments& arguments, std::string_view option, double otherwise) {
  const auto text = arguments.value(option);
  if (!text) return otherwise;
  return *text == "fp8" ? fp8_bytes : bf16_bytes;
}

Result<collective::ExpertTraffic> traffic_from(const Arguments& arguments) {
  const auto hidden = int_option(arguments, "hidden", 1, most_hidden);
  if (!hidden) return fail(hidden.error());
  const auto top_k = int_option(arguments, "top-k", 1, most_experts);
  if (!top_k) return fail(top_k.error());
  const auto experts = int_option(arguments, "experts", 1, most_experts);
  if (!experts) return fail(experts.error());
  const auto nodes = int_option(arguments, "nodes-per-token", 1, most_experts);
  if (!nodes) return fail(nodes.error());
  collective::ExpertTraffic traffic;
  traffic.hidden = hidden->value_or(default_hidden);
  traffic.top_k = top_k->value_or(default_top_k);
  traffic.experts = experts->value_or(default_experts);
  traffic.max_nodes = nodes->value_or(0);
  traffic.dispatch_bytes = element_bytes(arguments, "dispatch-type", fp8_bytes);
  traffic.combine_bytes = element_bytes(arguments, "combine-type", bf16_bytes);
  return traffic;
}

/// Experts are spread over whole nodes, as many of their GPUs on each.
Result<collective::ExpertGroup> group_from(const Ranks& ranks, const catalog::Catalog& catalog) {
  const collective::Shape shape =
      collective::shape_of(collective::members_of(ranks.group, ranks.cluster));
  if (shape.ranks != shape.nodes * shape.per_node) {
    return fail(error(Code::bad_placement,
                      fmt::format("experts over {} GPUs of {} nodes", shape.ranks, shape.nodes),
                      "as many GPUs on every node"));
  }
  return collective::expert_group(catalog, *ranks.cluster.spec().instance, shape.nodes,
                                  shape.per_node);
}

Result<report::ExpertSweep> expert_sweep(const Arguments& arguments,
                                         const catalog::Catalog& catalog,
                                         std::string_view operation) {
  const auto sound =
      refuse_options(arguments, operation,
                     {"begin", "end", "factor", "step", "algorithm", "protocol", "channels",
                      "explain", "nccl", "plugin", "profile", "degrade", "no-fold"});
  if (!sound) return fail(sound.error());
  report::ExpertSweep sweep;
  sweep.dispatch = operation != "ep_combine";
  sweep.combine = operation != "ep_dispatch";
  sweep.backend = collective::find_expert_backend(arguments.value("backend").value_or("deepep"))
                      .value_or(collective::ExpertBackend::deepep);
  sweep.mode =
      arguments.value("mode") == "low_latency" ? ExpertMode::low_latency : ExpertMode::normal;
  const auto ranks = ranks_from(arguments, catalog);
  if (!ranks) return fail(ranks.error());
  sweep.instance = ranks->cluster.spec().instance->id;
  const auto group = group_from(*ranks, catalog);
  if (!group) return fail(group.error());
  sweep.group = *group;
  auto traffic = traffic_from(arguments);
  if (!traffic) return fail(traffic.error());
  const auto counts = token_counts(arguments, sweep.mode);
  if (!counts) return fail(counts.error());
  for (const double tokens : *counts) {
    traffic->tokens = tokens;
    auto outcome =
        collective::expert_parallel(catalog, sweep.backend, sweep.mode, sweep.group, *traffic);
    if (!outcome) return fail(std::move(outcome.error()));
    sweep.lines.push_back({*traffic, std::move(*outcome)});
  }
  return sweep;
}

}  // namespace

bool is_kernel_exchange(std::string_view operation) {
  return operation == custom || std::find(expert_operations.begin(), expert_operations.end(),
                                          operation) != expert_operations.end();
}

int kernel_exchange(const Arguments& arguments, Session& session, std::string_view operation) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  if (operation == custom) {
    const auto sweep = custom_sweep(arguments, *catalog);
    if (!sweep) return refuse(session, sweep.error());
    return emit(arguments, session,
                renderings(session, [&] { return report::custom_all_reduce(*sweep); },
                           {{"json", [&] { return report::custom_all_reduce_json(*sweep); }}}),
                0);
  }
  const auto sweep = expert_sweep(arguments, *catalog, operation);
  if (!sweep) return refuse(session, sweep.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::expert_sweep(*sweep); },
                         {{"json", [&] { return report::expert_sweep_json(*sweep); }}}),
              0);
}

std::vector<Option> kernel_exchange_options() {
  return {
      {"tokens", 0, "LIST", "ep: tokens of a GPU; 4096, low_latency 128.", false, {}},
      {"hidden", 0, "N", "ep: elements of a token; 7168.", false, {}},
      {"top-k", 0, "N", "ep: experts of a token; 8.", false, {}},
      {"experts", 0, "N", "ep: experts in all, spread evenly; 256.", false, {}},
      {"nodes-per-token", 0, "N", "ep: most nodes that a token's experts are on.", false, {}},
      {"backend",
       0,
       "NAME",
       "ep: the library that sends; deepep by default.",
       false,
       {"deepep", "deepep-v2", "uccl", "nvshmem", "nccl"}},
      {"mode", 0, "NAME", "ep: its kernels; normal by default.", false, {"normal", "low_latency"}},
      {"dispatch-type", 0, "NAME", "ep: of elements sent; fp8 by default.", false, {"fp8", "bf16"}},
      {"combine-type", 0, "NAME", "ep: of results; bf16 by default.", false, {"fp8", "bf16"}}};
}

}  // namespace flowplan::cli
