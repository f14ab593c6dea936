#pragma once

#include "communication.hpp"
#include "flowplan/training/framework.hpp"
#include "layer.hpp"

namespace flowplan::training {

/// Exposed time of a kind of communication with what limits it.
struct Exposed {
  Seconds time{};    ///< exposed, of the unit that the name says
  Seconds whole{};   ///< with nothing hidden
  double bytes = 0;  ///< of one operation, as nccl-tests counts
  std::string limit, next;

  void add(const Exposed& other);
  [[nodiscard]] Exposed times(double factor) const;
};

/// What the functions below need to know; `layers` and `micro_batches` are for the utilisation of
/// links only: how often a step runs what is asked.
struct Traffic {
  const Framework& framework;
  const Job& job;
  Communication& communication;
  double runs = 1.0;  ///< layers of a stage times micro-batches
};

/// Tensor parallelism in one layer for one micro-batch, forward and backward.
[[nodiscard]] Exposed tp_exposed(const Traffic& traffic, LayerKind kind);

/// Context parallelism in one layer for one micro-batch. A ring's steps hide behind the attention
/// of the chunk before, all but the framework's share and what is longer than that attention.
[[nodiscard]] Exposed cp_exposed(const Traffic& traffic, const LayerWork& layer);

/// Dispatch to experts and combination in one layer for one micro-batch, forward and backward.
[[nodiscard]] Exposed ep_exposed(const Traffic& traffic);

/// Weights gathered and gradients scattered for every micro-batch in one layer: FSDP without a
/// pipeline, and the gradients of ZeRO-2.
[[nodiscard]] Exposed shard_exposed(const Traffic& traffic, const LayerWork& layer, LayerKind kind);

/// One transfer between stages; `time` is the exposed part of it in the steady state.
[[nodiscard]] Exposed pp_transfer(const Traffic& traffic, double transfers);

/// Gradients and weights over the replicas, once a step.
[[nodiscard]] Exposed dp_exposed(const Traffic& traffic, const LayerParameters& parameters);

/// Whether weights or gradients travel for every micro-batch instead of once a step.
[[nodiscard]] bool travels_every_micro_batch(const Job& job);

/// Ranks that divide the states of a layer's common weights, and of its experts.
struct StateShards {
  double common = 1, experts = 1;
};
[[nodiscard]] StateShards state_shards(const Job& job);

}  // namespace flowplan::training
