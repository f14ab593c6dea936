#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/collective/custom_all_reduce.hpp"

namespace flowplan::accuracy {
namespace {

constexpr double ms_per_second = 1e3;

struct NodeOfGpu {
  std::string_view gpu, instance;
};
constexpr std::array nodes_of_gpus{
    NodeOfGpu{"A100-80GB", "dgx-a100"}, NodeOfGpu{"A100", "dgx-a100"},
    NodeOfGpu{"H100", "dgx-h100"},      NodeOfGpu{"H200", "hgx-h200"},
    NodeOfGpu{"H800", "h800-node"},     NodeOfGpu{"B200", "dgx-b200"},
    NodeOfGpu{"B300", "dgx-b300"},      NodeOfGpu{"GB200", "gb200-nvl72"},
    NodeOfGpu{"GB300", "gb300-nvl72"},
};

/// 0: unknown.
double bytes_of(std::string_view dtype) {
  if (dtype == "bfloat16" || dtype == "float16" || dtype == "half") return 2.0;
  if (dtype == "float32" || dtype == "float") return 4.0;
  return dtype == "fp8" || dtype == "int8" ? 1.0 : 0.0;
}

/// One node of each instance type, built once.
class NodesOfTypes {
 public:
  explicit NodesOfTypes(const catalog::Catalog& catalog) : catalog_(catalog) {}

  Result<const topology::Cluster*> of_gpu(std::string_view gpu) {
    std::string_view id;
    for (const NodeOfGpu& known : nodes_of_gpus) {
      if (known.gpu == gpu) id = known.instance;
    }
    if (id.empty()) {
      return fail(error(Code::unknown_name, fmt::format("no system for GPU {}", gpu)));
    }
    auto& known = built_[std::string(id)];
    if (!known) {
      const auto instance = catalog_.instance(id);
      if (!instance) return fail(instance.error());
      topology::ClusterSpec spec;
      spec.instance = *instance;
      spec.count = 1;
      auto cluster = topology::Cluster::build(catalog_, spec);
      if (!cluster) return fail(cluster.error());
      known = std::make_unique<topology::Cluster>(std::move(*cluster));
    }
    return known.get();
  }

 private:
  const catalog::Catalog& catalog_;
  std::map<std::string, std::unique_ptr<topology::Cluster>> built_;
};

void predict_custom(const catalog::Catalog& catalog, NodesOfTypes& nodes, int ranks, Bytes size,
                    Row& row, const std::string& gpu) {
  const auto cluster = nodes.of_gpu(gpu);
  if (!cluster) {
    row.skipped = cluster.error().front().message;
    return;
  }
  const auto outcome = collective::custom_all_reduce(
      catalog, **cluster, collective::contiguous_group(static_cast<std::uint32_t>(ranks)), size);
  if (!outcome) {
    row.skipped = outcome.error().front().message;
    return;
  }
  row.predicted = outcome->time.value() * ms_per_second;
}

}  // namespace

std::vector<Row> custom_all_reduce_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  NodesOfTypes nodes(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Row row;
    row.id = table.text(i, "id").empty() ? std::to_string(i) : table.text(i, "id");
    row.metric = "latency_ms";
    const std::string& gpu = table.text(i, "gpu");
    const int ranks = static_cast<int>(table.number(i, "num_gpus").value_or(0.0));
    const double elements = table.number(i, "message_size").value_or(0.0);
    const double element = bytes_of(table.text(i, "allreduce_dtype"));
    row.measured = table.number(i, "latency").value_or(0.0);
    row.by = {{"source", table.text(i, "source")},
              {"gpu", gpu},
              {"group", fmt::format("custom all-reduce, {} GPUs", ranks)}};
    if (row.measured <= 0.0) {
      row.skipped = "no measured latency";
    } else if (element <= 0.0) {
      row.skipped = "data type unknown: " + table.text(i, "allreduce_dtype");
    } else if (ranks < 2 || elements <= 0.0) {
      row.skipped = "ranks or message size not stated";
    } else {
      predict_custom(catalog, nodes, ranks, Bytes(elements * element), row, gpu);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace flowplan::accuracy
