#pragma once

#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/posttraining/reinforcement.hpp"
#include "flowplan/topology/cluster.hpp"

namespace flowplan::posttraining {

inline const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

inline topology::Cluster nodes_of(const std::string& instance, int count) {
  const auto found = shipped().instance(instance);
  if (!found) FAIL(render(found.error()));
  topology::ClusterSpec spec;
  spec.instance = *found;
  spec.count = count;
  auto cluster = topology::Cluster::build(shipped(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::move(*cluster);
}

inline model::Transformer model_of(const std::string& id) {
  const auto found = shipped().transformer(id);
  if (!found) FAIL(render(found.error()));
  return **found;
}

/// A 7B model on that many GPUs for training, rows of 4,096 tokens.
inline training::Job trainer_7b(int gpus) {
  training::Job job;
  job.model = model_of("qwen2.5-7b");
  job.layout.dp = gpus;
  job.layout.sequence_parallel = false;
  job.recompute = training::Recompute::full;
  job.gpus = static_cast<std::uint32_t>(gpus);
  return job;
}

/// 32 prompts of 4 answers of a thousand tokens or so, all GPUs of the cluster in turns.
inline RlJob grpo_7b(int gpus) {
  RlJob job;
  job.actor = trainer_7b(gpus);
  job.pack_tokens = 4096;
  job.load.prompts = 32;
  job.load.group = 4;
  job.load.prompt = {inference::TokenCount::Kind::fixed, 100.0, 0.0};
  job.load.response = with_mean({inference::TokenCount::Kind::lognormal, 1.0, 0.8, 3900.0}, 1000.0);
  return job;
}

inline RlStep must_step(const topology::Cluster& cluster, const RlJob& job) {
  auto step = estimate(shipped(), cluster, job);
  if (!step) FAIL(render(step.error()));
  return std::move(*step);
}

inline double sum_of_leaves(const Breakdown& tree) {
  if (tree.children.empty()) return tree.leaf_time.value();
  double sum = 0.0;
  for (const Breakdown& child : tree.children)
    sum += sum_of_leaves(child);
  return sum;
}

}  // namespace flowplan::posttraining
