#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::accuracy {

/// One step as a training framework prints it; what its line does not say has no value.
struct LoggedStep {
  std::int64_t step = 0;
  std::optional<Seconds> time;
  std::optional<double> tokens_per_second_per_gpu;
  std::optional<double> tflops_per_gpu;  ///< model FLOP/s by the framework's own count, 10^12
  std::optional<std::int64_t> global_batch;
  int line = 0;
};

/// What a benchmark of a serving engine measured.
struct ServedBenchmark {
  std::string engine, model;                       ///< as it names them
  std::optional<int> concurrency;                  ///< of a closed loop
  std::optional<double> rate_per_s;                ///< of an open one; nothing: all at once
  std::uint64_t requests = 0;                      ///< that were answered
  double input_tokens = 0.0, output_tokens = 0.0;  ///< of a mean request
  std::optional<Seconds> ttft_mean, ttft_median, tpot_mean, tpot_median;
};

enum class LogKind { megatron, megatron_bridge, torchtitan, vllm_bench };
[[nodiscard]] std::string_view name(LogKind kind);  ///< "Megatron-LM", ...

/// A log of a framework or of an engine's benchmark.
struct FrameworkLog {
  std::string file;
  LogKind kind{};
  std::vector<LoggedStep> steps;  ///< in order
  std::optional<ServedBenchmark> bench;
  std::size_t warm_up = 0;  ///< steps that are left out of what follows
  /// Medians over the other steps.
  std::optional<Seconds> step_time;
  std::optional<double> tokens_per_second_per_gpu, tflops_per_gpu;
};

/// Reads a training log of Megatron-LM or Megatron-Bridge or torchtitan (colours and the names that
/// launchers put before lines are passed over), or the JSON of `vllm bench serve --save-result`.
/// The first tenth of the steps, at least one, is warm-up where there are several. Errors FP016 for
/// another file, FP082 for numbers that cannot be or a log without a step, those of JsonDocument.
[[nodiscard]] Result<FrameworkLog> parse_framework_log(std::string text, const std::string& file);
[[nodiscard]] Result<FrameworkLog> read_framework_log(const std::string& path);

/// What the log measured as rows of a file that `validate` reads, of the job or deployment of a
/// scenario: a training row for each of step time, tokens/s and FLOP/s that the log has; for a
/// benchmark in a closed loop a point of latency, in an open loop one row a metric. Errors: FP016
/// for a training log with a serving scenario or the other way round, FP082 for a batch or model
/// that is not the scenario's, FP073 for a job that a row cannot describe, those of
/// scenario::resolve.
[[nodiscard]] Result<std::string> measurement_rows(const catalog::Catalog& catalog,
                                                   const FrameworkLog& log,
                                                   const scenario::Scenario& scenario);

}  // namespace flowplan::accuracy
