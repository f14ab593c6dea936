#pragma once

#include <optional>
#include <string>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario {

/// What a save and a restore take, where something else than `operations` says it.
struct KnownCheckpoint {
  Bytes bytes{};
  Seconds stall{}, persist{}, restore{};  ///< `persist`: after the stall
  std::string from;                       ///< for the report: "storage"
};

/// The steps that failures interrupt.
struct InterruptedWork {
  double gpus = 0.0;  ///< that take part; the cluster's others stand idle
  Seconds step{};
  double tokens_per_second = 0.0;
  std::optional<double> mfu;  ///< where the steps have one
  double parameters = 0.0;    ///< that a checkpoint holds with their optimiser's states
};

/// Those of a pretraining answer.
[[nodiscard]] InterruptedWork interrupted_work(const Answer& answer);

/// Fills in `answer.operations`, its metrics, defaults and warnings; the scenario has `operations`
/// and the answer is feasible and has its budget and costs. What the section states goes before
/// `known`. Errors with places: FP021 where nobody says what a save takes, FP074 for an interval
/// shorter than the save, FP075 where the purchase is refused.
[[nodiscard]] Diagnostics add_operations(const catalog::Catalog& catalog, const Scenario& scenario,
                                         const InterruptedWork& work,
                                         const std::optional<KnownCheckpoint>& known,
                                         Answer& answer);

}  // namespace flowplan::scenario
