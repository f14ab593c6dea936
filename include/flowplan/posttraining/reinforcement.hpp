#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/inference/layout.hpp"
#include "flowplan/inference/number_formats.hpp"
#include "flowplan/posttraining/asynchronous.hpp"
#include "flowplan/posttraining/batching.hpp"
#include "flowplan/posttraining/played.hpp"
#include "flowplan/posttraining/rollout.hpp"
#include "flowplan/posttraining/samples.hpp"
#include "flowplan/posttraining/weight_sync.hpp"
#include "flowplan/storage/mount.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::posttraining {

/// `ppo` has a critic; `grpo`, `rloo` compare the answers of a group; `dapo` is GRPO without a
/// reference that drops groups whose rewards are all equal (over-sampling).
enum class Algorithm { ppo, grpo, dapo, rloo };
[[nodiscard]] std::string_view name(Algorithm algorithm);

/// Which GPUs do what. `colocated`: all do everything, in turns. The others have trainer GPUs (the
/// cluster's first) and rollout GPUs: `disaggregated` takes turns too; `one_step_off` makes the
/// next batch while it trains on this one and waits for both; `asynchronous` lets samples in up to
/// `staleness` versions ahead.
enum class Placement { colocated, disaggregated, one_step_off, asynchronous };
[[nodiscard]] std::string_view name(Placement placement);

/// One step of reinforcement learning to estimate.
struct RlJob {
  Algorithm algorithm = Algorithm::grpo;
  /// The actor: model, layout, precision, framework, micro_batch (rows), recomputation, sharding.
  /// Its lengths, batch and GPUs follow from the rest.
  training::Job actor;
  std::optional<training::Job> critic;        ///< PPO; nothing: like the actor
  std::optional<training::Job> reward_model;  ///< scores on the trainer's GPUs
  bool reference = true;                      ///< a forward pass of the first policy
  bool old_log_prob = true;                   ///< by the trainer; false: as the engine gave them
  std::int64_t log_prob_micro_batch = 1;      ///< rows of forward passes
  Batching batching = Batching::packed;
  std::int64_t pack_tokens = 0;
  std::int64_t mini_batch = 0;  ///< samples of an update; 0: all of the step
  int epochs = 1;               ///< times that a step's samples are trained on

  RolloutLoad load;            ///< of a step, over-sampling not in it
  double over_sampling = 1.0;  ///< prompts started over those trained on, >= 1
  bool stop_early = false;     ///< drop what is late when enough are finished
  Verifier verifier;

  std::string engine = "vllm";
  inference::Layout engine_layout;
  inference::NumberFormats formats;
  std::optional<double> engine_memory;        ///< share of a GPU's; nothing: the profile's
  std::optional<std::int64_t> max_sequences;  ///< running at once on an attention rank

  std::uint32_t gpus = 0;  ///< of the cluster that it uses; 0: all of them
  Placement placement = Placement::colocated;
  std::uint32_t rollout_gpus = 0;  ///< the last ones, where the pools are apart
  double staleness = 1.0;
  bool partial = true;       ///< asynchronous: samples go on over weight updates
  bool in_order = true;      ///< asynchronous: batches as they were started, none older
  double in_flight = 0.0;    ///< asynchronous: batches of prompts at once; 0: as staleness lets in
  bool streamed = false;     ///< the trainer starts on a mini-batch once its samples are there
  std::optional<bool> swap;  ///< colocated: states to the host meanwhile; nothing: yes

  SyncPath sync = SyncPath::broadcast;
  const storage::Mount* mount = nullptr;
  std::string profile = "default";

  const Played* known = nullptr;  ///< of a step much like this one; outlives the call
};

/// A pool of GPUs over a step.
struct PoolUse {
  std::string pool;
  std::uint32_t gpus = 0;
  double idle_share = 0.0;  ///< of its GPUs' time, 0..1
};

struct RlStep {
  Seconds step{};
  Breakdown time;                     ///< leaves sum to `step`
  std::string does_not_fit, binding;  ///< memory; empty when it fits
  Bytes trainer_memory{}, hbm{};      ///< of the fullest GPU while training; what it has

  // Parts as they run, overlapped or not.
  Seconds generation{}, tail{}, scoring{}, log_prob{}, reference{}, values{}, reward_model{};
  Seconds update{}, sync{}, swap{}, controller{};

  double samples = 0.0;           ///< trained on, a step
  double tokens = 0.0;            ///< of them, prompts included
  double generated_tokens = 0.0;  ///< a step, dropped samples too
  double mean_response = 0.0, longest_response = 0.0;
  double padding_waste = 0.0;                         ///< of the computed tokens of an update
  int replicas = 0;                                   ///< of the engine
  std::int64_t updates = 0;                           ///< optimizer steps
  Rows rows;                                          ///< of one update
  double mean_staleness = 0.0, most_staleness = 0.0;  ///< versions
  /// Bytes of `sync` over all links of a tier; empty through storage.
  std::vector<std::pair<topology::Tier, Bytes>> sync_carried;
  Seconds sync_least{}, sync_most{};  ///< of `sync`, by the ends of what was measured of a tensor
  bool staleness_grows = false;       ///< with every step: then the two are of those followed
  bool most_is_open = false;          ///< others may be older than the steps followed
  std::vector<PoolUse> pools;
  std::vector<Interval> timeline;
  std::string limit;  ///< what to change first: "stragglers", "generation", "update", "sync", ...
  training::Iteration iteration;         ///< one update of the actor
  std::shared_ptr<const Played> played;  ///< what its engines were asked; nothing: it does not fit
  Band band;
  std::vector<Warning> warnings;
  std::vector<std::string> profiles;
};

/// Estimates a step; docs/models/posttraining.md has the formulas. Errors: those of training,
/// inference and the collectives for the layouts and names, FP070 for pools that do not add up,
/// FP071 for batches and replicas that do not divide, FP024 for numbers out of range. A job that
/// does not fit in memory is an answer. Places are below "/workload".
[[nodiscard]] Result<RlStep> estimate(const catalog::Catalog& catalog,
                                      const topology::Cluster& cluster, const RlJob& job);

}  // namespace flowplan::posttraining
