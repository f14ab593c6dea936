#pragma once

#include <string>

#include "flowplan/scenario/run.hpp"

namespace flowplan::scenario {

/// The answer to a scenario with `posttraining`. Errors: what is wrong with it, with places. A job
/// that does not fit is an answer without speeds. `like`: as `run`.
[[nodiscard]] Result<Answer> run_posttraining(const catalog::Catalog& catalog,
                                              const Scenario& scenario,
                                              const std::string& program_version,
                                              const Answer* like);

}  // namespace flowplan::scenario
