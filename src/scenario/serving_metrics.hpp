#pragma once

#include <string>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario {

/// The `inference.*` metrics of an answer with `serving`.
void add_serving_metrics(Answer& answer);
/// Versions, profiles and figures with their sources.
void add_serving_trace(const catalog::Catalog& catalog, const Scenario& scenario,
                       const std::string& program_version, Answer& answer);

}  // namespace flowplan::scenario
