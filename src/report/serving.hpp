#pragma once

#include <vector>

#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"
#include "json_format.hpp"

namespace flowplan::report {

/// What an answer with `serving` comes to.
[[nodiscard]] Section serving_summary(const scenario::Answer& answer);
/// Latencies, load against latency, memory; only memory when it does not fit.
[[nodiscard]] std::vector<Section> serving_sections(const scenario::Answer& answer);
[[nodiscard]] Json serving_workload_json(const scenario::Answer& answer);
/// Null when it does not fit.
[[nodiscard]] Json serving_json(const scenario::Answer& answer);
[[nodiscard]] Json serving_memory_json(const scenario::ServingAnswer& serving);

}  // namespace flowplan::report
