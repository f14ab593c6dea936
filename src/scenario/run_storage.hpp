#pragma once

#include <optional>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/resolve.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "run_operations.hpp"

namespace flowplan::scenario {

/// Fills in `answer.storage`: what reading and saving cost the step, by how much the persisting
/// slows collectives on shared devices, whether all of it fits. Adds it to `answer.iteration`
/// (step, speeds and breakdown; the stall of saves is left to `operations` where the scenario has
/// that section) and to its memory verdict. The scenario has `storage`, the answer its iteration,
/// which fits. Returns what `operations` wants to know of the checkpoint. Errors with places.
[[nodiscard]] Result<std::optional<KnownCheckpoint>> add_storage(const catalog::Catalog& catalog,
                                                                 const Scenario& scenario,
                                                                 const Resolved& resolved,
                                                                 Answer& answer);

/// The storage metrics of an answer that has `storage`.
void add_storage_metrics(const Answer& answer, Estimate& estimate);

}  // namespace flowplan::scenario
