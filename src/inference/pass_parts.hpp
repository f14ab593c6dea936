#pragma once

#include "flowplan/inference/step_table.hpp"

namespace flowplan::inference {

/// What of a pass does not depend on the context of decode sequences.
struct PassParts {
  double gpu_s = 0.0;  ///< without decode attention and gap
  double host_s = 0.0;
};
[[nodiscard]] PassParts pass_parts(const StepTable& table, const StepLoad& load);

}  // namespace flowplan::inference
