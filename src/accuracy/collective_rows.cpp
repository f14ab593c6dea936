#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "collective_link_share.hpp"
#include "collective_measured.hpp"
#include "collective_system.hpp"
#include "expert_parallel_rows.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/profile.hpp"
#include "flowplan/collective/stack.hpp"
#include "flowplan/collective/transfer.hpp"

namespace flowplan::accuracy {
namespace {

using collective::Operation;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double mib = 1024.0 * 1024.0;
constexpr double giga = 1e9;
constexpr double per_us = 1e6;

/// Largest size of a usual sweep: where a row names only the peak of one.
constexpr double peak_size = 16.0 * gib;

bool names_a_peak(const MeasuredCollective& row) {
  return row.size <= 0.0 && row.notes_say("peak") && row.operation != "alltoall";
}

double size_of(const MeasuredCollective& row) {
  return names_a_peak(row) ? peak_size : row.size;
}

/// Why a row cannot be predicted or scored; empty when it can.
std::string reason_to_skip(const MeasuredCollective& row, const CollectiveSystem& system,
                           std::optional<Operation> operation) {
  if (!operation) return "operation not modelled: " + row.operation;
  if (!system.known()) return system.skipped;
  if (size_of(row) <= 0.0) return "message size not stated";
  if (row.gpus < 2) return "fewer than two ranks";
  if (!row.time_us && !row.busbw) return "neither a time nor a bus bandwidth";
  // One printed digit of bandwidth says nothing about the time.
  constexpr double least_printed_algbw = 0.1;
  if (row.notes_say("time derived") && row.algbw && *row.algbw < least_printed_algbw) {
    return "time derived from a bandwidth of one digit";
  }
  return {};
}

std::string group_of(const MeasuredCollective& row, Operation operation,
                     const CollectiveSystem& system) {
  const double bytes = size_of(row);
  const std::string_view size = bytes >= gib   ? ">= 1 GiB"
                                : bytes >= mib ? "1 MiB to 1 GiB"
                                               : "< 1 MiB";
  if (system.units == 1) return fmt::format("one node, {}", bytes >= mib ? ">= 1 MiB" : "< 1 MiB");
  const bool p5_p6 = system.instance.starts_with("p5") || system.instance.starts_with("p6");
  const bool main = operation == Operation::all_reduce || operation == Operation::all_gather;
  if (p5_p6 && main) return fmt::format("P5 and P6 multi-node all_reduce and all_gather, {}", size);
  if (p5_p6 && operation == Operation::all_to_all) {
    return fmt::format("P5 and P6 multi-node alltoall, {}", size);
  }
  return fmt::format("other multi-node, {}", size);
}

/// Clusters and stacks, each built once.
class Systems {
 public:
  explicit Systems(const catalog::Catalog& catalog) : catalog_(catalog) {}

  Result<const topology::Cluster*> cluster(const CollectiveSystem& system) {
    auto& known = clusters_[{system.instance, system.units}];
    if (!known) {
      const auto instance = catalog_.instance(system.instance);
      if (!instance) return fail(instance.error());
      topology::ClusterSpec spec;
      spec.instance = *instance;
      spec.count = system.units;
      auto built = topology::Cluster::build(catalog_, spec);
      if (!built) return fail(built.error());
      known = std::make_unique<topology::Cluster>(std::move(*built));
    }
    return known.get();
  }

  /// The stack with the versions that the row names.
  Result<const catalog::Constants*> profile(const MeasuredCollective& row,
                                            const CollectiveSystem& system,
                                            const topology::Cluster& cluster) const {
    const std::string& id =
        system.profile.empty() ? cluster.spec().instance->collective_profile : system.profile;
    return collective::find_profile(catalog_, id, {row.nccl_version, plugin_version(row)});
  }

  Result<const collective::Stack*> stack(const catalog::Constants& profile) {
    auto& known = stacks_[profile.id()];
    if (!known) {
      auto read = collective::read_stack(profile);
      if (!read) return fail(read.error());
      known = std::make_unique<collective::Stack>(std::move(*read));
    }
    return known.get();
  }

 private:
  const catalog::Catalog& catalog_;
  std::map<std::pair<std::string, int>, std::unique_ptr<topology::Cluster>> clusters_;
  std::map<std::string, std::unique_ptr<collective::Stack>> stacks_;
};

/// The first `per_unit` GPUs of each unit.
collective::Group group_of_ranks(const CollectiveSystem& system, const topology::Cluster& cluster) {
  collective::Group group;
  const std::uint32_t stride = cluster.gpus() / static_cast<std::uint32_t>(system.units);
  for (int unit = 0; unit < system.units; ++unit) {
    const collective::Group part = collective::contiguous_group(
        static_cast<std::uint32_t>(system.per_unit), static_cast<std::uint32_t>(unit) * stride);
    group.insert(group.end(), part.begin(), part.end());
  }
  return group;
}

/// "4x100Gbps (one GPU)": the NICs that take part, one direction.
std::optional<double> stated_gbps(std::string_view fabric) {
  const std::size_t unit = fabric.find("Gbps");
  if (unit == std::string_view::npos) return std::nullopt;
  std::size_t begin = unit;
  while (begin > 0 && (std::isdigit(static_cast<unsigned char>(fabric[begin - 1])) != 0 ||
                       fabric[begin - 1] == 'x'))
    --begin;
  double product = 1.0, factor = 0.0;
  for (const char c : fabric.substr(begin, unit - begin)) {
    if (c == 'x') product *= std::exchange(factor, 0.0);
    if (c != 'x') factor = 10.0 * factor + (c - '0');
  }
  return factor > 0.0 ? std::optional(product * factor) : std::nullopt;
}

/// "PCIe5 x16": its line rate, one direction (8 GT/s a lane with 128/130 coding, doubled from
/// generation to generation after the third).
std::optional<double> pcie_rate(std::string_view fabric) {
  constexpr std::string_view name = "PCIe";
  if (!fabric.starts_with(name) || fabric.size() < name.size() + 4) return std::nullopt;
  const int generation = fabric[name.size()] - '0';
  double lanes = 0.0;
  for (const char c : fabric.substr(name.size() + 3))
    lanes = 10.0 * lanes + (c - '0');
  return lanes * std::exp2(generation - 3) * 8e9 / 8.0 * 128.0 / 130.0;
}

/// Line rate of the link that a transfer row is about.
Result<BytesPerSecond> line_of(const MeasuredCollective& row, collective::Transfer transfer,
                               const topology::Cluster& cluster) {
  using collective::Transfer;
  constexpr double bits = 8.0;
  const topology::GpuId first{0};
  switch (transfer) {
    case Transfer::gpu_copy:
    case Transfer::gpu_copy_both_ways:
      return BytesPerSecond(cluster.capacity(cluster.nvlink_out(first)));
    case Transfer::host_copy:
      if (const auto rate = pcie_rate(row.fabric)) return BytesPerSecond(*rate);
      return fail(error(Code::bad_collective, "the PCIe link is not stated"));
    default:
      break;
  }
  if (const auto gbps = stated_gbps(row.fabric)) {
    // Exchanges are rated by GPU: the stated NICs are a node's.
    const bool by_gpu = row.gpus > row.nodes && transfer != Transfer::rdma_write;
    return BytesPerSecond(*gbps * giga / bits * (by_gpu ? 1.0 * row.nodes / row.gpus : 1.0));
  }
  return fail(error(Code::bad_collective, "the NICs that take part are not stated"));
}

struct Prediction {
  double time_us = 0.0, busbw = 0.0;
  Band band;
  double link_share = 0.0;
};

Result<Prediction> predict_row(const MeasuredCollective& row, Operation operation,
                               const CollectiveSystem& system, Systems& systems) {
  const auto cluster = systems.cluster(system);
  if (!cluster) return fail(cluster.error());
  const auto profile = systems.profile(row, system, **cluster);
  if (!profile) return fail(profile.error());
  const auto stack = systems.stack(**profile);
  if (!stack) return fail(stack.error());
  collective::Request request;
  request.operation = operation;
  request.size = Bytes(size_of(row));
  request.groups = {group_of_ranks(system, **cluster)};
  request.algorithm = forced_algorithm(row);
  request.channels = forced_channels(row);
  const auto outcome = collective::predict(**stack, **cluster, request);
  if (!outcome) return fail(outcome.error());
  const std::string script = harness_figure(row, **profile);
  const double time_us =
      outcome->time.value() * per_us + (script.empty() ? 0.0 : (*profile)->get(script, 0.0));
  return Prediction{time_us,
                    request.size.value() / (time_us / per_us) / giga *
                        collective::bus_factor(operation, outcome->shape.ranks),
                    outcome->band, busiest_link_share(**stack, **cluster, request, *outcome)};
}

/// A row of one link, or of an exchange without NCCL.
void predict_transfer_row(const MeasuredCollective& measured, collective::Transfer transfer,
                          const CollectiveSystem& system, Systems& systems, Row& row) {
  const auto rate = measured.algbw ? measured.algbw : measured.busbw;
  row.metric = measured.time_us ? "time_us" : measured.algbw ? "algbw_GBps" : "busbw_GBps";
  row.measured = measured.time_us ? *measured.time_us : rate.value_or(0.0);
  row.by.emplace_back("group", fmt::format("transfers, {}", collective::name(transfer)));
  if (!(row.measured > 0.0)) row.skipped = "neither a time nor a bandwidth";
  if (!row.skipped.empty()) return;
  const auto cluster = systems.cluster(system);
  const auto profile = cluster ? systems.profile(measured, system, **cluster)
                               : Result<const catalog::Constants*>(fail(cluster.error()));
  const auto line = profile ? line_of(measured, transfer, **cluster)
                            : Result<BytesPerSecond>(fail(profile.error()));
  const auto outcome =
      line ? collective::predict_transfer(**profile, transfer, *line, Bytes(measured.size))
           : Result<collective::TransferOutcome>(fail(line.error()));
  if (!outcome) {
    row.skipped = outcome.error().front().message;
    return;
  }
  row.predicted = measured.time_us ? outcome->time.value() * per_us : outcome->rate.value() / giga;
  const bool both_ways = transfer == collective::Transfer::gpu_copy_both_ways ||
                         transfer == collective::Transfer::rdma_write_both_ways;
  row.link_share = outcome->rate / *line / (both_ways ? 2.0 : 1.0);
}

Row row_of(const MeasuredCollective& measured, std::string id, const catalog::Catalog& catalog,
           Systems& systems) {
  Row row;
  row.id = std::move(id);
  row.by = {{"source", measured.source}, {"gpu", measured.gpu}};
  const auto transfer = measured_transfer(measured);
  // Copies of one GPU have no second one to divide among nodes.
  const int gpus = std::max(measured.gpus, measured.nodes);
  const CollectiveSystem system =
      collective_system(measured.system, measured.gpu, measured.nodes, gpus);
  if (system.known()) {
    const auto instance = catalog.instance(system.instance);
    const bool ec2 = instance && (*instance)->kind != catalog::InstanceKind::reference;
    row.by.emplace_back("origin", ec2 ? "ec2" : "reference");
  }
  if (transfer) {
    row.skipped = system.known() ? "" : system.skipped;
    predict_transfer_row(measured, *transfer, system, systems, row);
    return row;
  }
  row.metric = measured.time_us ? "time_us" : "busbw_GBps";
  row.measured = measured.time_us ? *measured.time_us : measured.busbw.value_or(0.0);
  const auto operation = collective::find_operation(measured.operation);
  if (system.known() && operation)
    row.by.emplace_back("group", group_of(measured, *operation, system));
  row.skipped = reason_to_skip(measured, system, operation);
  if (!row.skipped.empty()) return row;
  const auto prediction = predict_row(measured, *operation, system, systems);
  if (!prediction) {
    row.skipped = prediction.error().front().message;
    return row;
  }
  row.predicted = measured.time_us ? prediction->time_us : prediction->busbw;
  row.band = prediction->band;
  row.link_share = prediction->link_share;
  // A band of the time, turned round for a rate.
  if (!measured.time_us)
    std::tie(row.band->low, row.band->high) =
        std::pair(1.0 / prediction->band.high, 1.0 / prediction->band.low);
  return row;
}

}  // namespace

std::vector<Row> collective_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  Systems systems(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    if (is_expert_parallel(table, i)) {
      rows.push_back(expert_parallel_row(catalog, table, i));
      continue;
    }
    const std::string& id = table.text(i, "id");
    rows.push_back(
        row_of(read_measured(table, i), id.empty() ? std::to_string(i) : id, catalog, systems));
  }
  return rows;
}

}  // namespace flowplan::accuracy
