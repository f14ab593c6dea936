// What a log measured as rows that `validate` reads, of a scenario's job.
#include <algorithm>
#include <cctype>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "flowplan/accuracy/framework_log.hpp"
#include "flowplan/base/csv_table.hpp"
#include "flowplan/scenario/resolve.hpp"
#include "training_job.hpp"

namespace flowplan::accuracy {

namespace {

using CsvCells = std::vector<std::pair<std::string, std::string>>;

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string csv_lines(const std::vector<CsvCells>& rows) {
  std::string out;
  const auto line = [&](const CsvCells& row, bool names) {
    for (std::size_t i = 0; i < row.size(); ++i)
      out += (i > 0 ? "," : "") + csv_cell(names ? row[i].first : row[i].second);
    out += '\n';
  };
  line(rows.front(), true);
  for (const CsvCells& row : rows)
    line(row, false);
  return out;
}

std::string stem_of(const std::string& file) {
  const std::size_t slash = file.rfind('/');
  const std::string base = slash == std::string::npos ? file : file.substr(slash + 1);
  return base.substr(0, base.rfind('.'));
}

/// A source that no published one's name is part of.
std::string own_source(const FrameworkLog& log) {
  return fmt::format("own log {}", stem_of(log.file));
}

std::string row_precision(model::Precision precision) {
  std::string text(model::name(precision));
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string row_sharding(const training::Job& job) {
  switch (job.sharding) {
    case training::Sharding::none:
      return "none";
    case training::Sharding::distributed_optimizer:
      return "distributed optimizer (ZeRO-1)";
    case training::Sharding::zero2:
      return "ZeRO-2";
    case training::Sharding::fsdp_no_reshard:
      return "SHARD_GRAD_OP";
    case training::Sharding::fsdp:
      break;
  }
  return job.shard_group > 0 ? fmt::format("FSDP2 x{}", job.shard_group) : "FSDP2";
}

std::string row_recompute(const training::Job& job) {
  using training::Recompute;
  if (job.recompute == Recompute::none) return "none";
  if (job.recompute == Recompute::full) return "full";
  if (job.recompute == Recompute::operators) return "selective op";
  const training::RecomputeModules& m = job.modules;
  std::vector<std::string> modules;
  if (m.core_attention) modules.emplace_back("core_attn");
  if (m.latent_up) modules.emplace_back("mla_up_proj");
  if (m.norms) modules.emplace_back("layernorm");
  if (m.expert_activation) modules.emplace_back("moe_act");
  if (m.mlp) modules.emplace_back("mlp");
  if (m.experts) modules.emplace_back("moe");
  return fmt::format("selective [{}]", fmt::join(modules, ", "));
}

CsvCells training_cells_of(const FrameworkLog& log, const scenario::Scenario& scenario,
                           const training::Job& job) {
  const training::Layout& l = job.layout;
  const model::Transformer& m = job.model;
  const auto count = [](auto value) { return std::to_string(value); };
  // Rows of torchtitan give the batch of a data-parallel rank, which a pipeline cuts.
  const bool titan = job.framework.find("torchtitan") != std::string::npos;
  const std::int64_t micro = titan && l.pp > 1 ? job.micro_batch * l.pp : job.micro_batch;
  return {{"id", ""},
          {"source", own_source(log)},
          {"date", ""},
          {"system", scenario.cluster.instance->id},
          {"gpu", scenario.cluster.instance->gpu},
          {"instance_or_cluster", scenario.cluster.instance->id},
          {"gpus", count(l.tp * l.pp * l.cp * l.dp)},
          {"model", m.name},
          {"params_b", ""},
          {"layers", count(m.layers)},
          {"hidden", count(m.hidden)},
          {"ffn", count(m.ffn)},
          {"heads", count(m.heads)},
          {"kv_heads", count(m.kv_heads)},
          {"vocab", count(m.vocab)},
          {"seq_len", count(job.seq_len)},
          {"experts", m.experts ? count(m.experts->count) : ""},
          {"topk", m.experts ? count(m.experts->per_token) : ""},
          {"moe_ffn", m.experts ? count(m.experts->ffn) : ""},
          {"framework", fmt::format("{}{}", job.framework, job.async_tp ? " asyncTP" : "")},
          {"profile", job.framework},
          {"precision", row_precision(job.precision)},
          {"tp", count(l.tp)},
          {"pp", count(l.pp)},
          {"vp", count(l.vp)},
          {"cp", count(l.cp)},
          {"ep", count(l.ep)},
          {"dp", count(l.dp)},
          {"sharding", row_sharding(job)},
          {"micro_batch", count(micro)},
          {"global_batch", count(job.global_batch)},
          {"recompute", row_recompute(job)},
          {"metric", ""},
          {"value", ""},
          {"unit", ""},
          {"notes", fmt::format("{}; {} steps, the first {} left out, median", name(log.kind),
                                log.steps.size(), log.warm_up)}};
}

void set_cell(CsvCells& row, const char* name, const std::string& value) {
  for (auto& [column, cell] : row)
    if (column == name) cell = value;
}

/// What a row does not bring back of a job: names of it, empty when nothing is lost.
std::string lost(const training::Job& a, const training::Job& b) {
  std::string names;
  const auto check = [&](bool same, const char* what) {
    if (!same) names += fmt::format("{}{}", names.empty() ? "" : ", ", what);
  };
  const training::Layout &x = a.layout, &y = b.layout;
  check(x.tp == y.tp && x.pp == y.pp && x.vp == y.vp && x.cp == y.cp && x.dp == y.dp &&
            x.ep == y.ep && x.etp == y.etp,
        "layout");
  check((x.sequence_parallel && x.tp > 1) == (y.sequence_parallel && y.tp > 1),
        "sequence parallelism");
  check(a.model.layers == b.model.layers && a.model.hidden == b.model.hidden &&
            a.model.ffn == b.model.ffn && a.model.heads == b.model.heads &&
            a.model.kv_heads == b.model.kv_heads && a.model.head_dim == b.model.head_dim &&
            a.model.vocab == b.model.vocab && a.model.gated_mlp == b.model.gated_mlp &&
            a.model.tied_embeddings == b.model.tied_embeddings &&
            a.model.experts.has_value() == b.model.experts.has_value() &&
            a.model.latent_attention.has_value() == b.model.latent_attention.has_value() &&
            a.model.mtp_layers == b.model.mtp_layers,
        "the model, which has to be one of the catalog (--catalog adds yours)");
  check(a.precision == b.precision, "precision");
  check(a.recompute == b.recompute, "recompute");
  check(a.sharding == b.sharding && a.shard_group == b.shard_group, "sharding");
  check(
      a.micro_batch == b.micro_batch && a.global_batch == b.global_batch && a.seq_len == b.seq_len,
      "batch");
  check(a.framework == b.framework, "framework");
  check(a.schedule == b.schedule, "schedule");
  check(a.context_parallel == b.context_parallel, "context_parallel");
  check(a.adapters.has_value() == b.adapters.has_value(), "adapters");
  check(a.offload_layers == b.offload_layers, "offloaded layers");
  check(a.async_tp == b.async_tp, "async_tp");
  return names;
}

Result<std::string> training_lines(const catalog::Catalog& catalog, const FrameworkLog& log,
                                   const scenario::Scenario& scenario) {
  const auto resolved = scenario::resolve(catalog, scenario);
  if (!resolved) return fail(resolved.error());
  const training::Job& job = resolved->job;
  for (const LoggedStep& step : log.steps)
    if (step.global_batch && *step.global_batch != job.global_batch)
      return fail(error(Code::bad_measurement, in_file(log.file, step.line),
                        fmt::format("the log's global batch is {}, the scenario's {}",
                                    *step.global_batch, job.global_batch),
                        "--set workload.global_batch=N where it is of the same run"));
  const CsvCells common = training_cells_of(log, scenario, job);
  std::vector<CsvCells> rows;
  const auto add = [&](const char* metric, const std::optional<double>& value, const char* unit) {
    if (!value) return;
    CsvCells row = common;
    set_cell(row, "id", fmt::format("{}-{}", stem_of(log.file), metric));
    set_cell(row, "metric", metric);
    set_cell(row, "value", fmt::format("{:.6g}", *value));
    set_cell(row, "unit", unit);
    rows.push_back(std::move(row));
  };
  add("step_time", log.step_time ? std::optional(log.step_time->value()) : std::nullopt, "s");
  add("throughput", log.tokens_per_second_per_gpu, "tokens/s/GPU");
  add("model_flops_rate", log.tflops_per_gpu, "TFLOP/s/GPU");
  if (rows.empty())
    return fail(error(Code::bad_measurement, in_file(log.file), "no step says how long it took"));
  std::string text = csv_lines(rows);

  // Nothing of the job may be lost on the way.
  const auto table = CsvTable::parse(text, log.file);
  if (!table) return fail(table.error());
  const ReadJob back = read_training_job(catalog, *table, 0);
  const std::string missing = back.skipped.empty() ? lost(job, back.job.job) : back.skipped;
  if (missing.empty()) return text;
  return fail(error(Code::unsupported_feature, in_file(log.file),
                    fmt::format("a row of measurements cannot describe this job: {}", missing),
                    "flowplan run of the scenario still predicts it"));
}

Result<std::string> serving_lines(const catalog::Catalog& catalog, const FrameworkLog& log,
                                  const scenario::Scenario& scenario) {
  const ServedBenchmark& bench = *log.bench;
  const scenario::ServingSection& serving = *scenario.serving;
  if (serving.disaggregated())
    return fail(error(Code::unsupported_feature, in_file(log.file),
                      "rows of disaggregated deployments are not written"));
  const auto known = std::find_if(
      catalog.transformers().begin(), catalog.transformers().end(),
      [&](const model::Transformer& model) { return model.name == serving.model.name; });
  if (known == catalog.transformers().end())
    return fail(error(Code::unsupported_feature, in_file(log.file),
                      "a row of measurements names a model of the catalog",
                      "--catalog FILE adds yours"));
  const inference::Layout& layout = serving.layout;
  const int ranks = layout.gpus() / std::max(1, layout.pp);
  const auto count = [](auto value) { return std::to_string(value); };
  const auto number = [](double value) { return fmt::format("{:.6g}", value); };
  const std::string engine = serving.engine.value_or("vllm");
  const std::string precision =
      serving.weights ? std::string(inference::name(*serving.weights)) : "bf16";
  const std::string& instance = scenario.cluster.instance->id;
  const auto ttft = bench.ttft_mean ? bench.ttft_mean : bench.ttft_median;
  const auto tpot = bench.tpot_mean ? bench.tpot_mean : bench.tpot_median;
  const auto ms = [&](const std::optional<Seconds>& time) {
    return time ? number(time->value() * 1e3) : std::string();
  };
  const std::string input = count(std::llround(bench.input_tokens));
  const std::string output = count(std::llround(bench.output_tokens));
  if (bench.concurrency && !bench.rate_per_s) {
    return csv_lines({{{"id", stem_of(log.file)},
                       {"origin", own_source(log)},
                       {"engine", engine},
                       {"model", serving.model.name},
                       {"gpu", instance},
                       {"precision", precision},
                       {"mode", "agg"},
                       {"isl", input},
                       {"osl", output},
                       {"concurrency", count(*bench.concurrency)},
                       {"batch_size", count(*bench.concurrency)},
                       {"gpus", count(ranks)},
                       {"tp", count(layout.tp)},
                       {"pp", count(layout.pp)},
                       {"dp", count(layout.attention_dp)},
                       {"ep", count(layout.ep)},
                       {"parallel_notes", ""},
                       {"ttft_ms", ms(ttft)},
                       {"tpot_ms", ms(tpot)},
                       {"source", own_source(log)}}});
  }
  if (!bench.rate_per_s)
    return fail(error(Code::unsupported_feature, in_file(log.file),
                      "a benchmark that sends all requests at once has no steady state",
                      "run it with --max-concurrency or --request-rate"));
  std::vector<CsvCells> rows;
  const auto add = [&](const char* metric, const std::optional<Seconds>& value) {
    if (!value) return;
    rows.push_back(
        {{"id", stem_of(log.file)},
         {"source", own_source(log)},
         {"gpu", instance},
         {"instance", instance},
         {"gpus", count(layout.tp)},
         {"tp", count(layout.tp)},
         {"model", serving.model.name},
         {"engine", engine},
         {"max_num_batched_tokens", serving.token_budget ? count(*serving.token_budget) : ""},
         {"max_num_seqs", serving.max_sequences ? count(*serving.max_sequences) : ""},
         {"precision", precision},
         {"workload_name", ""},
         {"arrival_rate_rps", number(*bench.rate_per_s)},
         {"num_requests", count(bench.requests)},
         {"isl_mean", input},
         {"osl_mean", output},
         {"prefix_tokens", ""},
         {"metric", metric},
         {"value", ms(value)},
         {"unit", "ms"},
         {"notes", ""}});
  };
  add("ttft_mean", bench.ttft_mean);
  add("ttft_p50", bench.ttft_median);
  add("tpot_mean", bench.tpot_mean);
  add("tpot_p50", bench.tpot_median);
  return csv_lines(rows);
}

}  // namespace

Result<std::string> measurement_rows(const catalog::Catalog& catalog, const FrameworkLog& log,
                                     const scenario::Scenario& scenario) {
  const bool serves = scenario.serving.has_value();
  if (serves != log.bench.has_value())
    return fail(error(Code::wrong_kind_of_file, in_file(log.file),
                      serves ? "a training log, and the scenario is of serving"
                             : "a benchmark of serving, and the scenario is of training"));
  return serves ? serving_lines(catalog, log, scenario) : training_lines(catalog, log, scenario);
}

}  // namespace flowplan::accuracy
