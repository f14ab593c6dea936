#pragma once

#include "flowplan/base/result.hpp"
#include "flowplan/training/timeline.hpp"
#include "step_times.hpp"

namespace flowplan::training {

/// The step with its pipeline played through as a task graph, pass by pass, instead of by the
/// closed form.
[[nodiscard]] Result<Seconds> simulated_step(const StepTimes& times, const Job& job);
/// The same with its passes.
[[nodiscard]] Result<StepTimeline> played_step(const StepTimes& times, const Job& job);

}  // namespace flowplan::training
