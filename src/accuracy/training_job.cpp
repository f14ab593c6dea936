#include "training_job.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string_view>
#include <utility>

#include "training_cells.hpp"

namespace flowplan::accuracy {

namespace {

using model::Precision;
using training::Recompute;
using training::Sharding;

bool is_stated(const std::string& cell) {
  return !cell.empty() && cell != "not stated" && cell != "not found";
}

/// What no job of this release has, whatever else the row says; empty when there is nothing.
std::string not_modelled(const Cells& row) {
  const std::string& metric = row["metric"];
  if (metric == "time_to_train") return "time to train includes evaluation and start-up";
  if (metric == "gpu_hours_total" || metric == "mfu") return "metric " + metric;
  if (mentions(row["source"], "MegaScale")) {
    return "another architecture (parallel transformer block, sliding window)";
  }
  return {};
}

std::optional<Precision> precision_of(const Cells& row, std::vector<std::string>& assumed) {
  std::string text = row["precision"];
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  if (text == "FP16") return Precision::fp16;
  if (text == "BF16" || mentions(text, "BF16 (MP") || text.starts_with("AMP_BF16")) {
    return Precision::bf16;
  }
  if (mentions(text, "MXFP8")) return Precision::mxfp8;
  if (mentions(text, "NVFP4")) {
    if (!mentions(text, "FP8")) return Precision::nvfp4;
    // The 8B rows of this label run at the speed of those that say NVFP4 (0.45 against 0.54 s),
    // LoRA rows at that of those that say FP8 (1.26 to 1.36 s; NVFP4 0.94 to 1.11 s).
    assumed.emplace_back("precision");
    return mentions(row["model"], "LoRA") ? Precision::fp8 : Precision::nvfp4;
  }
  if (mentions(text, "FP8")) return Precision::fp8;
  return std::nullopt;
}

/// "selective [mla_up_proj, mlp]": the modules in brackets.
training::RecomputeModules modules_of(const std::string& text) {
  training::RecomputeModules modules;
  if (!mentions(text, "[")) return modules;
  modules.core_attention = mentions(text, "core_attn");
  modules.latent_up = mentions(text, "mla_up_proj");
  modules.norms = mentions(text, "layernorm");
  modules.expert_activation = mentions(text, "moe_act");
  modules.mlp = mentions(text, "mlp");
  modules.experts = mentions(text, "moe,") || mentions(text, "moe]");
  return modules;
}

void read_recompute(const Cells& row, TrainingJob& result) {
  const std::string& text = row["recompute"];
  training::Job& job = result.job;
  if (text.starts_with("full")) job.recompute = Recompute::full;
  const bool by_operators =
      mentions(text, "op") && mentions(text, "selective") && !mentions(text, "[");
  if (by_operators || (text.starts_with("selective") && job.framework == "fms-fsdp")) {
    job.recompute = Recompute::operators;
  } else if (text.starts_with("selective")) {
    job.recompute = Recompute::selective;
    job.modules = modules_of(text);
  }
  // Its recipes recompute what does not fit, and do not say so.
  result.recompute_is_open = job.framework == "automodel" && !is_stated(text);
}

/// "FSDP2 x32" and "FSDP64" name the ranks that share the states.
int shard_ranks(const std::string& text) {
  const std::size_t digits = text.find_last_not_of("0123456789");
  if (digits == std::string::npos || digits + 1 >= text.size()) return 0;
  return std::atoi(text.c_str() + digits + 1);
}

/// "cpu_offloading_num_layers=20": layers whose activations a recipe keeps in host memory.
std::int64_t offloaded_layers(const std::string& notes) {
  constexpr std::string_view key = "cpu_offloading_num_layers=";
  const std::size_t at = notes.find(key);
  if (at == std::string::npos) return 0;
  return std::max(0, std::atoi(notes.c_str() + at + key.size()));
}

void read_sharding(const Cells& row, TrainingJob& result) {
  const std::string& text = row["sharding"];
  training::Job& job = result.job;
  constexpr int gpus_of_node = 8;
  if (text == "none") {
    job.sharding = Sharding::none;
  } else if (mentions(text, "SHARD_GRAD_OP")) {
    job.sharding = Sharding::fsdp_no_reshard;
  } else if (mentions(text, "ZeRO-2")) {
    job.sharding = Sharding::zero2;
  } else if (mentions(text, "FULL_SHARD") || mentions(text, "FSDP") || mentions(text, "HSDP") ||
             job.framework == "megatron-fsdp") {
    job.sharding = Sharding::fsdp;
    const int replicas = job.layout.dp * job.layout.cp;
    const int stated = shard_ranks(text.substr(std::min(text.find("FSDP") + 5, text.size())));
    if (mentions(text, "HSDP")) {
      job.shard_group = std::gcd(replicas, gpus_of_node / std::gcd(gpus_of_node, job.layout.tp));
    } else if (stated > 0 && stated < replicas && replicas % stated == 0) {
      job.shard_group = stated;
    }
  }
}

/// Experts: what the notes say of the exchange and of graphs.
void read_routing(const Cells& row, TrainingJob& result) {
  training::Job& job = result.job;
  if (!job.model.experts) return;
  const std::string& notes = row["notes"];
  const std::string& framework = row["framework"];
  job.layout.ep = static_cast<int>(row.whole("ep").value_or(1));
  // One row says EP 1 with FSDP over 64 ranks: 230 GB gathered for every micro-batch would take
  // longer than its whole step.
  if (result.source == "AutoModel" && job.layout.ep == 1) {
    job.layout.ep = static_cast<int>(job.gpus);
    result.assumed.emplace_back("ep");
  }
  job.layout.uneven_stages = true;
  job.routing.deduplicated = mentions(notes, "hybridep") || mentions(notes, "deepep") ||
                             mentions(notes, "DeepEP") || mentions(framework, "DeepEP");
  job.routing.overlapped = mentions(notes, "overlap_moe_expert_parallel_comm=True") ||
                           mentions(notes, "EP overlap") || mentions(notes, "EP-comm overlap=on");
  job.routing.captured = mentions(notes, "cuda graph") || mentions(notes, "cuda_graph");
  if (mentions(notes, "DeepEP-UCCL")) job.routing.backend = collective::ExpertBackend::uccl;
  if (mentions(notes, "DeepEP-NVSHMEM")) job.routing.backend = collective::ExpertBackend::nvshmem;
  if (mentions(notes, "token drop")) job.routing.capacity = 1.0;
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
  if (!micro_batch) result.assumed.emplace_back("micro-batch 1");
  // MLPerf's GPT-3 configurations all have six virtual stages, torchtitan's interleaved ones two.
  std::optional<std::int64_t> vp = row.whole("vp");
  if (row["vp"] == "interleaved") vp = 2;
  if (!vp && job.framework == "mlperf" && mentions(row["model"], "GPT")) vp = 6;
  if (*pp > 1 && !vp) result.assumed.emplace_back("vp 1");

  training::Layout& l = job.layout;
  job.gpus = static_cast<std::uint32_t>(*gpus);
  l.tp = static_cast<int>(*tp);
  l.pp = static_cast<int>(*pp);
  l.cp = static_cast<int>(row.whole("cp").value_or(1));
  l.vp = static_cast<int>(vp.value_or(1));
  l.dp = static_cast<int>(*gpus / (*tp * *pp * l.cp));
  l.sequence_parallel = job.framework != "megatron-deepspeed" && *tp > 1;
  job.micro_batch = micro_batch.value_or(1);
  // Its rows give the batch of a data-parallel rank; a pipeline cuts it into as many as stages.
  if (mentions(job.framework, "torchtitan") && *pp > 1) {
    job.micro_batch = std::max<std::int64_t>(1, job.micro_batch / *pp);
    l.uneven_stages = true;
  }
  job.global_batch = *global_batch;
  job.seq_len = *seq_len;
  return {};
}

}  // namespace

std::string short_source(const std::string& source) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> names{
      {{"VIA-Research/vTrain", "vTrain"},
       {"NVIDIA-NeMo/Megatron-Bridge", "Megatron-Bridge"},
       {"NVIDIA/NeMo ", "NeMo 24.07"},
       {"NVIDIA/Megatron-LM", "Megatron-Core"},
       {"NVIDIA-NeMo/Automodel", "AutoModel"},
       {"mosaicml/", "MosaicML"},
       {"pytorch/torchtitan", "torchtitan"},
       {"foundation-model-stack", "fms-fsdp"},
       {"awslabs/", "AWS"},
       {"mlcommons/training_results", "MLPerf"}}};
  for (const auto& [start, name] : names) {
    if (mentions(source, start)) return std::string(name);
  }
  return source.substr(0, source.find(' '));
}

ReadJob read_training_job(const catalog::Catalog& catalog, const CsvTable& table,
                          std::size_t index) {
  const Cells row(table, index);
  ReadJob result;
  TrainingJob& out = result.job;
  out.source = short_source(row["source"]);
  out.gpu = row["gpu"];
  out.instance = instance_of(catalog, row);
  const auto skip = [&](std::string reason) {
    result.skipped = std::move(reason);
    return result;
  };
  if (auto reason = not_modelled(row); !reason.empty()) return skip(std::move(reason));
  if (out.instance.empty()) return skip("no reference system for its GPU");
  out.job.framework = framework_of(row);
  if (out.job.framework.empty()) return skip("no profile for its framework");
  if (auto reason = read_layout(row, out); !reason.empty()) return skip(std::move(reason));
  auto model = transformer_of(catalog, row);
  if (!model) return skip("model dimensions are not stated");
  out.job.model = std::move(*model);
  const auto precision = precision_of(row, out.assumed);
  if (!precision) return skip("precision is not modelled: " + row["precision"]);
  out.job.precision = *precision;
  read_recompute(row, out);
  read_sharding(row, out);
  read_routing(row, out);
  out.job.async_tp = mentions(row["framework"], "asyncTP");
  out.job.offload_layers = offloaded_layers(row["notes"]);
  if (mentions(row["model"], "LoRA")) {
    out.job.adapters = training::Adapters{};
    // AutoModel's recipes adapt every linear layer.
    training::AdapterTargets& targets = out.job.adapters->targets;
    targets.fused_up = targets.down = out.source == "AutoModel";
  }
  out.group = out.job.adapters ? "LoRA" : out.job.model.experts ? "experts" : "dense";
  // Its rows do not say; Megatron's own count gave attention full credit until July 2025.
  if (out.source == "Megatron-Core") {
    out.credit = model::AttentionCredit::full;
    out.assumed.emplace_back("no causal credit");
  }
  return result;
}

}  // namespace flowplan::accuracy
