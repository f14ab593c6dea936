#pragma once

#include <vector>

#include "flowplan/posttraining/reinforcement.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// The pools of an RL step with what they leave idle, and a picture of their time in letters; then
/// their timeline drawn, with its numbers.
[[nodiscard]] std::vector<Section> rl_pool_sections(const posttraining::RlStep& rl);

}  // namespace flowplan::report
