#include "rl_job.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "flowplan/inference/engine_profile.hpp"
#include "training_cells.hpp"

namespace flowplan::accuracy {

namespace {

using posttraining::Placement;

/// The number behind some words of the notes.
std::optional<double> number_after(const std::string& notes, std::string_view words) {
  const std::size_t at = notes.find(words);
  if (at == std::string::npos) return std::nullopt;
  double value = 0.0;
  if (std::sscanf(notes.c_str() + at + words.size(), "%lf", &value) != 1) return std::nullopt;
  return value;
}

/// "DeepSeek V3 GRPO 8-step Off": 8; 0 on policy.
int steps_off(const std::string& model) {
  const std::size_t at = model.find("-step Off");
  if (at == std::string::npos) return 0;
  std::size_t begin = at;
  while (begin > 0 && model[begin - 1] >= '0' && model[begin - 1] <= '9')
    --begin;
  int steps = 0;
  return std::sscanf(model.c_str() + begin, "%d", &steps) == 1 ? steps : 0;
}

/// "Qwen3-30B3A GRPO 1-step Off": "qwen3_30b3a".
std::string model_key(std::string_view model) {
  std::string key;
  for (const char c : model.substr(0, model.find(" GRPO"))) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    const bool capital = c >= 'A' && c <= 'Z';
    key += letter ? c : capital ? static_cast<char>(c - 'A' + 'a') : '_';
  }
  return key;
}

/// Lengths, samples and updates of a step.
std::string read_rollout(const Cells& row, const catalog::Constants& harness,
                         RlMeasurement& result) {
  const std::string& notes = row["notes"];
  const auto mean = number_after(notes, "mean sequence ");
  const auto samples = number_after(notes, "rollout samples/step ");
  const auto longest = row.whole("seq_len");
  if (!mean || !longest) return "mean length of a sample is not stated";
  if (!samples) return "samples of a step are not stated";
  posttraining::RlJob& job = result.job;
  const auto group = harness.find(fmt::format("rollout.group.{}", model_key(row["model"])));
  if (!group) return "samples of a prompt are not stated";
  job.load.group = static_cast<std::uint32_t>(group->values.front());
  if (*samples < job.load.group) job.load.group = 1;
  job.load.prompts = static_cast<std::uint32_t>(*samples) / job.load.group;
  const double prompt = harness.at("prompt.tokens");
  job.load.prompt = {inference::TokenCount::Kind::fixed, prompt, 0.0};
  inference::TokenCount response;
  response.kind = inference::TokenCount::Kind::lognormal;
  response.spread = harness.at("response.spread");
  response.most = std::max(1.0, static_cast<double>(*longest) - prompt);
  job.load.response = posttraining::with_mean(response, *mean);
  job.pack_tokens = *longest;
  const std::string gpu = row["gpu"] == "GB200" ? "gb200" : "h100";
  job.log_prob_micro_batch = static_cast<std::int64_t>(
      harness.get(fmt::format("log_prob_rows.{}.{}.{}_policy", model_key(row["model"]), gpu,
                              steps_off(row["model"]) > 0 ? "off" : "on"),
                  1.0));
  job.mini_batch =
      std::min<std::int64_t>(row.whole("global_batch").value_or(0), job.load.samples());
  result.assumed.emplace_back("spread of lengths");
  return {};
}

/// The recipe's recomputation, where it sets any.
void read_recompute(const Cells& row, const catalog::Constants& harness, RlMeasurement& result) {
  if (harness.get(fmt::format("recompute_full.{}", model_key(row["model"])), 0.0) <= 0.0) return;
  result.job.actor.recompute = training::Recompute::full;
  result.recompute_stated = true;
}

/// Layouts of both pools and how they work together.
std::string read_pools_of_rl(const Cells& row, const catalog::Constants& harness,
                             RlMeasurement& result) {
  posttraining::RlJob& job = result.job;
  const auto gpus = row.whole("gpus"), tp = row.whole("tp"), pp = row.whole("pp");
  if (!gpus || !tp || !pp) return "layout of the trainer is not stated";
  int engine_tp = 0, engine_pp = 0;
  const std::size_t at = row["notes"].find("generation [TP,PP]=[");
  if (at == std::string::npos ||
      std::sscanf(row["notes"].c_str() + at, "generation [TP,PP]=[%d,%d]", &engine_tp,
                  &engine_pp) != 2) {
    return "layout of the engines is not stated";
  }
  job.engine_layout.tp = engine_tp;
  job.engine_layout.pp = engine_pp;
  job.gpus = static_cast<std::uint32_t>(*gpus);
  std::uint32_t trainer = job.gpus;
  if (const int off = steps_off(row["model"]); off > 0) {
    const auto share = harness.get(fmt::format("rollout.gpu_fraction_{}_off", off), 0.0);
    if (share <= 0.0) return fmt::format("GPUs of each pool, {} steps off, are not stated", off);
    job.placement = Placement::asynchronous;
    job.staleness = off;
    job.partial = job.in_order = true;
    // Prompts of a step times the age: NVIDIA-NeMo/RL async_utils.py (0a27b1f), its collector.
    job.in_flight = off;
    job.rollout_gpus = static_cast<std::uint32_t>(std::lround(job.gpus * share));
    trainer -= job.rollout_gpus;
    result.assumed.emplace_back("GPUs of each pool");
  }
  training::Layout& l = job.actor.layout;
  l.tp = static_cast<int>(*tp);
  l.pp = static_cast<int>(*pp);
  l.cp = static_cast<int>(row.whole("cp").value_or(1));
  l.vp = static_cast<int>(row.whole("vp").value_or(1));
  const auto each = static_cast<std::uint32_t>(l.tp * l.pp * l.cp);
  if (trainer % each != 0) return "layout of the trainer does not divide its GPUs";
  l.dp = static_cast<int>(trainer / each);
  l.sequence_parallel = l.tp > 1;
  l.uneven_stages = true;
  if (job.actor.model.experts) {
    // The table repeats the on-policy layout; fewer GPUs hold all experts among them.
    l.ep =
        static_cast<int>(std::min<std::int64_t>(row.whole("ep").value_or(1), l.tp * l.cp * l.dp));
  }
  return {};
}

bool read_formats(const std::string& precision, RlMeasurement& result) {
  const bool narrow = mentions(precision, "FP8");
  if (!narrow && !mentions(precision, "BF16")) return false;
  posttraining::RlJob& job = result.job;
  job.actor.precision = narrow ? model::Precision::fp8 : model::Precision::bf16;
  job.formats = inference::usual_formats(
      job.actor.model, narrow ? inference::WeightFormat::fp8_block : inference::WeightFormat::bf16);
  job.formats.narrow_kv = false;  // kv_cache_dtype auto
  return true;
}

}  // namespace

bool is_rl_row(const CsvTable& table, std::size_t row) {
  return table.text(row, "metric") == "rl_step_time";
}

RlMeasurement read_rl_job(const catalog::Catalog& catalog, const CsvTable& table,
                          std::size_t index) {
  const Cells row(table, index);
  RlMeasurement result;
  result.gpu = row["gpu"];
  result.instance = instance_of(catalog, row);
  const auto skip = [&](std::string reason) {
    result.skipped = std::move(reason);
    return result;
  };
  const bool nemo = mentions(row["source"], "NeMo/RL") || mentions(row["framework"], "NeMo-RL");
  result.source = nemo ? "NeMo-RL" : row["source"].substr(0, row["source"].find(' '));
  if (result.instance.empty()) return skip("no reference system for its GPU");
  if (!nemo) return skip("no post-training profile for its framework");
  const auto harness = catalog.constants("harness-nemo-rl");
  if (!harness) return skip(harness.error().front().message);
  posttraining::RlJob& job = result.job;
  auto model = transformer_of(catalog, row);
  if (!model) return skip("model dimensions are not stated");
  job.actor.model = std::move(*model);
  job.actor.framework = "megatron-bridge-eager";  // rows of varying length are not graphed
  job.profile = "nemo-rl";
  job.engine = "vllm";
  if (!read_formats(row["precision"], result))
    return skip("precision is not modelled: " + row["precision"]);
  if (auto reason = read_rollout(row, **harness, result); !reason.empty())
    return skip(std::move(reason));
  read_recompute(row, **harness, result);
  if (auto reason = read_pools_of_rl(row, **harness, result); !reason.empty())
    return skip(std::move(reason));
  return result;
}

}  // namespace flowplan::accuracy
