#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "flowplan/training/iteration.hpp"

namespace flowplan::training {

inline const catalog::Catalog& the_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

inline topology::Cluster cluster_of(const std::string& instance, int count,
                                    topology::Fabric fabric = {}) {
  const auto found = the_catalog().instance(instance);
  if (!found) FAIL(render(found.error()));
  topology::ClusterSpec spec;
  spec.instance = *found;
  spec.count = count;
  spec.fabric = fabric;
  auto cluster = topology::Cluster::build(the_catalog(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::move(*cluster);
}

/// p5.48xlarge nodes whose network is twice as fast.
inline topology::Cluster with_twice_the_network(int count) {
  static const catalog::Instance faster = [] {
    const auto found = the_catalog().instance("p5.48xlarge");
    if (!found) FAIL(render(found.error()));
    catalog::Instance instance = **found;
    instance.efa_gbps_total.value *= 2.0;
    return instance;
  }();
  topology::ClusterSpec spec;
  spec.instance = &faster;
  spec.count = count;
  auto cluster = topology::Cluster::build(the_catalog(), spec);
  if (!cluster) FAIL(render(cluster.error()));
  return std::move(*cluster);
}

/// Llama 3 70B: TP 4, PP 4, four virtual stages of five layers, 16 micro-batches.
inline Job llama_70b(int gpus) {
  Job job;
  job.model.name = "llama-70b";
  job.model.layers = 80;
  job.model.hidden = 8192;
  job.model.ffn = 28672;
  job.model.heads = 64;
  job.model.kv_heads = 8;
  job.model.head_dim = 128;
  job.model.vocab = 128256;
  job.layout.tp = 4;
  job.layout.pp = 4;
  job.layout.vp = 4;
  job.layout.dp = gpus / 16;
  job.seq_len = 8192;
  job.micro_batch = 1;
  job.global_batch = static_cast<std::int64_t>(job.layout.dp) * 16;
  return job;
}

inline Iteration estimated(const topology::Cluster& cluster, const Job& job) {
  auto result = estimate(the_catalog(), cluster, job);
  if (!result) FAIL(render(result.error()));
  return std::move(*result);
}

}  // namespace flowplan::training
