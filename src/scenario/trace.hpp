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

/// 64-bit FNV-1a of a text as 16 hexadecimal digits.
[[nodiscard]] std::string fingerprint(const std::string& text);

}  // namespace flowplan::scenario
