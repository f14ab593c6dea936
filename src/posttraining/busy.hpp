#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/inference/request.hpp"
#include "flowplan/inference/serve.hpp"

namespace flowplan::posttraining {

/// When each task of a run ended. Error FP024 when the engine refused one of its requests.
[[nodiscard]] Result<std::vector<double>> task_ends(const inference::Workload& workload,
                                                    const inference::ServeRun& run);

/// Seconds in [from, to) that replicas had requests, summed over them.
[[nodiscard]] double busy_time(const inference::RequestRecords& records, std::uint32_t replicas,
                               double from_s, double to_s);

}  // namespace flowplan::posttraining
