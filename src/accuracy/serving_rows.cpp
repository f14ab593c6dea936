#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "flowplan/accuracy/validate.hpp"
#include "serving_job.hpp"
#include "serving_run.hpp"

namespace flowplan::accuracy {

namespace {

using inference::Arrivals;
using inference::Load;
using inference::TokenCount;

constexpr double serving_ms = 1e3;

std::vector<std::pair<std::string, std::string>> groups_of(const CsvTable& table, std::size_t row,
                                                           const ServingJob& job) {
  const bool known = job.instance != nullptr && job.model != nullptr;
  return {{"source", table.text(row, "source")},
          {"gpu", table.text(row, "gpu")},
          {"engine", job.engine.empty() ? table.text(row, "engine") : job.engine},
          {"model", known ? job.model->name : table.text(row, "model")}};
}

// ---- closed-loop points

/// The client sees the first token with the N-th of the stream.
double stream_interval(const ServingBench& bench, const ServingJob& job) {
  const bool deepseek = job.model->name.starts_with("deepseek");
  if (!job.inferencex) return 1.0;
  if (job.engine == "sglang") {
    return deepseek || job.model->linear_attention ? bench.harness("stream.sglang_tokens") : 1.0;
  }
  if (job.engine != "trtllm") return 1.0;
  if (deepseek) return bench.harness("stream.trtllm_latent_tokens");
  const inference::Layout& layout = job.decode.layout;
  constexpr int few = 4;
  const bool streamed = job.model->experts ? layout.attention_dp > 1 : layout.tp <= few;
  return streamed && job.input_tokens == job.output_tokens
             ? bench.harness("stream.trtllm_short_tokens")
             : 1.0;
}

Load closed_loop(const ServingBench& bench, const ServingJob& job) {
  Load load;
  load.arrivals.kind = Arrivals::Kind::closed_loop;
  load.arrivals.concurrency = static_cast<std::uint32_t>(job.concurrency);
  const double most = std::max(bench.harness("closed_loop.most_requests"), 2.0 * job.concurrency);
  load.tasks = static_cast<std::uint32_t>(
      std::min(most, job.concurrency * bench.harness("closed_loop.requests_per_client")));
  // Equal lengths keep SGLang's requests in step; other engines stagger them.
  const double spread =
      job.prefill_first ? 0.0 : bench.harness("closed_loop.length_spread_fraction");
  load.input = {TokenCount::Kind::below, job.input_tokens * 1.0, spread};
  load.output = {TokenCount::Kind::below, job.output_tokens * 1.0, spread};
  return load;
}

struct ClosedLoopPoint {
  std::optional<double> ttft_ms, tpot_ms;
  std::string skipped;
};

ClosedLoopPoint predict_point(ServingBench& bench, const ServingJob& job) {
  ClosedLoopPoint point;
  const Load load = closed_loop(bench, job);
  const auto served = bench.run(job, load);
  if (!served) {
    point.skipped = served.error().front().message;
    return point;
  }
  if (served->tpot.empty()) {
    point.skipped = "no request finishes";
    return point;
  }
  const double interval = stream_interval(bench, job);
  const double tpot = Served::mean(served->tpot);
  const double output = job.output_tokens * (1.0 - load.output.spread / 2.0);
  point.ttft_ms = serving_ms * (Served::mean(served->ttft) + (interval - 1.0) * tpot);
  point.tpot_ms = serving_ms * tpot * (output - interval) / (output - 1.0);
  return point;
}

}  // namespace

std::vector<Row> serving_latency_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  ServingBench bench(catalog);
  std::vector<Row> rows;
  rows.reserve(2 * table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const ServingJob job = read_latency_job(catalog, table, i);
    Row row;
    row.id = table.text(i, "id").empty() ? std::to_string(i) : table.text(i, "id");
    row.by = groups_of(table, i, job);
    row.by.emplace_back("group", job.group());
    ClosedLoopPoint point;
    point.skipped = job.skipped;
    if (job.skipped.empty()) point = predict_point(bench, job);
    const std::string part = job.disaggregated() ? "disaggregated"
                             : job.inferencex    ? "aggregated"
                                                 : "aggregated, other lengths";
    for (const bool first : {true, false}) {
      Row one = row;
      one.metric = first ? "ttft" : "tpot";
      one.by.emplace_back("part", fmt::format("{} {}", part, one.metric));
      const auto measured = table.number(i, first ? "ttft_ms" : "tpot_ms");
      one.measured = measured.value_or(0.0);
      if (one.measured <= 0.0) {
        one.skipped = "no measured value";
      } else if (!point.skipped.empty()) {
        one.skipped = point.skipped;
      } else {
        one.predicted = first ? point.ttft_ms : point.tpot_ms;
        if (!first && !job.disaggregated()) one.band = bench.band(job);
      }
      rows.push_back(std::move(one));
    }
  }
  return rows;
}

// ---- tables of throughput

namespace {

/// All requests queued at the start, as many as the tables' authors ran.
Load offline_load(const ServingBench& bench, const ServingJob& job) {
  constexpr int shortest = 128, middle = 3000, longest = 20000;
  Load load;
  load.arrivals.kind = Arrivals::Kind::closed_loop;
  double requests = bench.harness("offline.requests_long");
  if (job.input_tokens == shortest && job.output_tokens == shortest) {
    requests = bench.harness("offline.requests_128_128");
  } else if (job.input_tokens + job.output_tokens <= middle) {
    requests = bench.harness("offline.requests_short");
  } else if (job.input_tokens >= longest) {
    requests = bench.harness("offline.requests_longest");
  }
  load.tasks = static_cast<std::uint32_t>(requests);
  load.arrivals.concurrency = load.tasks;
  load.input = {TokenCount::Kind::fixed, job.input_tokens * 1.0, 0.0};
  load.output = {TokenCount::Kind::fixed, job.output_tokens * 1.0, 0.0};
  return load;
}

/// A stated number of clients, each asking again when it is answered.
Load stated_load(const ServingBench& bench, const ServingJob& job) {
  Load load = offline_load(bench, job);
  load.arrivals.concurrency = static_cast<std::uint32_t>(job.concurrency);
  constexpr double rounds = 3.0;
  load.tasks = static_cast<std::uint32_t>(std::ceil(job.concurrency * rounds));
  return load;
}

bool at_most_load(const CsvTable& table, std::size_t row) {
  const std::string& load = table.text(row, "batch_or_concurrency");
  return load.find("max") != std::string::npos;
}

/// Why a row of another metric or mode is not predicted; empty for those that are.
std::string not_offline(const CsvTable& table, std::size_t row, const ServingJob& job) {
  const std::string& metric = table.text(row, "metric");
  if (metric.starts_with("ttft") || metric.starts_with("tpot"))
    return "arrivals of a server row are not stated";
  if (table.text(row, "mode") != "offline") return "arrivals of a server row are not stated";
  if (table.text(row, "notes").find("cumulative optimisation") != std::string::npos)
    return "a step on the way to an engine's optimisation";
  if (!at_most_load(table, row) && !table.number(row, "batch_or_concurrency"))
    return "load stated as a target of the benchmark only";
  if (!job.skipped.empty()) return job.skipped;
  const bool speculative = table.text(row, "notes").find("MTP") != std::string::npos;
  if (speculative && job.draft_tokens == 0 && job.accepted_tokens <= 1.0 &&
      table.text(row, "notes").find("MTP depth") == std::string::npos)
    return "acceptance of the drafts not stated";
  return {};
}

/// The row's figure in its unit; nothing for another metric.
std::optional<double> offline_figure(const Served& served, const std::string& metric,
                                     const ServingJob& job) {
  if (metric == "output_throughput_total") return served.tokens_per_s;
  if (metric == "output_throughput_per_gpu") return served.tokens_per_s / job.decode.layout.gpus();
  if (metric == "output_throughput_per_user") return 1.0 / Served::mean(served.tpot);
  if (metric == "request_latency_mean") return serving_ms * Served::mean(served.e2e);
  return std::nullopt;
}

}  // namespace

std::vector<Row> serving_throughput_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  ServingBench bench(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const ServingJob job = read_throughput_job(catalog, table, i);
    Row row;
    row.id = table.text(i, "id").empty() ? std::to_string(i) : table.text(i, "id");
    row.metric = table.text(i, "metric");
    row.by = groups_of(table, i, job);
    const auto measured = table.number(i, "value");
    row.measured = measured.value_or(0.0);
    if (row.measured <= 0.0) {
      row.skipped = "no measured value";
    } else if (std::string other = not_offline(table, i, job); !other.empty()) {
      row.skipped = std::move(other);
    } else {
      row.by.emplace_back("part", job.model->experts ? "experts" : "dense");
      const auto served = bench.run(
          job, at_most_load(table, i) ? offline_load(bench, job) : stated_load(bench, job));
      if (!served) {
        row.skipped = served.error().front().message;
      } else {
        row.predicted = offline_figure(*served, row.metric, job);
        if (!row.predicted) row.skipped = "metric unknown: " + row.metric;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

// ---- open-loop runs

namespace {

bool says(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Prompts of the runs with prefix caching come from so many texts, which are cached after one pass
/// over them.
Load open_loop(const ServingBench& bench, const CsvTable& table, std::size_t row,
               const ServingJob& job) {
  const std::string& notes = table.text(row, "notes");
  const double rate = table.number(row, "arrival_rate_rps").value_or(0.0);
  Load load;
  load.arrivals.kind =
      says(notes, "constant arrivals") ? Arrivals::Kind::constant : Arrivals::Kind::poisson;
  load.arrivals.rate = {{0.0, rate}};
  constexpr double requests_unless_stated = 3000.0, fewest = 1500.0;
  load.tasks = static_cast<std::uint32_t>(
      std::max(fewest, table.number(row, "num_requests").value_or(requests_unless_stated)));
  load.input = {TokenCount::Kind::fixed, job.input_tokens * 1.0, 0.0};
  load.output = {TokenCount::Kind::fixed, job.output_tokens * 1.0, 0.0};
  if (table.number(row, "prefix_tokens").value_or(0.0) > 0.0) {
    load.shared_tokens = static_cast<std::uint32_t>(job.input_tokens);
    load.shared_texts = static_cast<std::uint32_t>(bench.harness("prefix.prompts"));
    load.block_tokens = static_cast<std::uint32_t>(bench.harness("prefix.block_tokens"));
  }
  return load;
}

/// Why a figure of a run cannot be compared with a steady state; empty when it can.
std::string not_steady(const CsvTable& table, std::size_t row) {
  const std::string& metric = table.text(row, "metric");
  const std::string& notes = table.text(row, "notes");
  if (metric.starts_with("itl") || says(metric, "as_recorded"))
    return "recorded per stream chunk, not per token";
  if (metric == "failed_requests" || says(metric, "nominal"))
    return fmt::format("metric {} is not of the engine", metric);
  if (says(notes, "survivors only")) return "overloaded run, survivors only";
  if (says(notes, "OVERLOADED") && metric != "requests_per_s" && metric != "tpot_mean" &&
      metric != "output_tokens_per_s")
    return "overloaded: the client capped the requests in flight";
  if (says(notes, "first 300 requests") && metric.starts_with("ttft"))
    return "start-up of the engine is in it";
  return {};
}

std::optional<double> figure_of(const Served& served, std::string_view metric) {
  const auto tail = metric.substr(metric.find('_') + 1);
  const std::vector<double>* values = metric.starts_with("ttft")   ? &served.ttft
                                      : metric.starts_with("e2e")  ? &served.e2e
                                      : metric.starts_with("tpot") ? &served.tpot
                                                                   : nullptr;
  if (metric == "requests_per_s") return served.requests_per_s;
  if (metric == "output_tokens_per_s") return served.tokens_per_s;
  if (values == nullptr) return std::nullopt;
  if (tail == "mean") return serving_ms * Served::mean(*values);
  const std::map<std::string_view, double> percentiles{
      {"p50", 0.5}, {"p90", 0.9}, {"p95", 0.95}, {"p99", 0.99}};
  const auto found = percentiles.find(tail);
  if (found == percentiles.end()) return std::nullopt;
  return serving_ms * Served::quantile(*values, found->second);
}

/// Runs each load once for all its rows.
class OpenLoopRuns {
 public:
  explicit OpenLoopRuns(const catalog::Catalog& catalog) : bench_(catalog) {}

  const Result<Served>& of(const CsvTable& table, std::size_t row, const ServingJob& job) {
    const auto found = runs_.find(table.text(row, "id"));
    if (found != runs_.end()) return found->second;
    return runs_.emplace(table.text(row, "id"), served(table, row, job)).first->second;
  }

 private:
  Result<Served> served(const CsvTable& table, std::size_t row, const ServingJob& job) {
    const Load load = open_loop(bench_, table, row, job);
    const double longest = load.input.mean + load.output.mean;
    constexpr double engine_limit = 1024.0;
    auto instance = bench_.instance(job, job.decode.layout, longest,
                                    job.max_sequences > 0 ? job.max_sequences : engine_limit);
    if (!instance) return fail(instance.error());
    instance->engine.prefix_caching = load.block_tokens > 0;
    return bench_.run(job, load, *instance);
  }

  ServingBench bench_;
  std::map<std::string, Result<Served>> runs_;
};

}  // namespace

std::vector<Row> serving_run_rows(const catalog::Catalog& catalog, const CsvTable& table) {
  OpenLoopRuns runs(catalog);
  std::vector<Row> rows;
  rows.reserve(table.rows());
  for (std::size_t i = 0; i < table.rows(); ++i) {
    const ServingJob job = read_run_job(catalog, table, i);
    Row row;
    row.id = table.text(i, "id").empty() ? std::to_string(i) : table.text(i, "id");
    row.metric = table.text(i, "metric");
    row.by = groups_of(table, i, job);
    row.by.emplace_back("part", row.metric);
    row.measured = table.number(i, "value").value_or(0.0);
    if (row.measured <= 0.0) {
      row.skipped = "no measured value";
    } else if (std::string other = not_steady(table, i); !other.empty()) {
      row.skipped = std::move(other);
    } else if (!job.skipped.empty()) {
      row.skipped = job.skipped;
    } else if (table.number(i, "arrival_rate_rps").value_or(0.0) <= 0.0) {
      row.skipped = "arrival rate not stated";
    } else {
      const Result<Served>& served = runs.of(table, i, job);
      if (!served) {
        row.skipped = served.error().front().message;
      } else {
        row.predicted = figure_of(*served, row.metric);
        if (!row.predicted) row.skipped = "metric unknown: " + row.metric;
      }
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace flowplan::accuracy
