#pragma once

#include <string>

#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/simulate.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// When each flow of a case ended and what each link carried.
[[nodiscard]] Document flow(const flow::Case& flow_case, const flow::Completion& completion);
/// `makespan_s`, `flows[] {id, end_s, bottleneck}`, `links[] {id, name, bytes, utilisation}`.
[[nodiscard]] std::string flow_json(const flow::Case& flow_case,
                                    const flow::Completion& completion);

}  // namespace flowplan::report
