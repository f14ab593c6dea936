// torchtitan's TOML configuration.
#include <algorithm>

#include <fmt/format.h>

#include "flowplan/export/launch.hpp"
#include "training_only.hpp"

namespace flowplan::exporting {

namespace {

/// torchtitan registers models by a name and a flavour of its own.
struct TitanModel {
  std::string_view id, name, flavor;
};
constexpr TitanModel titan_models[] = {
    {"llama3-8b", "llama3", "8B"},       {"llama3.1-8b", "llama3", "8B"},
    {"llama3-70b", "llama3", "70B"},     {"llama3.1-70b", "llama3", "70B"},
    {"llama3.1-405b", "llama3", "405B"}, {"deepseek-v3", "deepseek_v3", "671B"},
};

Result<void> check_titan(const training::Job& job) {
  Diagnostics faults;
  const auto refuse = [&](std::string message, std::string hint) {
    faults.push_back(error(Code::unsupported_feature, std::move(message), std::move(hint)));
  };
  if (job.schedule == training::Schedule::dual_pipe)
    refuse("torchtitan's DualPipe is not this schedule",
           "--set workload.parallelism.schedule=1f1b, or zb_h1");
  if (job.context_parallel != training::ContextParallel::ring &&
      job.context_parallel != training::ContextParallel::all_gather && job.layout.cp > 1)
    refuse("torchtitan moves keys and values by ring or all-gather",
           "--set workload.parallelism.context_parallel=ring, or all_gather");
  if (job.layout.etp != 1 && job.layout.etp != job.layout.tp)
    refuse("torchtitan splits experts by 1 or by tp", "--set workload.parallelism.etp=1");
  if (shares_optimizer_only(job))
    refuse(fmt::format("torchtitan shards weights with the optimizer, or nothing: not `{}`",
                       training::name(job.sharding)),
           "--set workload.sharding=fsdp, fsdp_no_reshard or none");
  if (job.adapters)
    refuse("torchtitan trains all weights",
           "megatron (by Megatron Bridge) and fsdp (PEFT) have LoRA; or leave out workload.lora");
  if (!faults.empty()) return fail(std::move(faults));
  return {};
}

class TitanText {
 public:
  explicit TitanText(const Plan& plan) : plan_(plan), job_(plan.job) {}

  std::string text() {
    model_table();
    training_table();
    parallelism_table();
    section("activation_checkpoint");
    line("mode", "\"{}\"",
         job_.recompute == training::Recompute::none   ? "none"
         : job_.recompute == training::Recompute::full ? "full"
                                                       : "selective");
    if (job_.recompute == training::Recompute::operators ||
        job_.recompute == training::Recompute::selective)
      line("selective_ac_option", "\"op\"");
    section("compile");
    flag("enable", job_.framework.find("eager") == std::string::npos);
    section("metrics");
    line("log_freq", "10");
    precision_table();
    return text_;
  }

 private:
  void section(std::string_view name) { text_ += fmt::format("\n[{}]\n", name); }
  template <class... Args>
  void line(std::string_view key, fmt::format_string<Args...> value, Args&&... args) {
    text_ += fmt::format("{} = {}\n", key, fmt::format(value, std::forward<Args>(args)...));
  }

  void flag(std::string_view key, bool on) { line(key, "{}", on ? "true" : "false"); }

  void model_table() {
    const model::Transformer& model = job_.model;
    text_ += fmt::format(
        "# {}\n# {} layers, hidden {}, {} heads, {} key-value heads, MLP {}, "
        "vocabulary {}\n",
        model.name, model.layers, model.hidden, model.heads, model.kv_heads, model.ffn,
        model.vocab);
    const auto known = std::find_if(std::begin(titan_models), std::end(titan_models),
                                    [&](const TitanModel& one) { return one.id == model.name; });
    const bool shipped = known != std::end(titan_models);
    if (!shipped)
      text_ += "# torchtitan ships no such model: register a flavour with these dimensions.\n";
    section("model");
    line("name", "\"{}\"", shipped ? known->name : std::string_view("llama3"));
    line("flavor", "\"{}\"", shipped ? known->flavor : std::string_view(model.name));
    if (narrow()) line("converters", "[\"{}\"]", converter());
  }

  void training_table() {
    const training::Layout& layout = job_.layout;
    section("training");
    // With a pipeline the local batch is that of a step, cut into micro-batches.
    const std::int64_t local = layout.pp > 1 ? job_.global_batch / layout.dp : job_.micro_batch;
    line("local_batch_size", "{}", local);
    line("global_batch_size", "{}", job_.global_batch);
    line("seq_len", "{}", job_.seq_len);
    if (plan_.steps > 0) line("steps", "{}", plan_.steps);
    const bool wide =
        job_.precision == model::Precision::fp32 || job_.precision == model::Precision::tf32;
    line("mixed_precision_param", "\"{}\"",
         wide                                       ? "float32"
         : job_.precision == model::Precision::fp16 ? "float16"
                                                    : "bfloat16");
  }

  void parallelism_table() {
    const training::Layout& layout = job_.layout;
    section("parallelism");
    const bool sharded = training::shards_weights(job_.sharding);
    int replicas = sharded ? 1 : layout.dp;
    if (sharded && job_.shard_group > 0)
      replicas = std::max(1, layout.dp * layout.cp / job_.shard_group);
    line("data_parallel_replicate_degree", "{}", replicas);
    line("data_parallel_shard_degree", "{}", layout.dp / replicas);
    line("fsdp_reshard_after_forward", "\"{}\"",
         job_.sharding == training::Sharding::fsdp_no_reshard ? "never" : "always");
    line("tensor_parallel_degree", "{}", layout.tp);
    if (layout.tp > 1) flag("enable_async_tensor_parallel", job_.async_tp);
    line("context_parallel_degree", "{}", layout.cp);
    if (layout.cp > 1)
      line("context_parallel_rotate_method", "\"{}\"",
           job_.context_parallel == training::ContextParallel::ring ? "alltoall" : "allgather");
    line("pipeline_parallel_degree", "{}", layout.pp);
    if (layout.pp > 1) {
      line("pipeline_parallel_schedule", "\"{}\"", schedule());
      line("pipeline_parallel_microbatch_size", "{}", job_.micro_batch);
      if (layout.vp > 1)
        line("pipeline_parallel_layers_per_stage", "{}",
             (job_.model.layers + layout.pp * layout.vp - 1) / (layout.pp * layout.vp));
    }
    if (job_.model.experts) {
      line("expert_parallel_degree", "{}", layout.ep);
      line("expert_tensor_parallel_degree", "{}", layout.etp);
    }
  }

  std::string_view schedule() const {
    if (job_.schedule == training::Schedule::zero_bubble_1)
      return job_.layout.vp > 1 ? "InterleavedZeroBubble" : "ZBVZeroBubble";
    return job_.layout.vp > 1 ? "Interleaved1F1B" : "1F1B";
  }

  bool narrow() const {
    using model::Precision;
    return job_.precision == Precision::fp8 || job_.precision == Precision::fp8_block ||
           job_.precision == Precision::mxfp8 || job_.precision == Precision::nvfp4;
  }
  bool micro_scaled() const {
    return job_.precision == model::Precision::mxfp8 || job_.precision == model::Precision::nvfp4;
  }
  std::string_view converter() const {
    return micro_scaled() ? "quantize.linear.mx" : "quantize.linear.float8";
  }

  void precision_table() {
    if (!narrow()) return;
    section(converter());
    if (micro_scaled()) {
      line("recipe_name", "\"{}\"",
           job_.precision == model::Precision::mxfp8 ? "mxfp8_cublas" : "nvfp4");
    } else if (job_.framework.find("rowwise") != std::string::npos) {
      line("recipe_name", "\"rowwise\"");
    } else {
      flag("enable_fsdp_float8_all_gather", training::shards_weights(job_.sharding));
      flag("precompute_float8_dynamic_scale_for_fsdp", training::shards_weights(job_.sharding));
    }
  }

  const Plan& plan_;
  const training::Job& job_;
  std::string text_;
};

}  // namespace

Result<Launch> torchtitan_launch(const Plan& plan) {
  if (const auto able = needs_token_loss(plan, "torchtitan"); !able) return fail(able.error());
  if (const auto able = usual_formats(plan, "torchtitan"); !able) return fail(able.error());
  if (const auto able = check_titan(plan.job); !able) return fail(able.error());
  Launch launch{"torchtitan", true, "-m", {{"", "torchtitan.train"}}, {}, {}};
  launch.arguments.push_back({"--job.config_file", "torchtitan.toml"});
  launch.files.push_back({"torchtitan.toml", TitanText(plan).text()});
  launch.notes = {"Lay the dataset, the tokenizer and the optimizer over torchtitan.toml."};
  if (!plan.method.empty())
    launch.notes.emplace_back("The dataset: conversations, with labels on the answers only.");
  return launch;
}

}  // namespace flowplan::exporting
