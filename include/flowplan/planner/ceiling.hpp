#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "flowplan/scenario/run.hpp"

namespace flowplan::planner {

/// Metrics that have a ceiling (of a time or a cost: a floor) in the same answer, by what they are
/// held against: every tensor core at its dense peak (training.step_time, tokens_per_second and its
/// share of a GPU, model_tflops_per_gpu), a run without failures (operations.tokens_per_second,
/// effective_mfu, days, cost_usd), a saturated fleet (inference.requests_per_second,
/// output_tokens_per_second), one request alone on an idle fleet (inference.ttft_* and tpot_*).
[[nodiscard]] std::span<const std::string_view> metrics_with_ceiling();

/// What the metric could be at best, in its unit; nothing for a metric without a ceiling, or where
/// the answer does not have what the ceiling is made of.
[[nodiscard]] std::optional<double> ceiling_of(std::string_view metric,
                                               const scenario::Answer& answer);

}  // namespace flowplan::planner
