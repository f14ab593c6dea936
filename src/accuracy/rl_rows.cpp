#include "rl_rows.hpp"

#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "rl_job.hpp"

namespace flowplan::accuracy {

namespace {

/// The least recomputation that fits, for a row whose recipe does not set it.
void least_recompute(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                     RlMeasurement& rl) {
  training::Job job = rl.job.actor;
  job.gpus = rl.job.gpus -
             (rl.job.placement == posttraining::Placement::colocated ? 0 : rl.job.rollout_gpus);
  job.seq_len = rl.job.pack_tokens;
  job.global_batch = job.micro_batch * job.layout.dp * job.layout.pp;
  for (const auto level : {training::Recompute::none, training::Recompute::full}) {
    job.recompute = rl.job.actor.recompute = level;
    const auto use = training::memory(catalog, cluster, job);
    if (use && use->fits) break;
  }
  rl.assumed.push_back(fmt::format("recompute {}", training::name(rl.job.actor.recompute)));
}

}  // namespace

void predict_rl(const catalog::Catalog& catalog, const CsvTable& table, std::size_t index,
                const ClusterOf& cluster_of, Row& row) {
  RlMeasurement rl = read_rl_job(catalog, table, index);
  row.by = {{"source", rl.source}, {"gpu", rl.gpu}, {"origin", "reference"}};
  const auto measured = table.number(index, "value");
  if (!measured || *measured <= 0.0) {
    row.skipped = "no measured value";
    return;
  }
  if (!rl.skipped.empty()) {
    row.skipped = rl.skipped;
    return;
  }
  const auto cluster = cluster_of(rl.instance, rl.job.gpus, rl.job.actor.placement);
  if (!cluster) {
    row.skipped = cluster.error().front().message;
    return;
  }
  if (!rl.recompute_stated) least_recompute(catalog, **cluster, rl);
  row.measured = *measured;
  row.by.emplace_back("group", "RL");
  row.by.emplace_back("part", rl.source + ", RL");
  row.by.emplace_back("layout", fmt::format("assumed: {}", fmt::join(rl.assumed, ", ")));
  const auto step = posttraining::estimate(catalog, **cluster, rl.job);
  if (!step) {
    row.skipped = step.error().front().message;
  } else if (step->step.value() <= 0.0) {
    row.skipped = "does not fit: " + step->does_not_fit;
  } else {
    row.predicted = step->step.value();
    if (!step->band.regime.empty()) row.band = step->band;
  }
}

}  // namespace flowplan::accuracy
