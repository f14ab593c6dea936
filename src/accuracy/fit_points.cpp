#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "collective_measured.hpp"
#include "collective_system.hpp"
#include "flowplan/accuracy/compare_log.hpp"
#include "flowplan/accuracy/fit.hpp"
#include "flowplan/collective/profile.hpp"

namespace flowplan::accuracy {
namespace {

/// Clusters by the instance type and the number of units, each built once.
class ClustersOfSizes {
 public:
  explicit ClustersOfSizes(const catalog::Catalog& catalog) : catalog_(catalog) {}

  Result<std::shared_ptr<const topology::Cluster>> of(const catalog::Instance& instance,
                                                      int units) {
    auto& known = built_[{instance.id, units}];
    if (!known) {
      topology::ClusterSpec spec;
      spec.instance = &instance;
      spec.count = units;
      auto cluster = topology::Cluster::build(catalog_, spec);
      if (!cluster) return fail(std::move(cluster.error()));
      known = std::make_shared<const topology::Cluster>(std::move(*cluster));
    }
    return known;
  }

 private:
  const catalog::Catalog& catalog_;
  std::map<std::pair<std::string, int>, std::shared_ptr<const topology::Cluster>> built_;
};

/// Why a row tells nothing of any stack; empty when it does.
std::string reason_not_to_fit(const MeasuredCollective& row, const catalog::Instance& instance) {
  if (!collective::find_operation(row.operation)) return "another operation: " + row.operation;
  if (row.size <= 0.0 || !row.time_us || *row.time_us <= 0.0) return "no size or no time";
  if (row.gpus < 2) return "fewer than two ranks";
  // On EC2 the publisher's instructions fix the stack; elsewhere it is anybody's.
  if (instance.kind == catalog::InstanceKind::reference &&
      !collective::holds_version(row.nccl_version)) {
    return "somebody's own system, NCCL's version not stated";
  }
  constexpr double least_printed_algbw = 0.1;
  if (row.notes_say("time derived") && row.algbw && *row.algbw < least_printed_algbw) {
    return "time derived from a bandwidth of one digit";
  }
  return {};
}

/// Tells which rows are chosen, and with which stack they ran.
class RowChooser {
 public:
  RowChooser(const catalog::Catalog& catalog, const RowChoice& choice)
      : catalog_(catalog), choice_(choice) {}

  /// Null, with the reason in `passed_over`, when the row is not chosen.
  const catalog::Constants* stack_of(const MeasuredCollective& row, const CollectiveSystem& system,
                                     const catalog::Instance& instance, std::string& passed_over) {
    const std::string& id = system.profile.empty() ? instance.collective_profile : system.profile;
    const auto stack =
        collective::find_profile(catalog_, id, {row.nccl_version, plugin_version(row)});
    if (!stack || !chosen(**stack)) {
      passed_over = "another software stack";
      return nullptr;
    }
    if (choice_.nodes && system.units != *choice_.nodes) {
      passed_over = "another number of nodes";
      return nullptr;
    }
    passed_over = reason_not_to_fit(row, instance);
    // Scripts add a time of their own to every collective: a fit has to hold that too.
    const std::string script = harness_figure(row, **stack);
    if (passed_over.empty() && !script.empty() && !stated(script))
      passed_over = "timed by a script, not by nccl-tests";
    return passed_over.empty() ? *stack : nullptr;
  }

 private:
  /// Whether the set to fit states a figure itself.
  bool stated(const std::string& figure) const {
    const auto lineage = catalog_.lineage(choice_.set->id());
    return lineage &&
           std::find(lineage->own.begin(), lineage->own.end(), figure) != lineage->own.end();
  }

  bool chosen(const catalog::Constants& stack) {
    if (stack.id() == choice_.set->id()) return true;
    if (!choice_.heirs) return false;
    const auto lineage = catalog_.lineage(stack.id());
    return lineage && std::find(lineage->bases.begin(), lineage->bases.end(), choice_.set->id()) !=
                          lineage->bases.end();
  }

  const catalog::Catalog& catalog_;
  const RowChoice& choice_;
};

void count_reason(FitInput& input, const std::string& reason) {
  const auto known = std::find_if(input.skipped.begin(), input.skipped.end(),
                                  [&](const auto& entry) { return entry.first == reason; });
  if (known == input.skipped.end()) {
    input.skipped.emplace_back(reason, 1);
  } else {
    ++known->second;
  }
}

}  // namespace

Result<FitInput> fit_points_of_log(std::shared_ptr<const topology::Cluster> cluster,
                                   const catalog::Constants& profile, const NcclLog& log,
                                   std::optional<collective::Operation> operation) {
  const auto asked = operation ? operation : log.operation;
  if (!asked) {
    return fail(error(Code::bad_collective, in_file(log.file),
                      "the log does not name its collective", "name it with --operation"));
  }
  auto group = ranks_of_log(*cluster, log);
  if (!group) return fail(std::move(group.error()));
  FitInput input;
  for (const NcclLogLine& line : log.lines) {
    FitPoint point;
    point.label = fmt::format("{}: {} {:.0f}", log.file, name(*asked), line.size_bytes);
    point.group = log.file;
    point.cluster = cluster;
    point.profile = &profile;
    point.request.operation = *asked;
    point.request.size = Bytes(line.size_bytes);
    point.request.groups = {*group};
    point.request.algorithm = collective::find_algorithm(log.forced_algorithm);
    point.request.protocol = collective::find_protocol(log.forced_protocol);
    point.measured_us = line.time_us;
    input.points.push_back(std::move(point));
  }
  return input;
}

Result<FitInput> fit_points_of_rows(const catalog::Catalog& catalog, const RowChoice& choice,
                                    const CsvTable& table) {
  for (const char* column : {"collective", "instance_or_system", "size_bytes", "time_us"}) {
    if (table.column(column)) continue;
    return fail(error(Code::wrong_kind_of_file, in_file(table.file(), 1),
                      fmt::format("no column `{}`: not a file of collectives", column),
                      "a log of nccl-tests, or rows as those of tests/accuracy/collectives.csv"));
  }
  ClustersOfSizes clusters(catalog);
  RowChooser chooser(catalog, choice);
  FitInput input;
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const MeasuredCollective row = read_measured(table, i);
    const CollectiveSystem system = collective_system(row.system, row.gpu, row.nodes, row.gpus);
    const auto instance = catalog.instance(system.instance);
    if (!instance || (choice.instance != nullptr && *instance != choice.instance)) {
      count_reason(input, "another system");
      continue;
    }
    std::string passed_over;
    const catalog::Constants* stack = chooser.stack_of(row, system, **instance, passed_over);
    if (stack == nullptr) {
      count_reason(input, passed_over);
      continue;
    }
    auto cluster = clusters.of(**instance, system.units);
    if (!cluster) return fail(std::move(cluster.error()));
    NcclLog ranks;
    ranks.ranks = system.units * system.per_unit;
    auto group = ranks_of_log(**cluster, ranks);
    if (!group) {
      count_reason(input, "ranks that do not fit the nodes");
      continue;
    }
    FitPoint point;
    point.label = table.text(i, "id").empty() ? std::to_string(i) : table.text(i, "id");
    point.group = fmt::format("{}, {} node{}, {}", row.operation, system.units,
                              system.units == 1 ? "" : "s", system.instance);
    point.cluster = *cluster;
    point.profile = stack;
    point.request.operation = *collective::find_operation(row.operation);
    point.request.size = Bytes(row.size);
    point.request.groups = {std::move(*group)};
    point.request.algorithm = forced_algorithm(row);
    point.request.channels = forced_channels(row);
    point.measured_us = *row.time_us;
    point.harness = harness_figure(row, *stack);
    input.points.push_back(std::move(point));
  }
  return input;
}

}  // namespace flowplan::accuracy
