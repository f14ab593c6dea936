#pragma once

#include <vector>

#include "flowplan/report/sizing.hpp"

namespace flowplan::report {

// Parts of a full report that are not in the answer.

/// `step`: as it was estimated.
[[nodiscard]] Section timeline_section(const training::StepTimeline& timeline, Seconds step);
[[nodiscard]] Section course_section(const std::vector<operations::CoursePoint>& course);
/// A ranking with its tornado for each of `metrics` (those that the sensitivity names when it is
/// empty), then what could not be changed.
[[nodiscard]] std::vector<Section> sensitivity_sections(
    const planner::Sensitivity& sensitivity, const std::vector<std::string>& metrics = {},
    std::size_t most_rows = 12);

}  // namespace flowplan::report
