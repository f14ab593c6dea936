#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/operations/course.hpp"
#include "flowplan/planner/sensitivity.hpp"
#include "flowplan/report/document.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/training/timeline.hpp"

namespace flowplan::report {

/// What a full report shows beside the answer; each part may be missing.
struct SizingDetails {
  std::string picture;  ///< of the cluster, SVG
  std::optional<training::StepTimeline> timeline;
  std::vector<operations::CoursePoint> course;  ///< of the run's goodput
  std::optional<planner::Sensitivity> sensitivity;
};

/// The sizing report of an answer: what it comes to first, then its parts.
[[nodiscard]] Document sizing(const scenario::Answer& answer, const SizingDetails& details = {});

/// The whole answer as JSON (catalogs/schema/result.schema.json): fixed key order, SI units in the
/// key names, no timestamps. Carries the report (`saved_document`). Ends with a newline.
[[nodiscard]] std::string sizing_json(const scenario::Answer& answer,
                                      const SizingDetails& details = {});

/// Where the numbers come from: the step's formulas, the figures with their sources. With `metric`
/// only what that metric is.
[[nodiscard]] Document explanation(const scenario::Answer& answer, const std::string& metric = {});

}  // namespace flowplan::report
