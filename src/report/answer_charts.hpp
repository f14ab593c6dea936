#pragma once

#include <vector>

#include "flowplan/report/chart.hpp"
#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::report {

// Charts of an answer's parts. The tables beside them say the same numbers.

/// A time's leaves, coloured by what limits them, under a bar of the whole. `title` names it.
[[nodiscard]] Chart breakdown_chart(const Breakdown& time, const std::string& title);
/// Stages that are alike share a bar.
[[nodiscard]] Chart training_memory_chart(const training::Iteration& iteration);
[[nodiscard]] Chart links_chart(const scenario::Answer& answer);
[[nodiscard]] Chart fabric_chart(const scenario::Answer& answer);
/// What the budget or an hour costs under each purchase model; nothing without prices.
[[nodiscard]] std::vector<Chart> price_charts(const scenario::Answer& answer);
/// Where wall time goes, in days.
[[nodiscard]] Chart wall_time_chart(const Breakdown& time);
[[nodiscard]] Chart run_cost_chart(const scenario::Answer& answer,
                                   const scenario::OperationsAnswer& run);

[[nodiscard]] Chart serving_memory_chart(const inference::ServingMemory& memory);
[[nodiscard]] Chart latency_chart(const inference::Summary& summary);
/// Latencies over the request rate: first token, further tokens.
[[nodiscard]] std::vector<Chart> capacity_charts(const scenario::ServingAnswer& serving,
                                                 const Band& band);

/// Figures that a decision is made by, and whether it can be done.
[[nodiscard]] std::vector<Highlight> answer_highlights(const scenario::Answer& answer);
[[nodiscard]] Verdict answer_verdict(const scenario::Answer& answer);
/// Every metric with its exact value, unit, range and meaning.
[[nodiscard]] Table metric_table(const Estimate& estimate);

}  // namespace flowplan::report
