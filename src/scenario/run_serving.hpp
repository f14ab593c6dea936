#pragma once

#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario {

/// The answer to a scenario with `serving`. A deployment that does not fit, or limits below what
/// one request alone takes, is an answer without latencies. Errors with places: layouts (FP070 to
/// FP072), what the GPU has no kernels for (FP073), loads and traces (FP024).
[[nodiscard]] Result<Answer> run_serving(const catalog::Catalog& catalog, const Scenario& scenario,
                                         const std::string& program_version, Depth depth);

}  // namespace flowplan::scenario
