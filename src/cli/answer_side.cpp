#include "answer_side.hpp"

#include <utility>

#include "fault_place.hpp"
#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"
#include "input.hpp"

namespace flowplan::cli {

Result<planner::Side> answer_side(const catalog::Catalog& catalog, const JsonDocument& schema,
                                  const std::string& path,
                                  const std::vector<std::string>& overrides,
                                  std::string_view command) {
  auto document = JsonDocument::read(path);
  if (!document) return fail(std::move(document.error()));
  if (kind_of(*document) == FileKind::result) return planner::side_of(*document);
  auto scenario_file = read_input(path, FileKind::scenario, command);
  if (!scenario_file) return fail(std::move(scenario_file.error()));
  const auto located = [&](const Diagnostics& faults) {
    return placed_in(scenario::at_overrides(faults, overrides), path);
  };
  const auto overridden = scenario::with_overrides(*scenario_file, schema, overrides);
  if (!overridden) return fail(overridden.error());
  const auto scenario = scenario::read(catalog, *overridden, schema);
  if (!scenario) return fail(located(scenario.error()));
  const auto answer = scenario::run(catalog, *scenario, FLOWPLAN_VERSION);
  if (!answer) return fail(located(answer.error()));
  return planner::side_of(*scenario, *answer);
}

}  // namespace flowplan::cli
