#include "flowplan/export/serving.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "yaml_text.hpp"

namespace flowplan::exporting {

namespace {

/// What no engine can be told.
Diagnostics serving_faults(const ServeCommand& serve) {
  Diagnostics faults;
  if (serve.ep != 1 && serve.ep != serve.tp * serve.dp)
    faults.push_back(error(Code::unsupported_feature,
                           fmt::format("experts on {} ranks of {}", serve.ep, serve.tp * serve.dp),
                           "engines share experts among none or all ranks of tp and dp"));
  if (serve.nodes < 1 || serve.gpus() % serve.nodes != 0)
    faults.push_back(error(Code::layout_mismatch, fmt::format("{} GPUs are not {} equal nodes",
                                                              serve.gpus(), serve.nodes)));
  return faults;
}

class ServeArguments {
 public:
  void add(std::string flag, std::string value = {}) {
    list.push_back({std::move(flag), std::move(value)});
  }
  void add_number(std::string flag, std::int64_t value) {
    if (value > 0) add(std::move(flag), std::to_string(value));
  }
  void add_share(std::string flag, double value) {
    if (value > 0) add(std::move(flag), fmt::format("{:g}", value));
  }
  std::vector<Argument> list;
};

}  // namespace

Result<Launch> vllm_command(const ServeCommand& serve) {
  if (auto faults = serving_faults(serve); !faults.empty()) return fail(std::move(faults));
  ServeArguments arguments;
  arguments.add("", "serve");
  arguments.add("", serve.model);
  arguments.add_number("--tensor-parallel-size", serve.tp);
  arguments.add_number("--pipeline-parallel-size", serve.pp);
  arguments.add_number("--data-parallel-size", serve.dp);
  if (serve.nodes > 1 && serve.dp > 1 && serve.dp % serve.nodes == 0) {
    arguments.add_number("--data-parallel-size-local", serve.dp / serve.nodes);
    arguments.add("--data-parallel-address", "$MASTER_ADDR");
    arguments.add("--data-parallel-start-rank", "$DP_START_RANK");
  } else if (serve.nodes > 1) {
    arguments.add("--distributed-executor-backend", "ray");
    if (serve.dp > 1) arguments.add("--data-parallel-backend", "ray");
  }
  if (serve.ep > 1) arguments.add("--enable-expert-parallel");
  if (serve.weights == "fp8") arguments.add("--quantization", "fp8");
  if (serve.weights == "nvfp4") arguments.add("--quantization", "modelopt_fp4");
  if (!serve.kv_cache.empty()) arguments.add("--kv-cache-dtype", serve.kv_cache);
  arguments.add_number("--max-model-len", serve.max_model_len);
  arguments.add_number("--max-num-seqs", serve.max_sequences);
  arguments.add_number("--max-num-batched-tokens", serve.max_batch_tokens);
  arguments.add_share("--gpu-memory-utilization", serve.memory_share);
  arguments.add(serve.prefix_caching ? "--enable-prefix-caching" : "--no-enable-prefix-caching");
  return Launch{"vllm", false, "vllm", std::move(arguments.list), {}, {}};
}

Result<Launch> tensorrt_llm_command(const ServeCommand& serve) {
  auto faults = serving_faults(serve);
  if (serve.dp != 1 && serve.tp != 1)
    faults.push_back(error(Code::unsupported_feature,
                           fmt::format("tp {} within dp {}", serve.tp, serve.dp),
                           "TensorRT-LLM's attention is parallel by tensor or by request"));
  if (!faults.empty()) return fail(std::move(faults));
  const int ranks = serve.tp * serve.dp;
  nlohmann::ordered_json options;
  if (serve.dp > 1) options["enable_attention_dp"] = true;
  auto& cache = options["kv_cache_config"];
  cache["dtype"] = serve.kv_cache.empty() ? "auto" : serve.kv_cache;
  cache["enable_block_reuse"] = serve.prefix_caching;
  if (serve.memory_share > 0) cache["free_gpu_memory_fraction"] = serve.memory_share;
  ServeArguments arguments;
  arguments.add("", serve.model);
  arguments.add("--backend", "pytorch");
  arguments.add_number("--tp_size", ranks);
  arguments.add_number("--pp_size", serve.pp);
  if (serve.ep > 1) arguments.add_number("--ep_size", serve.ep);
  arguments.add_number("--max_seq_len", serve.max_model_len);
  arguments.add_number("--max_batch_size", serve.max_sequences);
  arguments.add_number("--max_num_tokens", serve.max_batch_tokens);
  arguments.add("--extra_llm_api_options", "trtllm.yaml");
  return Launch{"tensorrt-llm",
                false,
                "trtllm-serve",
                std::move(arguments.list),
                {{"trtllm.yaml", yaml_text(options)}},
                {}};
}

Result<Launch> sglang_command(const ServeCommand& serve) {
  if (auto faults = serving_faults(serve); !faults.empty()) return fail(std::move(faults));
  ServeArguments arguments;
  arguments.add("-m", "sglang.launch_server");
  arguments.add("--model-path", serve.model);
  arguments.add_number("--tp-size", serve.tp * serve.dp);
  arguments.add_number("--pp-size", serve.pp);
  if (serve.dp > 1) {
    arguments.add_number("--dp-size", serve.dp);
    arguments.add("--enable-dp-attention");
  }
  if (serve.ep > 1) arguments.add_number("--ep-size", serve.ep);
  if (serve.nodes > 1) {
    arguments.add_number("--nnodes", serve.nodes);
    arguments.add("--node-rank", "$NODE_RANK");
    arguments.add("--dist-init-addr", "$MASTER_ADDR:5000");
  }
  if (serve.weights == "fp8") arguments.add("--quantization", "fp8");
  if (serve.weights == "nvfp4") arguments.add("--quantization", "modelopt_fp4");
  if (!serve.kv_cache.empty())
    arguments.add("--kv-cache-dtype", serve.kv_cache == "fp8" ? "fp8_e4m3" : serve.kv_cache);
  arguments.add_number("--context-length", serve.max_model_len);
  arguments.add_number("--max-running-requests", serve.max_sequences);
  arguments.add_number("--chunked-prefill-size", serve.max_batch_tokens);
  arguments.add_share("--mem-fraction-static", serve.memory_share);
  if (!serve.prefix_caching) arguments.add("--disable-radix-cache");
  return Launch{"sglang", false, "python3", std::move(arguments.list), {}, {}};
}

namespace {

/// The names of weight formats that engines are told; the others come with their checkpoint.
std::string told_weights(const inference::NumberFormats& formats) {
  if (formats.ffn == inference::WeightFormat::fp8) return "fp8";
  if (formats.ffn == inference::WeightFormat::nvfp4) return "nvfp4";
  return {};
}

}  // namespace

Result<std::vector<NamedServe>> serve_commands(const Plan& plan, const scenario::Answer& answer,
                                               const scenario::ServingSection* limits) {
  if (!answer.serving)
    return fail(error(Code::unsupported_feature,
                      "the scenario trains a model, it does not serve one",
                      "megatron, torchtitan, fsdp and maxtext start training"));
  const scenario::ServingAnswer& serving = *answer.serving;
  ServeCommand common;
  common.model = serving.model.name;
  common.weights = told_weights(serving.formats);
  if (serving.formats.narrow_kv) common.kv_cache = "fp8";
  if (limits != nullptr) {
    common.max_model_len = limits->context.value_or(0);
    common.max_sequences = limits->max_sequences.value_or(0);
    common.max_batch_tokens = limits->token_budget.value_or(0);
    common.prefix_caching = limits->prefix_caching.value_or(true);
  }
  const auto named = [&](const char* name, const inference::Layout& layout) {
    NamedServe serve{name, common};
    serve.command.tp = layout.tp;
    serve.command.pp = layout.pp;
    serve.command.dp = layout.attention_dp;
    serve.command.ep = layout.ep;
    const auto per_node = static_cast<int>(plan.gpus_per_node());
    serve.command.nodes = std::max(1, layout.gpus() / per_node);
    return serve;
  };
  if (!serving.prefill) return std::vector<NamedServe>{named("serve", serving.layout)};
  return std::vector<NamedServe>{named("prefill", serving.prefill->layout),
                                 named("decode", serving.layout)};
}

}  // namespace flowplan::exporting
