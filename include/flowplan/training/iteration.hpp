#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::training {

/// Degrees of parallelism; each >= 1, tp * pp * cp * dp = GPUs.
struct Layout {
  int tp = 1;
  int pp = 1;
  int vp = 1;  ///< virtual stages a rank (interleaved 1F1B)
  int cp = 1;
  int dp = 1;
  bool sequence_parallel = true;
};

enum class Recompute { none, selective, full };
/// `none`: plain data parallel, gradients all-reduced. `distributed_optimizer`: ZeRO-1.
enum class Sharding { none, distributed_optimizer };

/// One pretraining iteration to estimate.
struct Job {
  model::Transformer model;
  model::Precision precision = model::Precision::bf16;  ///< of the GEMMs
  Layout layout;
  Recompute recompute = Recompute::none;
  Sharding sharding = Sharding::distributed_optimizer;
  std::int64_t seq_len = 0;
  std::int64_t micro_batch = 1;             ///< sequences
  std::int64_t global_batch = 1;            ///< sequences a step
  std::string framework = "megatron-core";  ///< a constants set of kind "framework"
  std::uint32_t gpus = 0;                   ///< GPUs of the cluster that it uses; 0: all of them
  topology::PlacementSpec placement;
};

/// Memory of the most loaded rank of one pipeline stage.
struct StageMemory {
  int stage = 0;
  Bytes weights{}, gradients{}, optimizer{}, activations{}, logits{}, workspace{};
  [[nodiscard]] Bytes total() const;
};

/// Memory of a job, stage by stage, against what one GPU has.
struct MemoryUse {
  std::vector<StageMemory> stages;
  Bytes hbm{};  ///< that a program can allocate on one GPU
  bool fits = false;
  std::string does_not_fit;  ///< the binding stage and term; empty when it fits

  /// The stage with the largest total, the first of equals.
  [[nodiscard]] const StageMemory& peak() const;
};

struct TierUse {
  topology::Tier tier{};
  double utilisation = 0.0;  ///< of the tier's capacity, mean over its links and the step, 0..1
};

struct Iteration {
  Seconds step{};
  Breakdown time;                   ///< leaves sum to `step`
  std::vector<StageMemory> memory;  ///< per stage
  Bytes hbm{};                      ///< what one GPU has
  bool fits = false;
  std::string does_not_fit;  ///< the binding stage and term; empty when it fits
  std::vector<TierUse> tiers;
  double tokens_per_second = 0.0;
  double model_tflops_per_gpu = 0.0;  ///< 10^12 model FLOPs/s, causal attention counted half
  double mfu = 0.0;                   ///< of the dense peak of the GEMM precision, 0..1
  Band band;                          ///< of the step time, from rows left out of the fit
  std::vector<Warning> warnings;      ///< outside what was calibrated
  std::vector<std::string> profiles;  ///< ids of the constants sets used
};

/// Everything wrong with a job on a cluster, as the user can mend it: GPUs that do not match the
/// layout, batches that do not divide (FP070, FP071), TP not dividing the heads (FP071), PP beyond
/// the layers (FP072), what this release does not model and precisions that the GPU lacks (FP073),
/// an unknown framework (FP030). Places are JSON pointers below "/workload".
[[nodiscard]] Diagnostics check(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                const Job& job);

/// Estimates one iteration; the model is in docs/models/training.md. Errors as `check`. A job that
/// does not fit in memory is an answer.
[[nodiscard]] Result<Iteration> estimate(const catalog::Catalog& catalog,
                                         const topology::Cluster& cluster, const Job& job);

/// Memory alone, much cheaper than `estimate`. Errors as `check`.
[[nodiscard]] Result<MemoryUse> memory(const catalog::Catalog& catalog,
                                       const topology::Cluster& cluster, const Job& job);

/// The least change that makes a job fit, tried in this order: recompute, micro-batch, sharding of
/// the optimizer, then TP and PP at the same GPU count. Empty when none of them does, or it fits.
[[nodiscard]] std::string least_change_that_fits(const catalog::Catalog& catalog,
                                                 const topology::Cluster& cluster, const Job& job);

}  // namespace flowplan::training
