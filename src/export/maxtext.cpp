// MaxText's mesh: every axis has a part inside the NVLink domain (ici) and one across (dcn).
#include <numeric>

#include <fmt/format.h>

#include "flowplan/export/launch.hpp"
#include "training_only.hpp"

namespace flowplan::exporting {

namespace {

struct MeshAxis {
  const char* name;
  int degree;
};

/// Nearest axis first: each takes what it can of the GPUs of a domain.
std::vector<MeshAxis> mesh_axes(const training::Job& job) {
  const training::Layout& layout = job.layout;
  const bool sharded = training::shards_weights(job.sharding);
  const int data = layout.dp / layout.ep;
  int replicas = sharded ? 1 : data;
  if (sharded && job.shard_group > 0 && layout.cp == 1 && job.shard_group >= layout.ep)
    replicas = std::max(1, layout.dp / job.shard_group);
  if (data % replicas != 0) replicas = 1;
  return {{"tensor", layout.tp},     {"context", layout.cp}, {"expert", layout.ep},
          {"fsdp", data / replicas}, {"data", replicas},     {"pipeline", layout.pp}};
}

}  // namespace

Result<Launch> maxtext_launch(const Plan& plan) {
  if (const auto able = needs_token_loss(plan, "MaxText"); !able) return fail(able.error());
  if (const auto able = usual_formats(plan, "MaxText"); !able) return fail(able.error());
  const training::Job& job = plan.job;
  const training::Layout& layout = job.layout;
  Diagnostics faults;
  if (job.schedule != training::Schedule::one_forward_one_backward)
    faults.push_back(
        error(Code::unsupported_feature,
              fmt::format("MaxText has no pipeline schedule `{}`", training::name(job.schedule)),
              "--set workload.parallelism.schedule=1f1b"));
  if (layout.etp > 1)
    faults.push_back(error(Code::unsupported_feature,
                           "MaxText's experts are not split by tensor inside an expert",
                           "--set workload.parallelism.etp=1"));
  if (layout.dp % layout.ep != 0)
    faults.push_back(
        error(Code::unsupported_feature,
              fmt::format("MaxText takes expert parallelism out of data parallelism: "
                          "ep {} does not divide dp {}",
                          layout.ep, layout.dp),
              fmt::format("--set workload.parallelism.ep={}", std::gcd(layout.ep, layout.dp))));
  if (job.adapters)
    faults.push_back(error(
        Code::unsupported_feature, "MaxText trains all weights",
        "megatron (by Megatron Bridge) and fsdp (PEFT) have LoRA; or leave out workload.lora"));
  if (!faults.empty()) return fail(std::move(faults));

  Launch launch{"maxtext", false, "-m", {}, {}, {}};
  if (plan.method.empty())
    launch.arguments = {{"", "MaxText.train"}, {"", "MaxText/configs/base.yml"}};
  else
    launch.arguments = {{"", "MaxText.sft.sft_trainer"}, {"", "MaxText/configs/sft.yml"}};
  const auto set = [&](std::string_view key, const auto& value) {
    launch.arguments.push_back({"", fmt::format("{}={}", key, value)});
  };
  set("run_name", plan.slug);
  set("hardware", "gpu");
  const auto inside_domain =
      plan.job_nodes_per_domain * plan.gpus_per_node();  // GPUs of the job in an NVLink domain
  int left = static_cast<int>(std::min(inside_domain, plan.ranks()));
  std::vector<std::pair<std::string, int>> across;
  for (const MeshAxis& axis : mesh_axes(job)) {
    const int inside = std::gcd(axis.degree, left);
    left /= inside;
    set(fmt::format("ici_{}_parallelism", axis.name), inside);
    across.emplace_back(fmt::format("dcn_{}_parallelism", axis.name), axis.degree / inside);
  }
  for (const auto& [key, degree] : across)
    set(key, degree);
  if (layout.pp > 1) {
    set("num_pipeline_repeats", layout.vp);
    set("num_pipeline_microbatches", job.global_batch / (job.micro_batch * layout.dp));
  } else if (job.global_batch > job.micro_batch * layout.dp) {
    set("gradient_accumulation_steps", job.global_batch / (job.micro_batch * layout.dp));
  }
  const double per_device = static_cast<double>(job.global_batch) / plan.ranks();
  const double accumulated =
      layout.pp > 1 ? per_device : static_cast<double>(job.micro_batch) * layout.dp / plan.ranks();
  set("per_device_batch_size", fmt::format("{:.9g}", accumulated));
  set("max_target_length", job.seq_len);
  if (plan.steps > 0) set("steps", plan.steps);
  set("remat_policy", job.recompute == training::Recompute::full   ? "full"
                      : job.recompute == training::Recompute::none ? "minimal_with_context"
                                                                   : "save_qkv_proj");
  set("attention", "cudnn_flash_te");
  set("dtype", job.precision == model::Precision::fp32 ? "float32" : "bfloat16");
  if (job.precision == model::Precision::fp8 || job.precision == model::Precision::fp8_block)
    set("quantization", "te_fp8_currentscaling");
  if (job.precision == model::Precision::mxfp8) set("quantization", "te_mxfp8");
  if (job.precision == model::Precision::nvfp4) set("quantization", "te_nvfp4");
  if (job.sharding == training::Sharding::distributed_optimizer ||
      job.sharding == training::Sharding::zero2)
    set("shard_optimizer_over_data", "True");
  const model::Transformer& model = job.model;
  set("override_model_config", "True");
  set("base_emb_dim", model.hidden);
  set("base_num_decoder_layers", model.layers);
  set("base_num_query_heads", model.heads);
  set("base_num_kv_heads", model.kv_heads);
  set("head_dim", model.head_dim);
  set("base_mlp_dim", model.ffn);
  set("vocab_size", model.vocab);
  if (model.experts) {
    set("num_experts", model.experts->count);
    set("num_experts_per_tok", model.experts->per_token);
    set("base_moe_mlp_dim", model.experts->ffn);
  }
  launch.notes = {
      "Add base_output_directory, dataset and tokenizer. ici axes are inside an NVLink "
      "domain, dcn axes cross EFA."};
  return launch;
}

}  // namespace flowplan::exporting
