// LoRA by Megatron Bridge: run_recipe.py with overrides of its ConfigContainer, as of 0.6.
#include <string>
#include <utility>

#include <fmt/format.h>

#include "flowplan/export/launch.hpp"
#include "training_only.hpp"

namespace flowplan::exporting {

namespace {

Result<void> check_bridge(const training::Job& job) {
  Diagnostics faults;
  const auto refuse = [&](std::string message, std::string hint) {
    faults.push_back(error(Code::unsupported_feature, std::move(message), std::move(hint)));
  };
  if (job.adapters->frozen_bytes < 2.0)
    refuse(fmt::format("Megatron Bridge keeps frozen weights in 16 bits, not {:g}",
                       job.adapters->frozen_bytes * 8.0),
           "--set workload.lora.frozen_bits=16; fsdp writes QLoRA's layout");
  if (job.model.layers % (job.layout.pp * job.layout.vp) != 0)
    refuse(fmt::format("{} layers are not {} equal parts", job.model.layers,
                       job.layout.pp * job.layout.vp),
           "--set workload.parallelism.pp or vp to what divides the layers");
  if (training::shards_weights(job.sharding))
    refuse("adapters under Megatron-FSDP have no recipe",
           "--set workload.sharding=distributed_optimizer; fsdp writes it as it is");
  if (!faults.empty()) return fail(std::move(faults));
  return {};
}

bool fused(const training::AdapterTargets& t) {
  return !t.query && !t.key && !t.value && !t.gate && !t.up;
}

/// As LoRA and CanonicalLoRA of Megatron Bridge call the matrices.
std::string target_modules(const training::AdapterTargets& t) {
  std::string names;
  for (const auto& [asked, name] : {std::pair{t.fused_qkv, "linear_qkv"},
                                    {t.query, "linear_q"},
                                    {t.key, "linear_k"},
                                    {t.value, "linear_v"},
                                    {t.output, "linear_proj"},
                                    {t.fused_up, "linear_fc1"},
                                    {t.gate, "linear_fc1_gate"},
                                    {t.up, "linear_fc1_up"},
                                    {t.down, "linear_fc2"}})
    if (asked) names += (names.empty() ? "" : ",") + std::string(name);
  return names;
}

}  // namespace

Result<Launch> megatron_bridge_launch(const Plan& plan) {
  if (const auto able = needs_token_loss(plan, "Megatron Bridge"); !able) return fail(able.error());
  const training::Job& job = plan.job;
  if (const auto able = check_bridge(job); !able) return fail(able.error());
  Launch launch{"megatron-bridge", true, "run_recipe.py", {{"--recipe", "$RECIPE"}}, {}, {}};
  const auto set = [&](std::string_view key, const auto& value) {
    launch.arguments.push_back({"", fmt::format("{}={}", key, value)});
  };
  const training::Layout& layout = job.layout;
  set("model.tensor_model_parallel_size", layout.tp);
  set("model.pipeline_model_parallel_size", layout.pp);
  if (layout.vp > 1) set("model.virtual_pipeline_model_parallel_size", layout.vp);
  set("model.context_parallel_size", layout.cp);
  set("model.sequence_parallel", layout.tp > 1 && layout.sequence_parallel);
  if (job.model.experts) {
    set("model.expert_model_parallel_size", layout.ep);
    set("model.expert_tensor_parallel_size", layout.etp);
  }
  if (job.recompute == training::Recompute::full) {
    set("model.recompute_granularity", "full");
    set("model.recompute_method", "uniform");
    set("model.recompute_num_layers", 1);
  } else if (job.recompute == training::Recompute::selective) {
    set("model.recompute_granularity", "selective");
  }
  set("train.micro_batch_size", job.micro_batch);
  set("train.global_batch_size", job.global_batch);
  if (plan.steps > 0) set("train.train_iters", plan.steps);
  set("dataset.seq_length", job.seq_len);
  set("peft.dim", job.adapters->rank);
  set("peft.target_modules", fmt::format("[{}]", target_modules(job.adapters->targets)));
  set("checkpoint.pretrained_checkpoint", "$CHECKPOINT");
  if (!fused(job.adapters->targets))
    launch.notes.emplace_back("Matrices with adapters of their own are CanonicalLoRA's.");
  launch.notes.insert(
      launch.notes.end(),
      {"RECIPE: the PEFT recipe of the model in megatron.bridge.recipes; CHECKPOINT: its weights,",
       "imported. run_recipe.py is Megatron Bridge's, in scripts/training."});
  return launch;
}

}  // namespace flowplan::exporting
