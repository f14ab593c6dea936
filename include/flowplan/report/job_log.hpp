#pragma once

#include <string>

#include "flowplan/operations/job_statistics.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// GPU hours, waits, sizes and ends of a scheduler's jobs, and the failure rate that
/// `operations.failures` takes.
[[nodiscard]] Document job_log(const operations::JobLog& log,
                               const operations::JobStatistics& statistics);
[[nodiscard]] std::string job_log_json(const operations::JobLog& log,
                                       const operations::JobStatistics& statistics);

}  // namespace flowplan::report
