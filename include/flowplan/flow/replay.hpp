#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/case.hpp"
#include "flowplan/flow/fold.hpp"
#include "flowplan/flow/simulate.hpp"

namespace flowplan::flow {

/// What happens in a case, with tasks or without. Flows of tasks are those of the first run of
/// their task.
struct Replay {
  Completion flows;  ///< its makespan is that of the whole case
  std::vector<double> flow_start_s;
  std::vector<double> task_start_s, task_end_s;  ///< per task; start is before the delay
  FoldSummary folding;
};

/// Simulates a case. Error FP050: tasks wait for each other.
[[nodiscard]] Result<Replay> replay(const Case& flow_case, Folding folding = Folding::automatic);

/// Solves the flows that start first and checks their rates against the definition, to 1e-9:
/// nothing, or what `refute()` says.
[[nodiscard]] std::optional<std::string> refute_first_rates(const Case& flow_case,
                                                            const Replay& replay,
                                                            Folding folding = Folding::automatic);

}  // namespace flowplan::flow
