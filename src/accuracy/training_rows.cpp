#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/training/iteration.hpp"
#include "rl_job.hpp"
#include "rl_rows.hpp"
#include "training_job.hpp"

namespace flowplan::accuracy {

namespace {

constexpr double tera = 1e12;

/// Clusters of the reference systems, each built once.
class Clusters {
 public:
  explicit Clusters(const catalog::Catalog& catalog) : catalog_(catalog) {}

  /// A cluster of the instance that holds the job's GPUs, and the placement on it.
  Result<const topology::Cluster*> holding(const std::string& id, std::uint32_t ranks,
                                           topology::PlacementSpec& placement) {
    const auto instance = catalog_.instance(id);
    if (!instance) return fail(instance.error());
    const auto gpus = static_cast<int>(ranks);
    const int in_one = (*instance)->gpus;
    const int used = gpus_used_of(in_one, gpus);
    const int count = (gpus + used - 1) / used;
    placement.gpus_per_domain = used < in_one && count > 1 ? static_cast<std::uint32_t>(used) : 0;
    auto& known = clusters_[{id, count}];
    if (known == nullptr) {
      topology::ClusterSpec spec;
      spec.instance = *instance;
      spec.count = count;
      auto built = topology::Cluster::build(catalog_, spec);
      if (!built) return fail(built.error());
      known = std::make_unique<topology::Cluster>(std::move(*built));
    }
    return known.get();
  }

 private:
  /// NVL72 racks run jobs of 64 GPUs a rack where 72 does not divide them.
  static int gpus_used_of(int in_one, int gpus) {
    constexpr int rack = 72, used_of_rack = 64;
    return in_one == rack && gpus > rack && gpus % rack != 0 ? used_of_rack : in_one;
  }

  const catalog::Catalog& catalog_;
  std::map<std::pair<std::string, int>, std::unique_ptr<topology::Cluster>> clusters_;
};

/// The row's metric from the estimate, in the row's unit; nothing for a metric that is not of a
/// step.
std::optional<double> in_unit(const std::string& metric, const std::string& unit,
                              const training::Iteration& iteration, const TrainingJob& row) {
  const double per_gpu = iteration.tokens_per_second / row.job.gpus;
  if (metric == "step_time" && unit == "s") return iteration.step.value();
  if (metric == "throughput" && unit == "tokens/s/GPU") return per_gpu;
  if (metric == "throughput_total" && unit == "tokens/s (cluster)") {
    return iteration.tokens_per_second;
  }
  if (metric == "model_flops_rate" && unit == "TFLOP/s/GPU") {
    const Flops token = model::training_flops_per_token(row.job.model, row.job.seq_len, row.credit);
    return per_gpu * token.value() / tera;
  }
  return std::nullopt;
}

std::string reason_of(const Diagnostics& diagnostics) {
  return diagnostics.empty() ? "no estimate" : diagnostics.front().message;
}

/// The least recomputation that fits, where a row leaves it open.
void choose_recompute(const catalog::Catalog& catalog, Clusters& clusters, TrainingJob& row) {
  if (!row.recompute_is_open) return;
  const auto cluster = clusters.holding(row.instance, row.job.gpus, row.job.placement);
  if (!cluster) return;
  for (const auto level : {training::Recompute::none, training::Recompute::full}) {
    row.job.recompute = level;
    const auto use = training::memory(catalog, **cluster, row.job);
    if (use && use->fits) break;
  }
  row.assumed.push_back(fmt::format("recompute {}", training::name(row.job.recompute)));
}

void predict(const catalog::Catalog& catalog, Clusters& clusters, TrainingJob job,
             const std::string& unit, Row& row) {
  const auto cluster = clusters.holding(job.instance, job.job.gpus, job.job.placement);
  if (!cluster) {
    row.skipped = reason_of(cluster.error());
    return;
  }
  const auto iteration = training::estimate(catalog, **cluster, job.job);
  if (!iteration) {
    row.skipped = reason_of(iteration.error());
    return;
  }
  row.predicted = in_unit(row.metric, unit, *iteration, job);
  if (!row.predicted)
    row.skipped = fmt::format("metric {} in {} is not of a step", row.metric, unit);
}

}  // namespace

std::vector<Row> training_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  Clusters clusters(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    Row row;
    row.id = table.text(i, "id");
    row.metric = table.text(i, "metric");
    if (is_rl_row(table, i)) {
      predict_rl(
          catalog, table, i,
          [&](const std::string& instance, std::uint32_t gpus, topology::PlacementSpec& placement) {
            return clusters.holding(instance, gpus, placement);
          },
          row);
      rows.push_back(std::move(row));
      continue;
    }
    const auto measured = table.number(i, "value");
    ReadJob read = read_training_job(catalog, table, i);
    TrainingJob& job = read.job;
    const auto known = catalog.instance(job.instance);
    const bool ec2 = known && (*known)->kind != catalog::InstanceKind::reference;
    row.by = {{"source", job.source},
              {"gpu", job.gpu},
              {"origin", ec2 ? "ec2" : "reference"},
              {"framework", job.job.framework.empty() ? "other" : job.job.framework}};
    if (!measured || *measured <= 0.0) {
      row.skipped = "no measured value";
    } else if (!read.skipped.empty()) {
      row.skipped = read.skipped;
    } else {
      row.measured = *measured;
      choose_recompute(catalog, clusters, job);
      row.by.emplace_back("group", job.group);
      row.by.emplace_back("part", job.source + ", " + job.group);
      row.by.emplace_back("layout", job.assumed.empty()
                                        ? "stated"
                                        : fmt::format("assumed: {}", fmt::join(job.assumed, ", ")));
      predict(catalog, clusters, job, table.text(i, "unit"), row);
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace flowplan::accuracy
