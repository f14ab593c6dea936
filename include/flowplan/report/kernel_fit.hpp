#pragma once

#include <string>

#include "flowplan/accuracy/kernel_fit.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

[[nodiscard]] Document kernel_fit(const accuracy::KernelFitReport& report);
[[nodiscard]] std::string kernel_fit_json(const accuracy::KernelFitReport& report);

}  // namespace flowplan::report
