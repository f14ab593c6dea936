#include "training_job.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <string_view>
#include <utility>

namespace flowplan::accuracy {

namespace {

using model::Precision;

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool is_stated(const std::string& cell) {
  return !cell.empty() && cell != "not stated";
}

/// A row's cells by name.
class Cells {
 public:
  Cells(const CsvTable& table, std::size_t row) : table_(table), row_(row) {}
  [[nodiscard]] const std::string& operator[](std::string_view column) const {
    return table_.text(row_, column);
  }
  [[nodiscard]] std::optional<std::int64_t> whole(std::string_view column) const {
    const auto number = table_.number(row_, column);
    if (!number || *number < 1.0) return std::nullopt;
    return static_cast<std::int64_t>(*number);
  }

 private:
  const CsvTable& table_;
  std::size_t row_;
};

/// What no job of this release has, whatever else the row says; empty when there is nothing.
std::string not_modelled(const Cells& row) {
  const std::string& model = row["model"];
  const std::string& sharding = row["sharding"];
  if (has(row["metric"], "rl_")) return "post-training is not modelled in this release";
  if (row["metric"] == "time_to_train") return "time to train includes evaluation and start-up";
  if (has(model, "LoRA")) return "LoRA is not modelled in this release";
  if (const auto experts = row.whole("experts"); experts && *experts > 1) {
    return "mixture of experts is not modelled in this release";
  }
  if (has(model, "Nemotron_3") || has(model, "Nemotron V3")) {
    return "model dimensions are not stated (Mamba hybrid)";
  }
  if (has(sharding, "FSDP") || has(sharding, "SHARD") ||
      has(row["notes"], "use_megatron_fsdp=True")) {
    return "fully sharded data parallelism is not modelled in this release";
  }
  if (has(row["source"], "MegaScale")) {
    return "another architecture (parallel transformer block, sliding window)";
  }
  if (const auto cp = row.whole("cp"); cp && *cp > 1) {
    return "context parallelism is not modelled in this release";
  }
  return {};
}

std::optional<Precision> precision_of(const Cells& row, std::vector<std::string>& assumed) {
  std::string text = row["precision"];
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text == "FP16") return Precision::fp16;
  if (text == "BF16") return Precision::bf16;
  if (has(text, "MXFP8")) return Precision::mxfp8;
  if (has(text, "NVFP4")) {
    // The 8B rows of this label run at the speed of those that say NVFP4 (0.45 against 0.54 s).
    if (has(text, "FP8")) assumed.push_back("precision");
    return Precision::nvfp4;
  }
  if (has(text, "ROWWISE")) return std::nullopt;
  if (text.starts_with("FP8")) return Precision::fp8;
  return std::nullopt;
}

std::string framework_of(const Cells& row) {
  if (has(row["framework"], "Megatron-DeepSpeed")) return "megatron-deepspeed";
  if (has(row["source"], "Megatron-Bridge")) return "megatron-bridge";
  if (has(row["source"], "NVIDIA/NeMo ")) return "nemo";
  if (has(row["source"], "Megatron-LM")) return "megatron-core";
  if (has(row["source"], "mlcommons")) return "mlperf";
  return {};
}

struct System {
  std::string_view gpu, instance;
};
constexpr std::array systems{System{"H100", "dgx-h100"},     System{"H200", "hgx-h200"},
                             System{"B200", "dgx-b200"},     System{"B300", "dgx-b300"},
                             System{"GB200", "gb200-nvl72"}, System{"GB300", "gb300-nvl72"},
                             System{"A100-80G", "dgx-a100"}};

std::string instance_of(const Cells& row) {
  if (has(row["instance_or_cluster"], "p5.48xlarge")) return "p5.48xlarge";
  if (has(row["system"], "vTrain")) return "a100-hdr";
  if (has(row["system"], "Eos")) return "eos";
  const auto system = std::find_if(systems.begin(), systems.end(),
                                   [&](const System& s) { return s.gpu == row["gpu"]; });
  return system == systems.end() ? std::string() : std::string(system->instance);
}

bool is_gpt(const std::string& model) {
  return has(model, "GPT");
}

/// GPT-3 and Nemotron have a two-matrix MLP; all other dense models of these rows are gated.
model::Transformer transformer_of(const Cells& row) {
  const std::string& name = row["model"];
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
  m.gated_mlp = !is_gpt(name) && !has(name, "Nemotron");
  m.tied_embeddings = is_gpt(name);
  return m;
}

training::Recompute recompute_of(const std::string& text) {
  if (text.starts_with("full")) return training::Recompute::full;
  if (text.starts_with("selective")) return training::Recompute::selective;
  return training::Recompute::none;
}

/// Virtual stages, micro-batch and batch; what is not stated is assumed where its source's other
/// rows leave no doubt, else the reason is returned.
std::string read_layout(const Cells& row, TrainingJob& result) {
  training::Job& job = result.job;
  const auto tp = row.whole("tp"), pp = row.whole("pp"), gpus = row.whole("gpus");
  if (!tp || !pp || !gpus) return "layout is not stated";
  const auto global_batch = row.whole("global_batch"), seq_len = row.whole("seq_len");
  if (!global_batch || !seq_len) return "batch or sequence length is not stated";
  const bool megatron_core = job.framework == "megatron-core";
  const auto micro_batch = row.whole("micro_batch");
  if (!micro_batch && !megatron_core) return "micro-batch is not stated";
  if (!micro_batch) result.assumed.push_back("micro-batch 1");
  // MLPerf's GPT-3 configurations all have six virtual stages.
  const bool mlperf_gpt3 = job.framework == "mlperf" && is_gpt(row["model"]);
  const bool vp_is_open = *pp > 1 && !is_stated(row["vp"]) && !mlperf_gpt3;
  if (vp_is_open) result.assumed.push_back("vp 1");
  constexpr std::int64_t mlperf_gpt3_vp = 6;

  job.gpus = static_cast<std::uint32_t>(*gpus);
  job.layout.tp = static_cast<int>(*tp);
  job.layout.pp = static_cast<int>(*pp);
  job.layout.vp = static_cast<int>(row.whole("vp").value_or(mlperf_gpt3 ? mlperf_gpt3_vp : 1));
  job.layout.dp = static_cast<int>(*gpus / (*tp * *pp));
  job.layout.sequence_parallel = job.framework != "megatron-deepspeed" && *tp > 1;
  job.micro_batch = micro_batch.value_or(1);
  job.global_batch = *global_batch;
  job.seq_len = *seq_len;
  return {};
}

}  // namespace

std::string short_source(const std::string& source) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> names{
      {{"VIA-Research/vTrain", "vTrain"},
       {"NVIDIA-NeMo/Megatron-Bridge", "Megatron-Bridge"},
       {"NVIDIA/NeMo ", "NeMo 24.07"},
       {"NVIDIA/Megatron-LM", "Megatron-Core"},
       {"mlcommons/training_results", "MLPerf"}}};
  for (const auto& [start, name] : names) {
    if (has(source, start)) return std::string(name);
  }
  return source.substr(0, source.find(' '));
}

ReadJob read_training_job(const CsvTable& table, std::size_t index) {
  const Cells row(table, index);
  ReadJob result;
  TrainingJob& out = result.job;
  out.source = short_source(row["source"]);
  out.gpu = row["gpu"];
  out.instance = instance_of(row);
  const auto skip = [&](std::string reason) {
    result.skipped = std::move(reason);
    return result;
  };
  if (auto reason = not_modelled(row); !reason.empty()) return skip(std::move(reason));
  if (out.instance.empty()) return skip("no reference system for its GPU");
  for (const char* size : {"layers", "hidden", "ffn", "heads"}) {
    if (!row.whole(size)) return skip("model dimensions are not stated");
  }
  out.job.framework = framework_of(row);
  if (out.job.framework.empty()) return skip("no profile for its framework");
  if (auto reason = read_layout(row, out); !reason.empty()) return skip(std::move(reason));
  const auto precision = precision_of(row, out.assumed);
  if (!precision) return skip("precision is not modelled: " + row["precision"]);
  out.job.precision = *precision;
  out.job.model = transformer_of(row);
  out.job.recompute = recompute_of(row["recompute"]);
  out.job.sharding = row["sharding"] == "none" ? training::Sharding::none
                                               : training::Sharding::distributed_optimizer;
  // Its rows do not say; Megatron's own count gave attention full credit until July 2025.
  if (out.source == "Megatron-Core") {
    out.credit = model::AttentionCredit::full;
    out.assumed.push_back("no causal credit");
  }
  return result;
}

}  // namespace flowplan::accuracy
