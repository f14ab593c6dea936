#pragma once

#include <string>
#include <vector>

#include "arguments.hpp"
#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/report/sizing.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::cli {

/// Whether a command line asks for a full report: --full, or HTML on standard output or in a file.
[[nodiscard]] bool wants_full_report(const Arguments& arguments);

/// What a full report shows beside the answer of a scenario: the cluster's picture (in a build with
/// Graphviz), the step's timeline, the course of the goodput, the sensitivity. Where a workload
/// does not fit, the picture alone.
[[nodiscard]] Result<report::SizingDetails> report_details(const catalog::Catalog& catalog,
                                                           const JsonDocument& schema,
                                                           const scenario::Scenario& scenario,
                                                           const scenario::Answer& answer);

/// The full report of a search's best candidate: `searched` with that candidate's `overrides`, run.
/// Errors: those of the scenario.
[[nodiscard]] Result<report::Document> candidate_report(const catalog::Catalog& catalog,
                                                        const JsonDocument& schema,
                                                        const JsonDocument& searched,
                                                        const std::vector<std::string>& overrides);

}  // namespace flowplan::cli
