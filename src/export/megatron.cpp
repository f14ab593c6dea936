// Flags of Megatron-LM's pretrain_gpt.py, as of Megatron Core 0.14.
#include <algorithm>

#include <fmt/format.h>

#include "flowplan/export/launch.hpp"
#include "training_only.hpp"

namespace flowplan::exporting {

namespace {

class MegatronFlags {
 public:
  explicit MegatronFlags(const Plan& plan) : plan_(plan), job_(plan.job) {}

  std::vector<Argument> all() {
    parallelism();
    pipeline_split();
    batches();
    model();
    experts();
    latent_attention();
    precision();
    recomputation();
    states();
    formats();
    add("--use-mcore-models");
    add("--transformer-impl", "transformer_engine");
    add("--attention-backend", "auto");
    data();
    return std::move(arguments_);
  }

 private:
  void add(std::string flag, std::string value = {}) {
    arguments_.push_back({std::move(flag), std::move(value)});
  }
  template <class Number>
  requires std::is_integral_v<Number>
  void add(std::string flag, Number value) { add(std::move(flag), std::to_string(value)); }

  /// Tokens for pretraining; conversations and the weights to begin with for SFT.
  void data() {
    if (plan_.method.empty()) {
      add("--tokenizer-type", "NullTokenizer");
      add("--vocab-size", job_.model.vocab);
    } else {
      add("--sft");
      add("--tokenizer-type", "SFTTokenizer");
      add("--tokenizer-model", "$TOKENIZER");
      add("--finetune");
      add("--pretrained-checkpoint", "$CHECKPOINT");
    }
    add("--data-path", "$DATA_PATH");
  }

  void parallelism() {
    const training::Layout& layout = job_.layout;
    add("--tensor-model-parallel-size", layout.tp);
    add("--pipeline-model-parallel-size", layout.pp);
    add("--context-parallel-size", layout.cp);
    if (layout.cp > 1) add("--cp-comm-type", context_traffic());
    if (layout.tp > 1 && layout.sequence_parallel) add("--sequence-parallel");
    if (layout.tp > 1 && job_.async_tp) add("--tp-comm-overlap");
    if (job_.model.experts) {
      add("--expert-model-parallel-size", layout.ep);
      add("--expert-tensor-parallel-size", layout.etp);
    }
  }

  std::string context_traffic() const {
    switch (job_.context_parallel) {
      case training::ContextParallel::ring:
        return "p2p";
      case training::ContextParallel::all_gather:
        return "all_gather";
      case training::ContextParallel::all_to_all:
        return "a2a";
      case training::ContextParallel::hybrid:
        return "a2a+p2p";
    }
    return "p2p";
  }

  /// How layers are dealt to stages, where it is not evenly.
  void pipeline_split() {
    const training::Layout& layout = job_.layout;
    if (layout.pp == 1) return;
    const std::int64_t layers = job_.model.layers;
    const bool even = layers % (layout.pp * layout.vp) == 0 && job_.model.mtp_layers == 0;
    if (layout.uneven_stages && !even) {
      // Chunk by chunk: as if each were a stage.
      const auto chunks =
          training::uneven_stage_layers(layers, layout.pp * layout.vp, 1, job_.model.mtp_layers);
      if (chunks) return add("--pipeline-model-parallel-layout", layout_text(*chunks));
    }
    if (layout.vp > 1) add("--num-virtual-stages-per-pipeline-rank", layout.vp);
    if (layers % (layout.pp * layout.vp) != 0) {
      add("--account-for-embedding-in-pipeline-split");
      add("--account-for-loss-in-pipeline-split");
    }
  }

  /// "Et*3|t*4|t*3L": embedding, layers, prediction modules and loss of every chunk in order.
  std::string layout_text(const std::vector<std::int64_t>& chunks) const {
    std::string text;
    for (std::size_t i = 0; i < chunks.size(); ++i) {
      text += i == 0 ? "E" : "|";
      if (chunks[i] > 0) text += fmt::format("t*{}", chunks[i]);
    }
    if (job_.model.mtp_layers > 0) text += fmt::format("m*{}", job_.model.mtp_layers);
    return text + "L";
  }

  void batches() {
    add("--micro-batch-size", job_.micro_batch);
    add("--global-batch-size", job_.global_batch);
    add("--seq-length", job_.seq_len);
    add("--max-position-embeddings", std::max(job_.seq_len, job_.model.context));
    if (plan_.steps > 0) {
      add("--train-samples", plan_.steps * job_.global_batch);
    } else {
      add("--train-iters", "$TRAIN_ITERS");
    }
  }

  void model() {
    const model::Transformer& model = job_.model;
    add("--num-layers", model.layers);
    add("--hidden-size", model.hidden);
    add("--ffn-hidden-size", model.ffn);
    add("--num-attention-heads", model.heads);
    if (model.kv_heads != model.heads && !model.latent_attention) {
      add("--group-query-attention");
      add("--num-query-groups", model.kv_heads);
    }
    if (!model.latent_attention) add("--kv-channels", model.head_dim);
    if (model.gated_mlp) add("--swiglu");
    if (!model.mlp_bias) add("--disable-bias-linear");
    if (model.attention_bias && !model.mlp_bias) add("--add-qkv-bias");
    if (!model.norm_bias) add("--normalization", "RMSNorm");
    if (model.qk_norm) add("--qk-layernorm");
    if (!model.tied_embeddings) add("--untie-embeddings-and-output-weights");
    add("--position-embedding-type", model.learned_positions ? "learned_absolute" : "rope");
    if (model.sliding_window > 0) add("--window-size", fmt::format("{},0", model.sliding_window));
    if (model.mtp_layers > 0) add("--mtp-num-layers", model.mtp_layers);
  }

  void experts() {
    if (!job_.model.experts) return;
    const model::Experts& experts = *job_.model.experts;
    add("--num-experts", experts.count);
    add("--moe-router-topk", experts.per_token);
    add("--moe-ffn-hidden-size", experts.ffn);
    if (experts.shared > 0)
      add("--moe-shared-expert-intermediate-size", experts.shared * experts.ffn);
    if (experts.dense_layers > 0)
      add("--moe-layer-freq", fmt::format("([0]*{}+[1]*{})", experts.dense_layers,
                                          job_.model.layers - experts.dense_layers));
    else if (experts.every > 1)
      add("--moe-layer-freq", experts.every);
    add("--moe-grouped-gemm");
    const training::ExpertRouting& routing = job_.routing;
    const bool deduplicated = routing.deduplicated || routing.backend.has_value();
    add("--moe-token-dispatcher-type", deduplicated ? "flex" : "alltoall");
    if (deduplicated) add("--moe-flex-dispatcher-backend", "deepep");
    if (routing.capacity > 0)
      add("--moe-expert-capacity-factor", fmt::format("{:g}", routing.capacity));
    if (routing.nodes_per_token > 0) add("--moe-router-group-topk", routing.nodes_per_token);
    if (routing.overlapped) add("--overlap-moe-expert-parallel-comm");
  }

  void latent_attention() {
    if (!job_.model.latent_attention) return;
    const model::LatentAttention& latent = *job_.model.latent_attention;
    add("--multi-latent-attention");
    if (latent.q_rank > 0) add("--q-lora-rank", latent.q_rank);
    add("--kv-lora-rank", latent.kv_rank);
    add("--qk-head-dim", latent.nope_dim);
    add("--qk-pos-emb-head-dim", latent.rope_dim);
    add("--v-head-dim", latent.value_dim);
  }

  void precision() {
    using model::Precision;
    const Precision precision = job_.precision;
    if (precision == Precision::fp32 || precision == Precision::tf32) return;
    add(precision == Precision::fp16 ? "--fp16" : "--bf16");
    if (precision == Precision::nvfp4) {
      add("--fp4-format", "e2m1");
      add("--fp4-recipe", "nvfp4");
    } else if (precision != Precision::fp16 && precision != Precision::bf16) {
      add("--fp8-format", precision == Precision::fp8 ? "hybrid" : "e4m3");
      add("--fp8-recipe", precision == Precision::fp8         ? "tensorwise"
                          : precision == Precision::fp8_block ? "blockwise"
                                                              : "mxfp8");
    }
  }

  void recomputation() {
    if (job_.recompute == training::Recompute::full) {
      add("--recompute-granularity", "full");
      add("--recompute-method", "uniform");
      add("--recompute-num-layers", 1);
    } else if (job_.recompute == training::Recompute::selective) {
      const training::RecomputeModules& modules = job_.modules;
      add("--recompute-granularity", "selective");
      std::string names;
      for (const auto& [used, name] : {std::pair{modules.core_attention, "core_attn"},
                                       {modules.mlp, "mlp"},
                                       {modules.experts, "moe"},
                                       {modules.expert_activation, "moe_act"},
                                       {modules.norms, "layernorm"},
                                       {modules.latent_up, "mla_up_proj"}})
        if (used) names += (names.empty() ? "" : " ") + std::string(name);
      modules_argument(names);
    }
    if (job_.offload_layers > 0) {
      add("--cpu-offloading-num-layers", job_.offload_layers);
    }
  }

  /// One flag, then each module as a word of its own.
  void modules_argument(const std::string& names) {
    std::size_t from = names.find(' ');
    add("--recompute-modules", names.substr(0, from));
    while (from != names.npos) {
      const std::size_t to = names.find(' ', from + 1);
      add("", names.substr(from + 1, to == names.npos ? to : to - from - 1));
      from = to;
    }
  }

  void states() {
    using training::Sharding;
    if (job_.sharding == Sharding::none) {
      if (job_.layout.dp > 1) add("--overlap-grad-reduce");
      return;
    }
    add("--use-distributed-optimizer");
    add("--overlap-grad-reduce");
    add("--overlap-param-gather");
    const std::int64_t states = static_cast<std::int64_t>(job_.layout.dp) * job_.layout.cp;
    if (job_.shard_group > 0 && job_.shard_group < states)
      add("--num-distributed-optimizer-instances", states / job_.shard_group);
    if (job_.sharding == Sharding::distributed_optimizer) return;
    add("--use-megatron-fsdp");
    add("--data-parallel-sharding-strategy",
        job_.sharding == Sharding::zero2 ? "optim_grads" : "optim_grads_params");
    add("--no-gradient-accumulation-fusion");
    add("--ckpt-format", "fsdp_dtensor");
  }

  /// Formats of states and the layers that stay in bf16.
  void formats() {
    const training::States& states = job_.states;
    const auto dtype = [](double bytes) {
      return bytes > 2.0 ? "fp32" : bytes > 1.0 ? "bf16" : "fp8";
    };
    if (states.gradient_bytes || states.moments_bytes) add("--use-precision-aware-optimizer");
    if (states.gradient_bytes) {
      add("--main-grads-dtype", dtype(*states.gradient_bytes));
      if (*states.gradient_bytes <= 2.0) add("--grad-reduce-in-bf16");
    }
    if (states.moments_bytes) {
      add("--exp-avg-dtype", dtype(*states.moments_bytes / 2.0));
      add("--exp-avg-sq-dtype", dtype(*states.moments_bytes / 2.0));
    }
    if (states.narrow_weights) add("--fp8-param-gather");
    if (job_.wide_layers.first + job_.wide_layers.last == 0) return;
    add("--first-last-layers-bf16");
    add("--num-layers-at-start-in-bf16", job_.wide_layers.first);
    add("--num-layers-at-end-in-bf16", job_.wide_layers.last);
  }

  const Plan& plan_;
  const training::Job& job_;
  std::vector<Argument> arguments_;
};

}  // namespace

Result<Launch> megatron_launch(const Plan& plan) {
  if (const auto able = needs_token_loss(plan, "Megatron-LM"); !able) return fail(able.error());
  const training::Job& job = plan.job;
  if (job.schedule != training::Schedule::one_forward_one_backward)
    return fail(error(
        Code::unsupported_feature,
        fmt::format("Megatron-LM has no pipeline schedule `{}`", training::name(job.schedule)),
        "--set workload.parallelism.schedule=1f1b, interleaved with vp > 1"));
  if (job.recompute == training::Recompute::operators)
    return fail(error(Code::unsupported_feature,
                      "Megatron-LM does not choose operators to recompute",
                      "--set workload.recompute=selective, full or none; torchtitan has it"));
  if (job.states.master_bytes && *job.states.master_bytes != 4.0)
    return fail(error(Code::unsupported_feature, "Megatron-LM's master weights are fp32",
                      "leave out states.master"));
  if (job.adapters) return megatron_bridge_launch(plan);
  Launch launch{"megatron", true, "pretrain_gpt.py", MegatronFlags(plan).all(), {}, {}};
  launch.notes = {
      plan.method.empty()
          ? "Set DATA_PATH, and lay the tokenizer and the optimizer's settings over these."
          : "Set DATA_PATH, TOKENIZER and CHECKPOINT, and lay the optimizer's settings and "
            "the prompt format over these."};
  if (job.sharding == training::Sharding::fsdp_no_reshard)
    launch.notes.emplace_back("Megatron-FSDP gathers weights again for the backward pass.");
  return launch;
}

}  // namespace flowplan::exporting
