#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/collective/expert_parallel.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/model/memory.hpp"
#include "flowplan/model/transformer.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/topology/placement.hpp"
#include "flowplan/training/schedule.hpp"

namespace flowplan::training {

/// Degrees of parallelism; each >= 1, tp * pp * cp * dp = GPUs.
struct Layout {
  int tp = 1;
  int pp = 1;
  int vp = 1;  ///< virtual stages a rank (interleaved 1F1B)
  int cp = 1;
  int dp = 1;
  bool sequence_parallel = true;
  int ep = 1;   ///< ranks that share the experts of a layer, out of tp * cp * dp / etp
  int etp = 1;  ///< tensor parallelism inside an expert
  /// Stages may differ by a layer where pp * vp does not divide: embedding, head and prediction
  /// modules each take a layer's place.
  bool uneven_stages = false;
};

/// How context parallelism moves keys and values. `hybrid`: all-to-all inside the NVLink domain,
/// a ring of domains outside.
enum class ContextParallel { ring, all_gather, all_to_all, hybrid };
[[nodiscard]] std::string_view name(ContextParallel kind);

/// `selective`: the modules of `RecomputeModules`. `operators`: every second matrix product and all
/// that is cheap, as torchtitan and fms-fsdp do; the framework's profile says the share of a
/// forward pass. `full`: all but a layer's input.
enum class Recompute { none, selective, operators, full };
[[nodiscard]] std::string_view name(Recompute recompute);

/// What `selective` recomputation does again.
struct RecomputeModules {
  bool core_attention = true;
  bool mlp = false;                ///< dense MLP
  bool experts = false;            ///< routed experts, their exchange included
  bool expert_activation = false;  ///< SwiGLU of the experts only
  bool norms = false;
  bool latent_up = false;  ///< MLA's up projections
};

/// Which states data-parallel ranks (context-parallel ones included) divide among them.
/// `none`: plain data parallel, gradients all-reduced. `distributed_optimizer`: ZeRO-1. `zero2`:
/// gradients too. `fsdp`: weights too (ZeRO-3), gathered for the forward and again for the backward
/// pass. `fsdp_no_reshard`: gathered once for both (SHARD_GRAD_OP).
enum class Sharding { none, distributed_optimizer, zero2, fsdp, fsdp_no_reshard };
[[nodiscard]] std::string_view name(Sharding sharding);
[[nodiscard]] constexpr bool shards_weights(Sharding sharding) {
  return sharding == Sharding::fsdp || sharding == Sharding::fsdp_no_reshard;
}

/// Which matrices of a layer have adapters. Fused ones (Megatron, NeMo) share what goes in: q, k
/// and v one, gate and up another. Of Hugging Face PEFT's names each has its own.
struct AdapterTargets {
  bool fused_qkv = true, output = true;  ///< NeMo's usual ones
  bool query = false, key = false, value = false;
  bool fused_up = false, gate = false, up = false, down = false;

  /// One bit a target.
  [[nodiscard]] unsigned bits() const;
};

/// Low-rank adapters on frozen weights: no gradients of these, no optimizer for them. Routed
/// experts have none.
struct Adapters {
  std::int64_t rank = 16;
  AdapterTargets targets;
  /// Of a frozen weight as stored. Below 2 (QLoRA's 4 bits) a 16-bit copy is made for every use.
  double frozen_bytes = 2.0;
};

/// How a parameter's states are kept where that is not the usual way; nothing: as the framework
/// and the precision have it.
struct States {
  std::optional<double> gradient_bytes;  ///< main gradients, as stored and reduced: 4 or 2
  std::optional<double> master_bytes;    ///< copy of the weights: 4 or 2; 0: there is none
  std::optional<double> moments_bytes;   ///< both of Adam's: 8, 4 or 2
  bool narrow_weights = false;           ///< weights of layers kept and gathered in 8 bits
  bool transposed_copy = false;          ///< and once more, transposed, for the backward pass

  [[nodiscard]] bool usual() const {
    return !gradient_bytes && !master_bytes && !moments_bytes && !narrow_weights;
  }
};

/// Layers that a recipe of fewer than 16 bits leaves in bf16, counted from either end of the model.
struct WideLayers {
  std::int64_t first = 0, last = 0;
};

/// How tokens reach their experts.
struct ExpertRouting {
  double imbalance = 1.0;   ///< tokens of the most loaded rank over the mean, >= 1
  double capacity = 0.0;    ///< of an expert, in units of the mean load; 0: dropless
  int nodes_per_token = 0;  ///< node-limited routing; 0: any node
  bool overlapped = false;  ///< exchange hidden behind another micro-batch's work
  /// Each NVLink domain gets a token once, whatever the number of its experts there (DeepEP,
  /// HybridEP); false: once an expert (NCCL's all-to-all).
  bool deduplicated = false;
  bool captured = false;  ///< expert layers replayed from CUDA graphs
  /// The library that moves tokens between nodes; nothing: NCCL's all-to-all on the links, with
  /// `deduplicated` copies.
  std::optional<collective::ExpertBackend> backend;
};

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
  int shard_group = 0;  ///< ranks that divide the states (HSDP), whole groups; 0: all of them
  Schedule schedule = Schedule::one_forward_one_backward;
  ContextParallel context_parallel = ContextParallel::ring;
  RecomputeModules modules;
  ExpertRouting routing;
  std::optional<Adapters> adapters;  ///< LoRA; nothing: all weights are trained
  bool async_tp = false;             ///< TP communication split and overlapped with its GEMM
  std::int64_t offload_layers = 0;   ///< of a stage, activations kept in host memory
  /// Work of attention over that of whole sequences of `seq_len`, > 0: samples that are packed into
  /// one attend to themselves only.
  double attention_share = 1.0;
  States states;
  WideLayers wide_layers;
};

/// Memory of the most loaded rank of one pipeline stage.
struct StageMemory {
  int stage = 0;
  Bytes weights{}, gradients{}, optimizer{}, activations{}, logits{};
  Bytes context{};        ///< held by the driver and libraries
  Bytes buffers{};        ///< NCCL's, and workspaces of libraries
  Bytes fragmentation{};  ///< what the allocator cannot use
  [[nodiscard]] Bytes total() const;
  /// All parts; the stage's number does not count.
  [[nodiscard]] bool same_as(const StageMemory& other) const;
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
  std::string peak_moment;   ///< when in the step the fullest stage holds most
  std::vector<TierUse> tiers;
  double tokens_per_second = 0.0;
  double model_tflops_per_gpu = 0.0;  ///< 10^12 model FLOPs/s, causal attention counted half
  double mfu = 0.0;                   ///< of the dense peak of the GEMM precision, 0..1
  Band band;                          ///< of the step time, from rows left out of the fit
  std::vector<Warning> warnings;      ///< outside what was calibrated
  std::vector<std::string> profiles;  ///< ids of the constants sets used
};

/// A batch without gradients: log-probabilities, a reference, reward or teacher model.
struct ForwardPass {
  Seconds time{};       ///< sum of the others
  Seconds steady{};     ///< micro-batches times the slowest stage
  Seconds bubble{};     ///< filling the pipeline
  Seconds transfers{};  ///< between stages, what shows of them
  Seconds overhead{};   ///< of the framework, a batch
  std::string limit;    ///< of the layers' largest part: "tensor cores"
};

/// Everything wrong with a job on a cluster, as the user can mend it: GPUs that do not match the
/// layout, batches that do not divide (FP070, FP071), TP not dividing the heads, EP not dividing
/// experts or ranks (FP071), PP beyond the layers (FP072), what this release does not model and
/// precisions that the GPU lacks (FP073), an unknown framework (FP030). Places are JSON pointers
/// below "/workload".
[[nodiscard]] Diagnostics check(const catalog::Catalog& catalog, const topology::Cluster& cluster,
                                const Job& job);

/// Estimates one iteration; the model is in docs/models/training.md. Errors as `check`. A job that
/// does not fit in memory is an answer.
[[nodiscard]] Result<Iteration> estimate(const catalog::Catalog& catalog,
                                         const topology::Cluster& cluster, const Job& job);

/// The forward pass of a job's global batch through its stages, one micro-batch after the other;
/// nothing is kept for a backward pass. Errors as `check`.
[[nodiscard]] Result<ForwardPass> forward_pass(const catalog::Catalog& catalog,
                                               const topology::Cluster& cluster, const Job& job);

/// Parameters that have gradients: of the adapters, or all of the model's.
[[nodiscard]] double trainable_parameters(const Job& job);

/// Bytes of a parameter's states that a checkpoint of the job holds (its gradients are the usual
/// ones and are not saved).
[[nodiscard]] model::StateFormat saved_states(const Job& job);

/// Memory alone, much cheaper than `estimate`. Errors as `check`.
[[nodiscard]] Result<MemoryUse> memory(const catalog::Catalog& catalog,
                                       const topology::Cluster& cluster, const Job& job);

/// The least change that makes a job fit, tried in this order: recompute, micro-batch, sharding of
/// the optimizer, then TP and PP at the same GPU count. Empty when none of them does, or it fits.
[[nodiscard]] std::string least_change_that_fits(const catalog::Catalog& catalog,
                                                 const topology::Cluster& cluster, const Job& job);

}  // namespace flowplan::training
