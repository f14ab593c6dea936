#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/export/plan.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::exporting {

/// What a writer may use.
struct ExportRequest {
  const Plan* plan = nullptr;                         ///< none for a sweep
  const scenario::Answer* answer = nullptr;           ///< where the target needs the prediction
  std::optional<double> ratio;                        ///< of alerts
  std::optional<long long> timestamp;                 ///< of OpenMetrics samples
  const scenario::ServingSection* serving = nullptr;  ///< of a scenario that serves
  std::string scenario_path;                          ///< as typed
  std::string scenario_text;
  std::string slug;  ///< of a sweep
  int shards = 8;
  std::vector<std::string> sweep_options;  ///< typed: --set and --vary
};

/// What a target takes beside the scenario. `training`: the plan with the job that trains, which
/// fine-tuning's answer has. `job`: the same, and of a serving scenario the answer.
enum class TargetNeeds { plan, training, job, answer, sweep };

/// One format to export to.
struct Target {
  std::string_view name;
  std::string_view about;  ///< one line
  TargetNeeds needs = TargetNeeds::plan;
  Result<std::vector<WrittenFile>> (*write)(const ExportRequest& request) = nullptr;
};

/// All of them, in the order of the help.
[[nodiscard]] const std::vector<Target>& targets();
[[nodiscard]] const Target* find_target(std::string_view name);

}  // namespace flowplan::exporting
