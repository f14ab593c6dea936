#pragma once

#include <string>

#include "flowplan/accuracy/training_fit.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// What a fit of whole training steps found: figures before and after; errors of each part before,
/// after, with half of the groups left out and with the source left out.
[[nodiscard]] Document training_fit(const accuracy::StepFitReport& report);
[[nodiscard]] std::string training_fit_json(const accuracy::StepFitReport& report);

}  // namespace flowplan::report
