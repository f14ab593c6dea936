#pragma once

#include <string>

#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario {

/// Fills in what the answer was made with: versions, profiles, figures with their sources, the
/// uncertainty band, and the warnings that follow from them.
void add_trace(const catalog::Catalog& catalog, const Scenario& scenario,
               const std::string& program_version, Answer& answer);

/// The scenario's fingerprint, whatever its layout on the page, as 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint_of(const Scenario& scenario);

}  // namespace flowplan::scenario
