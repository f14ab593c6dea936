#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "collective_system.hpp"
#include "flowplan/accuracy/validate.hpp"
#include "flowplan/collective/collective.hpp"
#include "flowplan/collective/stack.hpp"

namespace flowplan::accuracy {
namespace {

using collective::Algorithm;
using collective::Operation;

constexpr double gib = 1024.0 * 1024.0 * 1024.0;
constexpr double mib = 1024.0 * 1024.0;
constexpr double giga = 1e9;
constexpr double per_us = 1e6;

/// What a row asks for, in the file's own words.
struct Measured {
  std::string operation, gpu, system, nccl_version, choice, source, notes;
  double nodes = 0, gpus = 0, size = 0;
  std::optional<double> time_us, algbw, busbw;
};

Measured read(const CsvTable& table, std::size_t row) {
  Measured m;
  m.operation = table.text(row, "collective");
  m.gpu = table.text(row, "gpu");
  m.system = table.text(row, "instance_or_system");
  m.nccl_version = table.text(row, "nccl_version");
  m.choice = table.text(row, "algo_proto_if_known");
  m.source = table.text(row, "source");
  m.notes = table.text(row, "notes");
  m.nodes = table.number(row, "nodes").value_or(0.0);
  m.gpus = table.number(row, "gpus").value_or(0.0);
  m.size = table.number(row, "size_bytes").value_or(0.0);
  m.time_us = table.number(row, "time_us");
  m.algbw = table.number(row, "algbw_GBps");
  m.busbw = table.number(row, "busbw_GBps");
  return m;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// An algorithm that the run was told to use, or a ring where NCCL would have had others.
std::optional<Algorithm> forced(const Measured& row) {
  if (contains(row.choice, "forced")) {
    return collective::find_algorithm(row.choice.substr(0, row.choice.find(' ')));
  }
  if (row.choice == "RING" || contains(row.choice, "NVLS off") ||
      contains(row.notes, "NVLS_ENABLE=0")) {
    return Algorithm::ring;
  }
  return std::nullopt;
}

/// Why a row cannot be predicted or scored; empty when it can.
std::string reason_to_skip(const Measured& row, const CollectiveSystem& system,
                           std::optional<Operation> operation) {
  if (!operation) return "operation not modelled in this release: " + row.operation;
  if (system.instance.empty()) return system.skipped;
  if (row.size <= 0.0) return "message size not stated";
  if (row.gpus < 2.0) return "fewer than two ranks";
  if (!row.time_us && !row.busbw) return "neither a time nor a bus bandwidth";
  // One printed digit of bandwidth says nothing about the time.
  constexpr double least_printed_algbw = 0.1;
  if (contains(row.notes, "time derived") && row.algbw && *row.algbw < least_printed_algbw) {
    return "time derived from a bandwidth of one digit";
  }
  if (contains(row.notes, "channels forced")) return "a forced count of channels is not modelled";
  if (row.operation == "all_gather" && row.choice == "NVLS") {
    return "NVLS all_gather is not modelled in this release";
  }
  return {};
}

std::string group_of(const Measured& row, Operation operation, const CollectiveSystem& system) {
  const std::string_view size = row.size >= gib   ? ">= 1 GiB"
                                : row.size >= mib ? "1 MiB to 1 GiB"
                                                  : "< 1 MiB";
  if (system.units == 1) {
    return fmt::format("one node, {}", row.size >= mib ? ">= 1 MiB" : "< 1 MiB");
  }
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

  Result<const catalog::Constants*> profile(const CollectiveSystem& system,
                                            const topology::Cluster& cluster) const {
    return catalog_.constants(system.profile.empty() ? cluster.spec().instance->collective_profile
                                                     : system.profile);
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

/// What the benchmark script itself adds to a time; a named figure, never part of a prediction.
double harness_offset_us(const Measured& row, const catalog::Constants& profile) {
  if (!contains(row.notes, "torch all_reduce_bench.py")) return 0.0;
  const double one_node = profile.get("harness.torch_offset_us", 0.0);
  return row.nodes > 1.0 ? profile.get("harness.torch_net_offset_us", one_node) : one_node;
}

struct Prediction {
  double time_us = 0.0, busbw = 0.0;
};

Result<Prediction> predict_row(const Measured& row, Operation operation,
                               const CollectiveSystem& system, Systems& systems) {
  const auto cluster = systems.cluster(system);
  if (!cluster) return fail(cluster.error());
  const auto profile = systems.profile(system, **cluster);
  if (!profile) return fail(profile.error());
  const auto stack = systems.stack(**profile);
  if (!stack) return fail(stack.error());
  collective::Request request;
  request.operation = operation;
  request.size = Bytes(row.size);
  request.groups = {group_of_ranks(system, **cluster)};
  request.algorithm = forced(row);
  const auto outcome = collective::predict(**stack, **cluster, request);
  if (!outcome) return fail(outcome.error());
  const double time_us = outcome->time.value() * per_us + harness_offset_us(row, **profile);
  return Prediction{time_us, row.size / (time_us / per_us) / giga *
                                 collective::bus_factor(operation, outcome->shape.ranks)};
}

Row predicted_row(const Measured& measured, std::string id, const catalog::Catalog& catalog,
                  Systems& systems) {
  Row row;
  row.id = std::move(id);
  row.metric = measured.time_us ? "time_us" : "busbw_GBps";
  row.measured = measured.time_us ? *measured.time_us : measured.busbw.value_or(0.0);
  const auto operation = collective::find_operation(measured.operation);
  const CollectiveSystem system =
      collective_system(measured.system, measured.gpu, static_cast<int>(measured.nodes),
                        static_cast<int>(measured.gpus), measured.nccl_version);
  row.by = {{"source", measured.source}, {"gpu", measured.gpu}};
  if (!system.instance.empty()) {
    const auto instance = catalog.instance(system.instance);
    const bool ec2 = instance && (*instance)->kind != catalog::InstanceKind::reference;
    row.by.emplace_back("origin", ec2 ? "ec2" : "reference");
    if (operation) row.by.emplace_back("group", group_of(measured, *operation, system));
  }
  row.skipped = reason_to_skip(measured, system, operation);
  if (!row.skipped.empty()) return row;
  const auto prediction = predict_row(measured, *operation, system, systems);
  if (!prediction) {
    row.skipped = prediction.error().front().message;
    return row;
  }
  row.predicted = measured.time_us ? prediction->time_us : prediction->busbw;
  return row;
}

}  // namespace

std::vector<Row> collective_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  Systems systems(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const std::string& id = table.text(i, "id");
    rows.push_back(
        predicted_row(read(table, i), id.empty() ? std::to_string(i) : id, catalog, systems));
  }
  return rows;
}

}  // namespace flowplan::accuracy
