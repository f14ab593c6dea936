#pragma once

#include <vector>

#include "command.hpp"
#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::cli {

/// The options that stand for values of a scenario: --model, --instance, --nodes, ...
[[nodiscard]] std::vector<Option> scenario_options();

/// The scenario that a command line means: its file, or the smallest one that its options describe,
/// with the options and every --set applied.
[[nodiscard]] Result<JsonDocument> scenario_from(const Arguments& arguments,
                                                 const JsonDocument& schema,
                                                 std::string_view command);

/// Runs a scenario that `load_scenario` read. Errors about an overridden value stand at its option
/// or
/// --set.
[[nodiscard]] Result<scenario::Answer> answer_to(const Arguments& arguments,
                                                 const catalog::Catalog& catalog,
                                                 const scenario::Scenario& scenario);

/// Reads that scenario with the catalog's schema and runs it. Errors about an overridden value
/// stand at its option or --set.
[[nodiscard]] Result<scenario::Answer> answer_from(const Arguments& arguments,
                                                   const Session& session,
                                                   const catalog::Catalog& catalog,
                                                   std::string_view command);

/// Reads that scenario with the catalog's schema.
[[nodiscard]] Result<scenario::Scenario> load_scenario(const Arguments& arguments,
                                                       const Session& session,
                                                       const catalog::Catalog& catalog,
                                                       std::string_view command);

}  // namespace flowplan::cli
