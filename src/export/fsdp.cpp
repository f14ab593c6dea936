// PyTorch FSDP2 as Hugging Face Accelerate configures it.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "flowplan/export/launch.hpp"
#include "training_only.hpp"
#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

/// As models of the Transformers library call the matrices.
std::string peft_modules(const training::AdapterTargets& t) {
  std::string names;
  for (const auto& [asked, name] : {std::pair{t.fused_qkv || t.query, "q_proj"},
                                    {t.fused_qkv || t.key, "k_proj"},
                                    {t.fused_qkv || t.value, "v_proj"},
                                    {t.output, "o_proj"},
                                    {t.fused_up || t.gate, "gate_proj"},
                                    {t.fused_up || t.up, "up_proj"},
                                    {t.down, "down_proj"}})
    if (asked) names += (names.empty() ? "" : ",") + std::string(name);
  return names;
}

Result<void> check_fsdp(const training::Job& job) {
  const training::Layout& layout = job.layout;
  Diagnostics faults;
  std::string sets;
  for (const auto& [degree, name] :
       {std::pair{layout.pp, "pp"}, {layout.vp, "vp"}, {layout.ep, "ep"}, {layout.etp, "etp"}})
    if (degree > 1) sets += fmt::format("--set workload.parallelism.{}=1 ", name);
  if (!sets.empty())
    faults.push_back(
        error(Code::unsupported_feature,
              fmt::format("FSDP under Accelerate has no pipeline or expert "
                          "parallelism (pp {}, ep {}, etp {})",
                          layout.pp, layout.ep, layout.etp),
              sets + "(dp or tp takes their GPUs); torchtitan and megatron have both"));
  if (shares_optimizer_only(job))
    faults.push_back(
        error(Code::unsupported_feature,
              fmt::format("FSDP shards weights with the optimizer, or nothing: not `{}`",
                          training::name(job.sharding)),
              "--set workload.sharding=fsdp, fsdp_no_reshard or none"));
  if (!faults.empty()) return fail(std::move(faults));
  return {};
}

}  // namespace

Result<Launch> fsdp_launch(const Plan& plan) {
  if (const auto able = needs_training(plan); !able) return fail(able.error());
  if (const auto able = usual_formats(plan, "FSDP under Accelerate"); !able)
    return fail(able.error());
  const training::Job& job = plan.job;
  const training::Layout& layout = job.layout;
  if (const auto able = check_fsdp(job); !able) return fail(able.error());
  const bool sharded = training::shards_weights(job.sharding);
  int replicas = sharded ? 1 : layout.dp;
  if (sharded && job.shard_group > 0)
    replicas = std::max(1, layout.dp * layout.cp / job.shard_group);
  using model::Precision;
  nlohmann::ordered_json config;
  config["compute_environment"] = "LOCAL_MACHINE";
  config["distributed_type"] = "FSDP";
  config["mixed_precision"] = job.precision == Precision::fp16   ? "fp16"
                              : job.precision == Precision::bf16 ? "bf16"
                              : job.precision == Precision::fp32 || job.precision == Precision::tf32
                                  ? "no"
                                  : "fp8";
  config["num_machines"] = plan.job_nodes;
  config["num_processes"] = plan.ranks();
  config["rdzv_backend"] = "c10d";
  config["same_network"] = true;
  config["main_training_function"] = "main";
  auto& fsdp = config["fsdp_config"];
  fsdp["fsdp_version"] = 2;
  fsdp["fsdp_reshard_after_forward"] = job.sharding == training::Sharding::fsdp;
  fsdp["fsdp_auto_wrap_policy"] = "TRANSFORMER_BASED_WRAP";
  fsdp["fsdp_state_dict_type"] = "SHARDED_STATE_DICT";
  fsdp["fsdp_activation_checkpointing"] = job.recompute != training::Recompute::none;
  fsdp["fsdp_offload_params"] = false;
  fsdp["fsdp_cpu_ram_efficient_loading"] = true;
  auto& degrees = config["parallelism_config"];
  degrees["parallelism_config_dp_replicate_size"] = replicas;
  degrees["parallelism_config_dp_shard_size"] = layout.dp / replicas;
  degrees["parallelism_config_tp_size"] = layout.tp;
  degrees["parallelism_config_cp_size"] = layout.cp;
  if (layout.cp > 1)
    degrees["parallelism_config_cp_comm_strategy"] =
        job.context_parallel == training::ContextParallel::all_gather ? "allgather" : "alltoall";

  Launch launch{"fsdp", false, "-m", {{"", "accelerate.commands.launch"}}, {}, {}};
  launch.arguments.push_back({"--config_file", "accelerate.yaml"});
  launch.arguments.push_back({"--machine_rank", "$SLURM_NODEID"});
  launch.arguments.push_back({"--main_process_ip", "$MASTER_ADDR"});
  launch.arguments.push_back({"--main_process_port", std::to_string(static_cast<int>(
                                                         plan.defaults->at("rendezvous.port")))});
  launch.arguments.push_back({"", "train.py"});
  launch.arguments.push_back({"--model", job.model.name});
  launch.arguments.push_back({"--seq-len", std::to_string(job.seq_len)});
  launch.arguments.push_back({"--micro-batch-size", std::to_string(job.micro_batch)});
  launch.arguments.push_back(
      {"--gradient-accumulation-steps", std::to_string(std::max<std::int64_t>(
                                            1, job.global_batch / (job.micro_batch * layout.dp)))});
  if (plan.steps > 0) launch.arguments.push_back({"--max-steps", std::to_string(plan.steps)});
  if (!plan.method.empty()) launch.arguments.push_back({"--method", plan.method});
  if (job.adapters) {
    launch.arguments.push_back({"--lora-r", std::to_string(job.adapters->rank)});
    launch.arguments.push_back({"--lora-target-modules", peft_modules(job.adapters->targets)});
    if (job.adapters->frozen_bytes < 2.0)
      launch.arguments.push_back(
          {job.adapters->frozen_bytes < 1.0 ? "--load-in-4bit" : "--load-in-8bit"});
  }
  launch.files.push_back({"accelerate.yaml", yaml_text(config)});
  launch.notes = {
      "train.py and its flags are your program's: they name what the prediction assumes."};
  return launch;
}

}  // namespace flowplan::exporting
