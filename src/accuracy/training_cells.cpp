#include "training_cells.hpp"

#include <algorithm>
#include <array>

namespace flowplan::accuracy {

namespace {

struct Named {
  std::string_view part, id;
};

/// Models that a row's dimensions do not describe whole.
constexpr std::array catalog_models{
    Named{"DeepSeekV3", "deepseek-v3"},
    Named{"DeepSeek V3", "deepseek-v3"},
    Named{"Kimi", "kimi-k2"},
    Named{"Qwen3_30B", "qwen3-30b-a3b"},
    Named{"Qwen3 MoE 30B", "qwen3-30b-a3b"},
    Named{"Qwen3_235B", "qwen3-235b-a22b"},
    Named{"GPT OSS 120B", "gpt-oss-120b"},
    Named{"GPT-OSS 120B", "gpt-oss-120b"},
    Named{"Nemotron_3_Nano", "nemotron-3-nano-30b-a3b"},
    Named{"Nemotron_3_Super", "nemotron-3-super-120b-a12b"},
    Named{"Nemotron_3_Ultra", "nemotron-3-ultra-550b-a55b"},
    Named{"Nemotron V3 Nano", "nemotron-3-nano-30b-a3b"},
    Named{"Nemotron V3 Super", "nemotron-3-super-120b-a12b"},
    Named{"Nemotron V3 Ultra", "nemotron-3-ultra-550b-a55b"},
};

bool is_gpt(const std::string& model) {
  return mentions(model, "GPT");
}

/// GPT, MPT and Nemotron models have a two-matrix MLP; all other dense models of these rows are
/// gated.
bool is_gated(const std::string& model) {
  return !is_gpt(model) && !mentions(model, "Nemotron") && !mentions(model, "MPT");
}

struct System {
  std::string_view gpu, source, instance;
};
constexpr std::array training_systems{System{"A100-40G", "mosaic", "a100-roce-40gb"},
                                      System{"A100-80G", "mosaic", "a100-roce-80gb"},
                                      System{"H100", "mosaic", "mosaic-h100"},
                                      System{"A100-80G", "foundation-model-stack", "ibm-a100"},
                                      System{"H100", "foundation-model-stack", "ibm-h100"},
                                      System{"H100 (500W, HBM2e)", "torchtitan", "torchtitan-h100"},
                                      System{"H100", "", "dgx-h100"},
                                      System{"H200", "", "hgx-h200"},
                                      System{"B200", "", "dgx-b200"},
                                      System{"B300", "", "dgx-b300"},
                                      System{"GB200", "", "gb200-nvl72"},
                                      System{"GB300", "", "gb300-nvl72"},
                                      System{"A100-80G", "", "dgx-a100"}};

}  // namespace

std::optional<model::Transformer> transformer_of(const catalog::Catalog& catalog,
                                                 const Cells& row) {
  const std::string& name = row["model"];
  for (const model::Transformer& known : catalog.transformers())
    if (known.name == name) return known;
  for (const Named& known : catalog_models) {
    if (!mentions(name, known.part)) continue;
    const auto found = catalog.transformer(known.id);
    if (!found) return std::nullopt;
    model::Transformer m = **found;
    m.name = name;
    // Rows say whether prediction modules were trained; most leave them out.
    if (!mentions(row["notes"], "1 MTP layer included")) m.mtp_layers = 0;
    return m;
  }
  for (const char* size : {"layers", "hidden", "ffn", "heads"}) {
    if (!row.whole(size)) return std::nullopt;
  }
  model::Transformer m;
  m.name = name;
  m.layers = *row.whole("layers");
  m.hidden = *row.whole("hidden");
  m.ffn = *row.whole("ffn");
  m.heads = *row.whole("heads");
  m.kv_heads = row.whole("kv_heads").value_or(m.heads);
  m.head_dim = m.hidden / m.heads;
  constexpr std::int64_t gpt_vocabulary = 51200;  // GPT-2's, padded as Megatron does
  m.vocab = row.whole("vocab").value_or(gpt_vocabulary);
  m.gated_mlp = is_gated(name);
  m.tied_embeddings = is_gpt(name) || mentions(name, "MPT");
  if (const auto experts = row.whole("experts"); experts && *experts > 1) {
    model::Experts e;
    e.count = *experts;
    e.per_token = row.whole("topk").value_or(1);
    e.ffn = row.whole("moe_ffn").value_or(m.ffn);
    m.experts = e;
  }
  return m;
}

std::string instance_of(const catalog::Catalog& catalog, const Cells& row) {
  for (const catalog::Instance& known : catalog.instances())
    if (known.id == row["instance_or_cluster"]) return known.id;
  if (mentions(row["instance_or_cluster"], "p5.48xlarge")) return "p5.48xlarge";
  if (mentions(row["system"], "vTrain")) return "a100-hdr";
  if (mentions(row["system"], "Eos")) return "eos";
  const auto system = std::find_if(
      training_systems.begin(), training_systems.end(),
      [&](const System& s) { return s.gpu == row["gpu"] && mentions(row["source"], s.source); });
  return system == training_systems.end() ? std::string() : std::string(system->instance);
}

std::string framework_of(const Cells& row) {
  if (!row["profile"].empty()) return row["profile"];
  const std::string& framework = row["framework"];
  const std::string& source = row["source"];
  if (mentions(framework, "Megatron-DeepSpeed")) return "megatron-deepspeed";
  if (mentions(framework, "llm-foundry")) {
    return mentions(row["precision"], "PURE") ? "composer-pure" : "composer";
  }
  if (mentions(framework, "torchtitan")) {
    if (mentions(row["precision"], "rowwise")) return "torchtitan-rowwise";
    return mentions(framework, "eager") ? "torchtitan-eager" : "torchtitan";
  }
  if (mentions(source, "fms-fsdp")) return "fms-fsdp";
  if (mentions(framework, "AutoModel")) return "automodel";
  if (mentions(source, "awslabs")) return "megatron-bridge-eager";
  if (mentions(source, "Megatron-Bridge")) {
    const bool fsdp =
        mentions(row["notes"], "use_megatron_fsdp=True") || mentions(row["sharding"], "FSDP");
    return fsdp ? "megatron-fsdp" : "megatron-bridge";
  }
  if (mentions(source, "NVIDIA/NeMo ")) return "nemo";
  if (mentions(source, "Megatron-LM")) return "megatron-core";
  if (mentions(source, "mlcommons")) return "mlperf";
  return {};
}

}  // namespace flowplan::accuracy
