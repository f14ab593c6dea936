#include "flowplan/collective/collective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include <fmt/format.h>

#include "flowplan/collective/drain.hpp"
#include "flowplan/collective/law.hpp"
#include "flowplan/collective/schedule.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/topology/tier_name.hpp"

namespace flowplan::collective {
namespace {

/// Groups of one shape: they run the same schedule.
struct Class {
  Shape shape;
  std::size_t count = 0;  ///< groups
  /// Those whose flows are listed. Groups inside one NVLink domain use nothing but their own GPUs'
  /// ports, so one stands for all of them.
  std::vector<Members> groups;
  Choice choice;
  Schedule schedule;
};

bool in_one_domain(const Group& group, const topology::Cluster& cluster) {
  const std::uint32_t domain = cluster.domain_of(group.front());
  return std::all_of(group.begin(), group.end(),
                     [&](topology::GpuId gpu) { return cluster.domain_of(gpu) == domain; });
}

std::vector<Class> classes_of(const Request& request, const topology::Cluster& cluster) {
  std::vector<Class> classes;
  const auto class_of = [&](const Shape& shape) -> Class& {
    const auto known = std::find_if(classes.begin(), classes.end(),
                                    [&](const Class& entry) { return entry.shape == shape; });
    if (known != classes.end()) return *known;
    classes.emplace_back().shape = shape;
    return classes.back();
  };
  for (const Group& group : request.groups) {
    const int ranks = static_cast<int>(group.size());
    if (in_one_domain(group, cluster)) {
      Class& entry = class_of({ranks, 1, ranks});
      if (entry.count++ == 0) entry.groups.push_back({group});
      continue;
    }
    Members members = members_of(group, cluster);
    Class& entry = class_of(shape_of(members));
    ++entry.count;
    // Send and receive follow the ranks' order, whatever their domains.
    if (request.operation == Operation::send_recv) members = {group};
    entry.groups.push_back(std::move(members));
  }
  return classes;
}

std::vector<FlowLister> listers(const Stack& stack, const topology::Cluster& cluster,
                                const std::vector<Class>& classes, bool list_flows) {
  const auto show = list_flows ? visit_flows : visit_loads;
  std::vector<FlowLister> out;
  for (const Class& entry : classes) {
    out.emplace_back([&stack, &cluster, &entry, show](const FlowVisitor& visit) {
      for (const Members& members : entry.groups) {
        show(stack, entry.schedule, cluster, members, visit);
      }
    });
  }
  return out;
}

std::string link_label(const topology::Cluster& cluster, const TierLoad& load) {
  return fmt::format("{} {}", topology::tier_name(load.tier, *cluster.spec().instance),
                     cluster.link_name(load.link));
}

/// The binding term and the next one: latency (launch and steps), or a tier's tightest link.
void name_limits(Outcome& out, const topology::Cluster& cluster,
                 const std::vector<TierLoad>& loads) {
  const Seconds latency = out.launch + out.latency;
  const std::string first = link_label(cluster, loads.front());
  if (latency >= loads.front().time) {
    out.limit = "latency";
    out.next = first;
    return;
  }
  out.limit = first;
  out.next =
      loads.size() > 1 && loads[1].time > latency ? link_label(cluster, loads[1]) : "latency";
}

/// What of the shape was never measured, in words; empty when all of it was.
std::string unmeasured(const Outcome& out, const Stack& stack, Operation operation) {
  std::vector<std::string> parts;
  const Shape& shape = out.shape;
  if (shape.nodes == 1) {
    const std::vector<double>& measured = stack.nvls.rate_ranks;
    const bool known = shape.ranks <= measured.front() ||
                       (operation == Operation::all_reduce && shape.ranks == measured.back());
    return known ? "" : fmt::format("{} ranks in one NVLink domain", shape.ranks);
  }
  if (stack.calibrated_max_nodes == 0) return fmt::format("{} between nodes", stack.id);
  if (shape.nodes < stack.calibrated_min_nodes || shape.nodes > stack.calibrated_max_nodes) {
    parts.push_back(fmt::format("{} nodes ({} to {} were)", shape.nodes, stack.calibrated_min_nodes,
                                stack.calibrated_max_nodes));
  }
  const std::vector<int>& per_node = stack.calibrated_per_node;
  if (std::find(per_node.begin(), per_node.end(), shape.per_node) == per_node.end()) {
    parts.push_back(fmt::format("{} rank{} a node ({} were)", shape.per_node,
                                shape.per_node == 1 ? "" : "s", fmt::join(per_node, ", ")));
  }
  if (operation == Operation::all_to_all) {
    if (!stack.all_to_all_measured) parts.push_back("this fabric (P5's constants)");
    if (out.algorithm == Algorithm::pairwise && shape.per_node > 1) {
      parts.push_back(
          stack.network.cross_rail_slowdown > 1.0
              ? fmt::format("traffic across rails (slowed {:.3g} times, as raw writes are)",
                            stack.network.cross_rail_slowdown)
              : "traffic across rails (its congestion is left out)");
    }
  } else if (operation == Operation::reduce_scatter) {
    parts.push_back("this operation (all_gather's constants)");
  } else if (operation == Operation::send_recv) {
    parts.push_back("this operation (all-to-all's constants)");
  } else if (operation == Operation::broadcast || operation == Operation::reduce) {
    parts.push_back("this operation (one row)");
  }
  if (out.algorithm == Algorithm::pat) parts.push_back("PAT");
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Notes whatever nobody measured: the shape, or a choice that was forced and that NCCL would not
/// make.
/// What of the machines no measurement had.
std::string unmeasured_cluster(const topology::Cluster& cluster, const Shape& shape) {
  const topology::Fabric& fabric = cluster.spec().fabric;
  if (!cluster.slowdowns().empty()) return "links that are slow or failed";
  if (shape.nodes > 1 && (fabric.leaf_oversubscription > 1.0 || fabric.core_oversubscription > 1.0))
    return "an oversubscribed fabric";
  if (shape.nodes > 1 && shape.ranks != shape.nodes * shape.per_node)
    return "nodes with unequal numbers of ranks";
  return {};
}

void note_calibration(Outcome& out, const Stack& stack, const topology::Cluster& cluster,
                      Operation operation, bool forced) {
  std::string what = unmeasured(out, stack, operation);
  if (const std::string machines = unmeasured_cluster(cluster, out.shape); !machines.empty())
    what += (what.empty() ? "" : ", ") + machines;
  out.calibrated = what.empty() && !forced;
  if (!what.empty()) out.note = fmt::format("{} was not measured for {}", name(operation), what);
  if (!forced) return;
  out.note +=
      fmt::format("{}forced {} {} with {} channels: not what NCCL would run, not measured",
                  what.empty() ? "" : "; ", name(out.algorithm), name(out.protocol), out.channels);
}

/// Whether NCCL, left alone, would run something else. Inside a node also left alone with a ring:
/// there are rows with NVLS switched off.
bool forced_away(const Choice& forced, const Stack& stack, const Request& request,
                 const Shape& shape, bool nvls) {
  if (!request.algorithm.stated() && !request.protocol.stated() && !request.channels) return false;
  Forced measured;
  if (shape.nodes == 1 && forced.algorithm == Algorithm::ring) measured.algorithm = Algorithm::ring;
  const Result<Choice> alone =
      choose(stack, request.operation, shape, request.size, nvls, measured);
  return !alone || alone->algorithm != forced.algorithm || alone->protocol != forced.protocol ||
         alone->channels != forced.channels;
}

/// Which of the three sizes of a band holds.
std::size_t band_size(Bytes size, bool across) {
  if (size < mebibytes(1.0)) return 0;
  return size < (across ? gibibytes(1.0) : mebibytes(64.0)) ? 1 : 2;
}

}  // namespace

BandFigure band_figure(Operation operation, bool across_nodes, Bytes size) {
  const bool exchange = operation == Operation::all_to_all;
  return {across_nodes ? (exchange ? "band.net_exchange_percent" : "band.net_percent")
                       : (exchange ? "band.node_exchange_percent" : "band.node_percent"),
          band_size(size, across_nodes)};
}

namespace {

Band band_of(const Outcome& out, const Stack& stack, Operation operation, Bytes size) {
  static constexpr std::array<std::string_view, 3> node_sizes{"below 1 MiB", "1 to 64 MiB",
                                                              "64 MiB and more"};
  static constexpr std::array<std::string_view, 3> net_sizes{"below 1 MiB", "1 MiB to 1 GiB",
                                                             "1 GiB and more"};
  const bool across = out.shape.nodes > 1, exchange = operation == Operation::all_to_all;
  const std::size_t at = band_size(size, across);
  const Bands& bands = stack.bands;
  double percent = across ? (exchange ? bands.network_exchange : bands.network)[at]
                          : (exchange ? bands.node_exchange : bands.node)[at];
  if (!out.calibrated) percent = std::max(percent, bands.carried[at]);
  constexpr double most = 0.5;  // above, the upper end would run away
  const double share = std::min(percent / 100.0, most);
  return {
      1.0 / (1.0 + share), 1.0 / (1.0 - share), 0.9,
      fmt::format("{}{}, {}{}", exchange ? "alltoall, " : "", across ? "across nodes" : "one node",
                  across ? net_sizes[at] : node_sizes[at], out.calibrated ? "" : "; carried over")};
}

/// Traffic over a link that has failed takes for ever: nothing goes round it.
Result<void> check_cuts(const topology::Cluster& cluster,
                        const std::vector<std::vector<TierLoad>>& drained) {
  for (const std::vector<TierLoad>& loads : drained) {
    const TierLoad& worst = loads.front();
    if (std::isfinite(worst.time.value())) continue;
    return fail(error(Code::bad_cluster,
                      fmt::format("the ranks are cut off from each other: {} has failed",
                                  link_label(cluster, worst)),
                      "nothing goes round it; gpu:gpuN=0 and node:nodeN=0 leave GPUs out"));
  }
  return {};
}

/// The busiest link decides, except where two phases follow each other.
Timing timing_of(const Stack& stack, const Schedule& schedule, const std::vector<TierLoad>& loads) {
  if (schedule.algorithm != Algorithm::hierarchical)
    return apply_law(stack, schedule, loads.front().time);
  Seconds inside{}, across{};
  for (const TierLoad& load : loads) {
    Seconds& phase = load.tier == topology::Tier::nvlink ? inside : across;
    phase = std::max(phase, load.time);
  }
  return apply_law(stack, schedule, across, inside);
}

/// Wire bytes of all groups, by tier.
std::vector<std::pair<topology::Tier, Bytes>> wire_bytes(
    const Stack& stack, const std::vector<Class>& classes,
    const std::vector<std::vector<TierLoad>>& drained) {
  std::map<topology::Tier, Bytes> bytes;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const Class& entry = classes[c];
    const double groups_for_each =
        static_cast<double>(entry.count) / static_cast<double>(entry.groups.size());
    const double factor = groups_for_each * stack.wire_factor[index(entry.choice.protocol)];
    for (const TierLoad& load : drained[c])
      bytes[load.tier] += load.carried * factor;
  }
  return {bytes.begin(), bytes.end()};
}

Result<void> check(const Request& request, const topology::Cluster& cluster) {
  if (!(request.size > Bytes(0.0))) {
    return fail(error(Code::bad_collective,
                      fmt::format("{}: the size must be above 0 bytes", name(request.operation))));
  }
  return check_groups(request.groups, cluster);
}

}  // namespace

Result<Outcome> predict(const Stack& stack, const topology::Cluster& cluster,
                        const Request& request) {
  if (auto checked = check(request, cluster); !checked) return fail(checked.error());
  std::vector<Class> classes = classes_of(request, cluster);
  const bool nvls = cluster.spec().instance->nvls;
  for (Class& entry : classes) {
    Result<Choice> choice = choose(stack, request.operation, entry.shape, request.size, nvls,
                                   {request.algorithm, request.protocol, request.channels});
    if (!choice) return fail(choice.error());
    entry.choice = std::move(*choice);
    entry.schedule = {request.operation, entry.choice.algorithm, entry.choice.protocol,
                      entry.shape,       request.size,           entry.choice.channel_share};
  }

  const std::vector<std::vector<TierLoad>> drained =
      drain(cluster, listers(stack, cluster, classes, request.list_flows));
  if (auto whole = check_cuts(cluster, drained); !whole) return fail(whole.error());
  Outcome out;
  std::size_t slowest = 0;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    const Timing timing = timing_of(stack, classes[c].schedule, drained[c]);
    if (c > 0 && timing.total <= out.time) continue;
    slowest = c;
    out.time = timing.total;
    out.launch = timing.launch;
    out.latency = timing.latency;
    out.transfer = timing.transfer;
  }
  const Class& entry = classes[slowest];
  out.algorithm = entry.choice.algorithm;
  out.protocol = entry.choice.protocol;
  out.channels = entry.choice.channels;
  out.channel_share = entry.choice.channel_share;
  out.reason = entry.choice.reason;
  out.shape = entry.shape;
  out.stack = stack.id;
  out.algbw = request.size / out.time;
  out.busbw = out.algbw * bus_factor(request.operation, entry.shape.ranks);
  name_limits(out, cluster, drained[slowest]);
  note_calibration(out, stack, cluster, request.operation,
                   forced_away(entry.choice, stack, request, entry.shape, nvls));
  out.band = band_of(out, stack, request.operation, request.size);
  out.carried = wire_bytes(stack, classes, drained);
  return out;
}

Result<Outcome> predict(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                        const Request& request, const catalog::Constants* profile) {
  if (profile == nullptr) {
    const auto found = catalog.constants(cluster.spec().instance->collective_profile);
    if (!found) return fail(found.error());
    profile = *found;
  }
  const Result<Stack> stack = read_stack(*profile);
  if (!stack) return fail(stack.error());
  return predict(*stack, cluster, request);
}

Group contiguous_group(std::uint32_t ranks, std::uint32_t first) {
  Group group(ranks);
  for (std::uint32_t i = 0; i < ranks; ++i)
    group[i] = topology::GpuId{first + i};
  return group;
}

}  // namespace flowplan::collective
