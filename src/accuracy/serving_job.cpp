#include "serving_job.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

#include <fmt/format.h>

namespace flowplan::accuracy {

namespace {

using inference::NumberFormats;
using inference::WeightFormat;
using Names = std::pair<std::string_view, std::string_view>;

constexpr std::array serving_systems{
    Names{"H100", "dgx-h100"}, Names{"H200", "hgx-h200"},      Names{"B200", "dgx-b200"},
    Names{"B300", "dgx-b300"}, Names{"GB200", "gb200-nvl72"},  Names{"GB300", "gb300-nvl72"},
    Names{"A100", "dgx-a100"}, Names{"H100-80GB", "dgx-h100"}, Names{"H100-80GB-SXM", "dgx-h100"}};

// Checkpoints by what they are derived from; the name after the maker's.
constexpr std::array serving_models{Names{"deepseek-v3", "deepseek-v3"},
                                    Names{"deepseek-r1", "deepseek-v3"},
                                    Names{"llama-3.1-70b", "llama3.1-70b"},
                                    Names{"llama v3.1 70b", "llama3.1-70b"},
                                    Names{"llama 3.3 70b", "llama3.1-70b"},
                                    Names{"llama-3.1-8b", "llama3.1-8b"},
                                    Names{"llama v3.1 8b", "llama3.1-8b"},
                                    Names{"llama 3.1 8b", "llama3.1-8b"},
                                    Names{"llama v3.1 405b", "llama3.1-405b"},
                                    Names{"llama 3.1 405b", "llama3.1-405b"},
                                    Names{"llama 4 maverick", "llama4-maverick"},
                                    Names{"llama 4 scout", "llama4-scout"},
                                    Names{"llama-4-scout", "llama4-scout"},
                                    Names{"llama-2-70b", "llama2-70b"},
                                    Names{"llama-2-7b", "llama2-7b"},
                                    Names{"codellama-34b", "codellama-34b"},
                                    Names{"mixtral 8x7b", "mixtral-8x7b"},
                                    Names{"mixtral-8x7b", "mixtral-8x7b"},
                                    Names{"mixtral 8x22b", "mixtral-8x22b"},
                                    Names{"mixtral-8x22b", "mixtral-8x22b"},
                                    Names{"qwen3.5-397b", "qwen3.5-397b-a17b"},
                                    Names{"qwen3-235b", "qwen3-235b-a22b"},
                                    Names{"qwen3-30b", "qwen3-30b-a3b"},
                                    Names{"qwen3-32b", "qwen3-32b"},
                                    Names{"qwen3-14b", "qwen3-14b"},
                                    Names{"gpt-oss-120b", "gpt-oss-120b"},
                                    Names{"gpt-oss-20b", "gpt-oss-20b"},
                                    Names{"kimi-k2.5", "kimi-k2.5"},
                                    Names{"minimax-m2.5", "minimax-m2.5"}};

int integer(std::string_view text, int otherwise) {
  int value = otherwise;
  const auto [end, bad] = std::from_chars(text.data(), text.data() + text.size(), value);
  return bad == std::errc() && end == text.data() + text.size() ? value : otherwise;
}

int integer(const CsvTable& table, std::size_t row, std::string_view column, int otherwise = 0) {
  return static_cast<int>(table.number(row, column).value_or(otherwise));
}

/// "P4/D8": 4 of prefill, 8 of decode; 0 where it is neither.
std::pair<int, int> prefill_and_decode(std::string_view text) {
  const auto slash = text.find('/');
  if (slash == std::string_view::npos || text.empty() || text[0] != 'P') return {0, 0};
  return {integer(text.substr(1, slash - 1), 0), integer(text.substr(slash + 2), 0)};
}

/// Attention TP is what is left of the GPUs beside attention DP, whatever the tp column prints;
/// experts are spread over `ep` and divided among the rest.
inference::Layout layout_of(int gpus, int attention_dp, int ep, const model::Transformer& model) {
  inference::Layout layout;
  layout.attention_dp = std::max(1, attention_dp);
  layout.tp = std::max(1, gpus / layout.attention_dp);
  layout.ep = model.experts ? std::max(1, ep) : 1;
  if (model.experts && layout.ranks() % layout.ep != 0) layout.ep = 1;
  // An expert's width divides among its ranks only so far: whole experts otherwise.
  while (model.experts && model.experts->ffn % layout.expert_tp() != 0)
    layout.ep *= 2;
  return layout;
}

/// "prefill AxB GPU ... decode CxD GPU": workers and GPUs of each.
bool read_pools(const CsvTable& table, std::size_t row, ServingJob& job) {
  int a = 0, b = 0, c = 0, d = 0;
  const std::string& notes = table.text(row, "parallel_notes");
  if (std::sscanf(notes.c_str(), "prefill %dx(%d GPU) bs %*d; decode %dx(%d GPU)", &a, &b, &c,
                  &d) != 4 ||
      a < 1 || c < 1) {
    return false;
  }
  const auto dp = prefill_and_decode(table.text(row, "dp"));
  const auto ep = prefill_and_decode(table.text(row, "ep"));
  const auto wide = [](int gpus, int attention_dp, int experts) {
    constexpr int node = 8;  // a wide deployment that prints ep 1 spreads whole experts
    return attention_dp > node && experts == 1 ? gpus : experts;
  };
  job.prefill = ServingPool{a, layout_of(b, dp.first, wide(b, dp.first, ep.first), *job.model)};
  job.decode = {c, layout_of(d, dp.second, wide(d, dp.second, ep.second), *job.model)};
  return true;
}

/// System, model and engine, which every row needs; the reason why one of them is not known.
std::string identify(const catalog::Catalog& catalog, const CsvTable& table, std::size_t row,
                     ServingJob& job) {
  const std::string& gpu = table.text(row, "gpu");
  const auto named = std::find_if(catalog.instances().begin(), catalog.instances().end(),
                                  [&](const catalog::Instance& one) { return one.id == gpu; });
  const std::string_view system =
      named == catalog.instances().end() ? serving_system(gpu) : std::string_view(named->id);
  if (system.empty()) return "system unknown: " + gpu;
  const auto instance = catalog.instance(system);
  if (!instance) return instance.error().front().message;
  job.instance = *instance;
  const std::string& name = table.text(row, "model");
  const bool is_id = std::any_of(catalog.transformers().begin(), catalog.transformers().end(),
                                 [&](const model::Transformer& one) { return one.name == name; });
  const auto model = catalog.transformer(is_id ? name : serving_model(name));
  if (!model) return "model unknown: " + table.text(row, "model");
  job.model = *model;
  job.engine = serving_engine(table.text(row, "engine"));
  return job.engine.empty() ? "engine unknown: " + table.text(row, "engine") : "";
}

/// The lengths of InferenceX's points.
bool lengths_of_inferencex(int input, int output) {
  constexpr int shorter = 1024, longer = 8192;
  return (input == shorter && (output == shorter || output == longer)) ||
         (input == longer && output == shorter);
}

}  // namespace

std::string_view serving_system(std::string_view gpu) {
  for (const auto& [spelt, id] : serving_systems) {
    if (spelt == gpu) return id;
  }
  return {};
}

std::string serving_model(std::string_view name) {
  const auto slash = name.find('/');
  std::string lower(slash == std::string_view::npos ? name : name.substr(slash + 1));
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const auto& [spelt, id] : serving_models) {
    if (lower.starts_with(spelt)) return std::string(id);
  }
  return {};
}

std::string_view serving_engine(std::string_view engine) {
  constexpr std::array engines{Names{"vllm", "vllm"}, Names{"trtllm", "trtllm"},
                               Names{"sglang", "sglang"}, Names{"TensorRT", "trtllm"},
                               Names{"vLLM", "vllm"}};
  for (const auto& [spelt, id] : engines) {
    if (engine.starts_with(spelt)) return id;
  }
  return {};
}

std::optional<NumberFormats> serving_formats(const model::Transformer& model,
                                             std::string_view precision, bool block) {
  if (model.attention_sinks)  // gpt-oss comes in MXFP4 alone
    return inference::usual_formats(model, WeightFormat::mxfp4);
  if (precision == "fp4" || precision == "nvfp4")
    return inference::usual_formats(model, WeightFormat::nvfp4);
  if (precision == "fp8")
    return inference::usual_formats(model, block ? WeightFormat::fp8_block : WeightFormat::fp8);
  const auto format = inference::find_weight_format(precision);
  if (!format) return std::nullopt;
  return inference::usual_formats(model, *format);
}

std::string ServingJob::group() const {
  const inference::Layout& l = decode.layout;
  return fmt::format("{}, {}, {}, {}, tp {} dp {}", engine, model ? model->name : "",
                     instance ? instance->gpu : "", precision, l.tp, l.attention_dp);
}

ServingJob read_latency_job(const catalog::Catalog& catalog, const CsvTable& table,
                            std::size_t row) {
  ServingJob job;
  const auto skip = [&](std::string reason) {
    job.skipped = std::move(reason);
    return job;
  };
  if (std::string unknown = identify(catalog, table, row, job); !unknown.empty())
    return skip(std::move(unknown));
  job.precision = table.text(row, "precision");
  // FP8 checkpoints of models with experts are quantised in blocks, whatever is printed.
  const bool block = job.model->experts || table.text(row, "gemm_quant") == "fp8_block";
  const auto formats = serving_formats(*job.model, job.precision, block);
  if (!formats) {
    return skip(job.precision.empty() ? "precision not stated"
                                      : "precision unknown: " + job.precision);
  }
  job.formats = *formats;
  job.input_tokens = integer(table, row, "isl");
  job.output_tokens = integer(table, row, "osl");
  job.concurrency = integer(table, row, "concurrency");
  if (job.input_tokens < 1 || job.output_tokens < 2) return skip("lengths not stated");
  if (job.concurrency < 1) return skip("concurrency not stated");
  job.inferencex = lengths_of_inferencex(job.input_tokens, job.output_tokens);
  // Other clients ran the engines with their defaults: a cache in 16 bits but for TensorRT-LLM, and
  // SGLang's passes of prompts alone.
  if (!job.inferencex && job.engine != "trtllm") job.formats.narrow_kv = false;
  job.prefill_first = !job.inferencex && job.engine == "sglang";
  if (table.text(row, "mode") != "agg") {
    if (!read_pools(table, row, job)) return skip("workers of a disaggregated row not stated");
    return job;
  }
  const int gpus = integer(table, row, "gpus");
  if (gpus < 1) return skip("GPUs not stated");
  job.decode.layout =
      layout_of(gpus, integer(table, row, "dp", 1), integer(table, row, "ep", 1), *job.model);
  return job;
}

namespace {

/// "fp8", "nvfp4 MoE/bf16 attn", "fp16", "fp8 (assumed; not in log)".
std::string_view first_word(std::string_view text) {
  return text.substr(0, text.find_first_of(" ("));
}

/// "max_batch 896/rank, max_num_tokens 2048", "MTP depth 2, mean accepted length 2.58".
void read_limits(const std::string& notes, ServingJob& job) {
  const auto after = [&](const char* words, const char* format, auto* value) {
    const std::size_t at = notes.find(words);
    if (at != std::string::npos) std::sscanf(notes.c_str() + at, format, value);
  };
  after("max_batch", "max_batch %d", &job.max_sequences);
  after("max_num_tokens", "max_num_tokens %d", &job.max_tokens);
  after("MTP depth", "MTP depth %d", &job.draft_tokens);
  after("mean accepted length", "mean accepted length %lf", &job.accepted_tokens);
}

}  // namespace

ServingJob read_throughput_job(const catalog::Catalog& catalog, const CsvTable& table,
                               std::size_t row) {
  ServingJob job;
  const auto skip = [&](std::string reason) {
    job.skipped = std::move(reason);
    return job;
  };
  if (std::string unknown = identify(catalog, table, row, job); !unknown.empty())
    return skip(std::move(unknown));
  job.precision = first_word(table.text(row, "precision_w"));
  const auto formats =
      serving_formats(*job.model, job.precision, job.model->latent_attention.has_value());
  if (!formats) return skip("precision unknown: " + table.text(row, "precision_w"));
  job.formats = *formats;
  const std::string_view cache = first_word(table.text(row, "precision_kv"));
  if (cache == "fp16" || cache == "bf16" || cache == "auto") job.formats.narrow_kv = false;
  job.input_tokens = integer(table, row, "isl");
  job.output_tokens = integer(table, row, "osl");
  if (job.input_tokens < 1 || job.output_tokens < 2) return skip("lengths not stated");
  const int gpus = integer(table, row, "gpus");
  const int pp = integer(table, row, "pp", 1);
  if (gpus < 1 || !table.number(row, "tp")) return skip("layout not stated");
  // MoE rows of the newer tables print dp 1, and their notes say attention DP; of ep they are
  // silent.
  const bool noted = table.text(row, "notes").find("attention DP") != std::string::npos ||
                     table.text(row, "notes").find("attention-DP") != std::string::npos;
  int dp = integer(table, row, "dp", 1);
  if (job.model->experts && noted) dp = gpus / pp;
  job.decode.layout = layout_of(gpus / pp, dp, integer(table, row, "ep", dp), *job.model);
  job.decode.layout.pp = pp;
  job.concurrency = integer(table, row, "batch_or_concurrency");
  read_limits(table.text(row, "notes"), job);
  return job;
}

ServingJob read_run_job(const catalog::Catalog& catalog, const CsvTable& table, std::size_t row) {
  ServingJob job;
  const auto skip = [&](std::string reason) {
    job.skipped = std::move(reason);
    return job;
  };
  if (std::string unknown = identify(catalog, table, row, job); !unknown.empty())
    return skip(std::move(unknown));
  job.precision = table.text(row, "precision");
  const auto formats = serving_formats(*job.model, job.precision, false);
  if (!formats) return skip("precision unknown: " + job.precision);
  job.formats = *formats;
  job.formats.narrow_kv = false;  // --kv-cache-dtype auto
  if (job.model->experts) job.formats.attention = job.formats.ffn;
  job.input_tokens = static_cast<int>(std::lround(table.number(row, "isl_mean").value_or(0.0)));
  job.output_tokens = static_cast<int>(std::lround(table.number(row, "osl_mean").value_or(0.0)));
  if (job.input_tokens < 1 || job.output_tokens < 2) return skip("lengths not stated");
  job.max_tokens = integer(table, row, "max_num_batched_tokens");
  job.max_sequences = integer(table, row, "max_num_seqs");
  job.decode.layout = layout_of(integer(table, row, "tp", 1), 1, 1, *job.model);
  return job;
}

}  // namespace flowplan::accuracy
