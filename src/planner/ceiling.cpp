#include "flowplan/planner/ceiling.hpp"

#include <algorithm>
#include <array>

namespace flowplan::planner {

namespace {

constexpr std::array<std::string_view, 20> with_ceiling{"training.step_time",
                                                        "training.tokens_per_second",
                                                        "training.tokens_per_second_per_gpu",
                                                        "training.model_tflops_per_gpu",
                                                        "training.mfu",
                                                        "operations.tokens_per_second",
                                                        "operations.effective_mfu",
                                                        "operations.days",
                                                        "operations.cost_usd",
                                                        "inference.requests_per_second",
                                                        "inference.output_tokens_per_second",
                                                        "inference.ttft_mean",
                                                        "inference.ttft_p50",
                                                        "inference.ttft_p90",
                                                        "inference.ttft_p99",
                                                        "inference.tpot_mean",
                                                        "inference.tpot_p50",
                                                        "inference.tpot_p90",
                                                        "inference.tpot_p99",
                                                        "operations.uptime"};

std::optional<double> value_of(const scenario::Answer& answer, std::string_view metric) {
  const double* value = answer.estimate.value(metric);
  return value == nullptr ? std::nullopt : std::optional<double>(*value);
}

/// The metric times what a share of 1 would make of it.
std::optional<double> at_full(std::optional<double> value, std::optional<double> share) {
  if (!value || !share || *share <= 0.0) return std::nullopt;
  return *value / *share;
}

std::optional<double> of_training(std::string_view metric, const scenario::Answer& answer) {
  const auto mfu = value_of(answer, "training.mfu"), value = value_of(answer, metric);
  if (metric == "training.mfu") return value ? std::optional<double>(1.0) : std::nullopt;
  if (metric != "training.step_time") return at_full(value, mfu);
  if (!value || !mfu) return std::nullopt;
  return *value * *mfu;
}

std::optional<double> of_operations(std::string_view metric, const scenario::Answer& answer) {
  if (metric == "operations.uptime") return 1.0;
  if (metric == "operations.effective_mfu") return value_of(answer, "training.mfu");
  // The names behind the dot are those of the run at 100 % goodput.
  constexpr std::string_view own = "operations.";
  return value_of(answer, std::string("training.") + std::string(metric.substr(own.size())));
}

std::optional<double> of_serving(std::string_view metric, const scenario::Answer& answer) {
  if (!answer.serving) return std::nullopt;
  if (metric.starts_with("inference.ttft")) return answer.serving->ttft_floor.value();
  if (metric.starts_with("inference.tpot")) return answer.serving->tpot_floor.value();
  const auto saturated = value_of(answer, "inference.saturation_requests_per_second");
  const auto now = value_of(answer, "inference.requests_per_second");
  if (!saturated || !now || *now <= 0.0) return std::nullopt;
  if (metric == "inference.requests_per_second") return saturated;
  return at_full(value_of(answer, metric), *now / *saturated);
}

}  // namespace

std::span<const std::string_view> metrics_with_ceiling() {
  return with_ceiling;
}

std::optional<double> ceiling_of(std::string_view metric, const scenario::Answer& answer) {
  if (std::find(with_ceiling.begin(), with_ceiling.end(), metric) == with_ceiling.end())
    return std::nullopt;
  if (metric.starts_with("training.")) return of_training(metric, answer);
  if (metric.starts_with("operations.")) return of_operations(metric, answer);
  return of_serving(metric, answer);
}

}  // namespace flowplan::planner
