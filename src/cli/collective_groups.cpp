#include "collective_groups.hpp"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cluster_options.hpp"
#include "collective_profile.hpp"
#include "command.hpp"
#include "flowplan/base/parse_quantity.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/collective/together.hpp"
#include "flowplan/report/collective.hpp"
#include "flowplan/topology/degradation.hpp"

namespace flowplan::cli {

namespace {

/// "tp8:all_reduce:64M" on the first `gpus` GPUs.
Result<collective::Part> parse_part(std::string_view text, std::uint32_t gpus) {
  const std::size_t first = text.find(':'), last = text.rfind(':');
  if (first == std::string_view::npos || first == last) {
    return fail(error(Code::usage, fmt::format("--groups {}", text),
                      "spelt GROUPS:OP:SIZE: tp8:all_reduce:64M, dp8:all_gather:1G"));
  }
  collective::Part part;
  part.name = std::string(text.substr(0, first));
  const std::string_view name = text.substr(first + 1, last - first - 1);
  const auto operation = collective::find_operation(name);
  if (!operation) {
    return fail(error(Code::bad_collective, fmt::format("there is no collective `{}`", name)));
  }
  part.operation = *operation;
  const auto size = parse_nccl_size(std::string(text.substr(last + 1)));
  if (!size) return fail(size.error());
  part.size = *size;
  auto groups = collective::split_groups(part.name, gpus);
  if (!groups) return fail(std::move(groups.error()));
  part.groups = std::move(*groups);
  return part;
}

/// All of --groups, each of which may name several separated by commas.
std::vector<std::string> group_specs(const Arguments& arguments) {
  std::vector<std::string> specs;
  for (const std::string& text : arguments.values("groups")) {
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t comma = std::min(text.find(',', begin), text.size());
      specs.push_back(text.substr(begin, comma - begin));
      begin = comma + 1;
    }
  }
  return specs;
}

/// The cluster with a share of every NIC taken by others.
Result<topology::Cluster> with_background(const Arguments& arguments,
                                          const topology::Cluster& cluster,
                                          std::vector<std::string>& conditions) {
  const auto text = arguments.value("background");
  if (!text) return cluster;
  double share = 0.0;
  const char* end = text->data() + text->size();
  const auto [stop, fault] = std::from_chars(text->data(), end, share);
  if (fault != std::errc{} || stop != end || !(share >= 0.0 && share < 1.0)) {
    return fail(error(Code::usage, fmt::format("--background {}", *text),
                      "a share of every NIC, from 0 to below 1"));
  }
  std::vector<topology::Slowdown> slow;
  for (int node = 0; node < cluster.spec().count && share > 0.0; ++node) {
    const auto nics =
        topology::parse_degradation(cluster, fmt::format("nic:node{}={}", node, 1.0 - share));
    if (!nics) return fail(nics.error());
    slow.insert(slow.end(), nics->begin(), nics->end());
  }
  conditions.push_back(fmt::format("{:.4g} % of every NIC taken by others", 100.0 * share));
  if (slow.empty()) return cluster;
  return cluster.degraded(slow);
}

Result<report::CollectiveGroups> predict_groups(const Arguments& arguments,
                                                const catalog::Catalog& catalog) {
  report::CollectiveGroups result;
  const auto built = cluster_from(arguments, catalog);
  if (!built) return fail(built.error());
  const auto degraded_one = degraded(arguments, *built);
  if (!degraded_one) return fail(degraded_one.error());
  for (std::string& condition : degradation_conditions(arguments, *degraded_one))
    result.conditions.push_back(std::move(condition));
  const auto cluster = with_background(arguments, *degraded_one, result.conditions);
  if (!cluster) return fail(cluster.error());
  const auto placed = placement_from(arguments, *cluster);
  if (!placed) return fail(placed.error());
  if (!placed->condition.empty()) result.conditions.push_back(placed->condition);
  const auto& gpus = placed->placement.gpu;
  for (const std::string& text : group_specs(arguments)) {
    auto part = parse_part(text, static_cast<std::uint32_t>(gpus.size()));
    if (!part) return fail(part.error());
    // Groups are of ranks; ranks have the GPUs of their placement.
    for (collective::Group& group : part->groups) {
      for (topology::GpuId& gpu : group)
        gpu = gpus[topology::index(gpu)];
    }
    result.parts.push_back(std::move(*part));
  }
  const catalog::Instance& instance = *cluster->spec().instance;
  const auto profile = profile_from(arguments, catalog, instance);
  if (!profile) return fail(profile.error());
  const auto stack = collective::read_stack(**profile);
  if (!stack) return fail(stack.error());
  auto outcomes = collective::predict_together(*stack, *cluster, result.parts);
  if (!outcomes) return fail(std::move(outcomes.error()));
  result.outcomes = std::move(*outcomes);
  result.instance = instance.id;
  result.profile = stack->id;
  result.nodes = cluster->spec().count;
  return result;
}

}  // namespace

int collective_groups(const Arguments& arguments, Session& session) {
  const auto catalog = load_catalog(arguments, session);
  if (!catalog) return refuse(session, catalog.error());
  const auto result = predict_groups(arguments, *catalog);
  if (!result) return refuse(session, result.error());
  return emit(arguments, session,
              renderings(session, [&] { return report::collective_groups(*result); },
                         {{"json", [&] { return report::collective_groups_json(*result); }}}),
              0);
}

}  // namespace flowplan::cli
