#include "layer_cache.hpp"

#include <functional>

namespace flowplan::training {

namespace {

unsigned bits(const RecomputeModules& m) {
  return (m.core_attention ? 1u : 0u) | (m.mlp ? 2u : 0u) | (m.experts ? 4u : 0u) |
         (m.expert_activation ? 8u : 0u) | (m.norms ? 16u : 0u) | (m.latent_up ? 32u : 0u);
}

}  // namespace

std::size_t LayerCache::Hash::operator()(const Key& key) const {
  std::size_t seed = std::hash<double>{}(key.copies);
  const auto mix = [&](std::int64_t value) {
    seed = seed * 1099511628211u ^ static_cast<std::size_t>(value);
  };
  mix(static_cast<int>(key.kind));
  mix(static_cast<int>(key.precision));
  mix(static_cast<std::int64_t>(key.recompute) * 64 + std::int64_t{key.modules});
  mix(key.tp);
  mix(key.cp);
  mix(key.ep);
  mix(key.etp);
  mix(key.micro_batch * 2 + (key.sequence_parallel ? 1 : 0));
  mix(std::int64_t{key.adapter_targets});
  mix(key.adapter_rank);
  return seed;
}

LayerCache::Key LayerCache::key_of(const Job& job, LayerKind kind) {
  Key key;
  key.kind = kind;
  key.precision = job.precision;
  key.recompute = job.recompute;
  if (job.recompute == Recompute::selective) key.modules = bits(job.modules);
  key.tp = job.layout.tp;
  key.cp = job.layout.cp;
  if (kind == LayerKind::experts) {
    key.ep = job.layout.ep;
    key.etp = job.layout.etp;
    key.copies = routed_copies(job);
  }
  key.sequence_parallel = job.layout.sequence_parallel;
  key.micro_batch = job.micro_batch;
  key.attention_share = job.attention_share;
  if (job.adapters) {
    key.adapter_rank = job.adapters->rank;
    key.adapter_targets = job.adapters->targets.bits();
    key.frozen_bytes = job.adapters->frozen_bytes;
  }
  return key;
}

const LayerWork& LayerCache::layer(const compute::Kernels& kernels, const Framework& framework,
                                   const Job& job, LayerKind kind) {
  const Key key = key_of(job, kind);
  const auto known = layers_.find(key);
  if (known != layers_.end()) return known->second;
  return layers_.emplace(key, layer_work(kernels, framework, job, kind)).first->second;
}

const HeadWork& LayerCache::head(const compute::Kernels& kernels, const Framework& framework,
                                 const Job& job, const LayerWork& last_layer, LayerKind kind) {
  const Key key = key_of(job, kind);
  const auto known = heads_.find(key);
  if (known != heads_.end()) return known->second;
  return heads_.emplace(key, head_work(kernels, framework, job, last_layer)).first->second;
}

}  // namespace flowplan::training
