#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// One way to run a step with rollouts.
struct PosttrainingCandidate {
  const catalog::Instance* instance = nullptr;
  int count = 0;
  posttraining::Placement placement{};
  std::uint32_t gpus = 0, rollout_gpus = 0;
  int engine_tp = 1;
  double step_s = 0.0, samples_per_s = 0.0;
  double trainer_idle = 0.0, rollout_idle = 0.0, staleness = 0.0;
  std::string limit;  ///< of the step
  std::optional<double> usd_per_step;
  std::optional<double> days, usd;  ///< of the run, where it has a number of steps
  std::string lost;                 ///< why it is not ranked; empty when it is
};

struct PosttrainingPlan {
  std::string model, method;
  scenario::Objective objective{};
  std::vector<PosttrainingCandidate> ranked;   ///< the best first
  std::vector<PosttrainingCandidate> refused;  ///< do not fit, or break a limit of the search
};

/// The best placement and split of a step with rollouts. Searched: clusters (`search.instances`,
/// `search.counts`, else the scenario's), placements (all, or the one that `workload.pools`
/// states), GPUs that generate (eighths of all, or as stated), tensor parallel groups of the
/// engines inside the NVLink domain (or as stated). Each is run as `flowplan run` would. `time` and
/// `throughput` rank by the step, `cost` by money a step, `smallest` by GPUs. Errors: FP073 for
/// fine-tuning, whose layouts are those of training; those of clusters.
[[nodiscard]] Result<PosttrainingPlan> plan_posttraining(const catalog::Catalog& catalog,
                                                         const scenario::Scenario& scenario,
                                                         int threads);

}  // namespace flowplan::planner
