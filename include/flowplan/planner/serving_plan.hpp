#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"
#include "flowplan/planner/search_progress.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/scenario/serving.hpp"

namespace flowplan::planner {

/// What a fleet has to serve.
struct ServingGoal {
  double rate_per_s = 0.0;
  inference::Slo slo;
  double headroom = 0.2;    ///< share of the fleet's capacity that stays free, 0 .. 0.9
  int spare_instances = 1;  ///< N+1: engine instances beyond what the rate needs
};

/// One way to serve it: engine instances of one layout on machines of one type.
struct ServingCandidate {
  const catalog::Instance* instance = nullptr;
  inference::WeightFormat weights{};
  inference::Layout layout;
  double capacity_per_s = 0.0;  ///< of one engine instance within the limits
  inference::Summary at_capacity;
  int replicas = 0;  ///< with headroom and spares
  int machines = 0;  ///< units of `instance`
  std::optional<double> usd_per_hour;
  std::string purchase;
  std::vector<std::string> limits;  ///< why it cannot be bought so
  std::string lost;                 ///< why it is not ranked; empty when it is
};

struct ServingPlan {
  ServingGoal goal;
  model::Transformer model;
  std::string engine;
  std::vector<ServingCandidate> ranked;   ///< the cheapest first, those that can be bought first
  std::vector<ServingCandidate> pareto;   ///< money against TPOT, none beaten in both
  std::vector<ServingCandidate> refused;  ///< do not fit or cannot keep the limits
  std::vector<Defaulted> defaulted;
};

/// The cheapest fleet for `scenario.serving`'s load within its `slo`. What the workload states of
/// precision and layout is fixed; what is open is searched: instance types (`search.instances`,
/// else all that can be bought), weight formats for which the GPU has kernels, tensor parallel
/// groups, attention DP with EP for models with experts. One engine instance of each is simulated
/// to the highest rate that keeps the limits; the fleet is as many as the rate needs. Errors: FP021
/// without a rate or limits; FP024 for what cannot be meant.
[[nodiscard]] Result<ServingPlan> plan_serving(const catalog::Catalog& catalog,
                                               const scenario::Scenario& scenario, int threads,
                                               const SearchProgress& progress = {});

}  // namespace flowplan::planner
