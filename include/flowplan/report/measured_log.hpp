#pragma once

#include <string>

#include "flowplan/accuracy/compare_log.hpp"
#include "flowplan/accuracy/fit.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// Measured against expected for each size of an nccl-tests log, and the likely causes of a
/// shortfall. Sizes whose ratio is below `min_ratio` are marked (0: none), and those that are
/// faster than expected.
[[nodiscard]] Document log_comparison(const accuracy::LogComparison& comparison,
                                      const accuracy::NcclLog& log, double min_ratio);
[[nodiscard]] std::string log_comparison_json(const accuracy::LogComparison& comparison,
                                              const accuracy::NcclLog& log, double min_ratio);

/// What a fit found: figures before and after, errors before, after and with groups left out.
[[nodiscard]] Document fit(const accuracy::FitReport& report, const accuracy::FitInput& input);
[[nodiscard]] std::string fit_json(const accuracy::FitReport& report,
                                   const accuracy::FitInput& input);

}  // namespace flowplan::report
