#pragma once

#include "flowplan/scenario/run.hpp"

namespace flowplan::scenario {

/// What a feasible post-training step puts on the links of the whole cluster: its updates, and the
/// weights that go to the engines.
[[nodiscard]] LinkLoads posttraining_links(const Answer& answer);

}  // namespace flowplan::scenario
