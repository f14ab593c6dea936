#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/estimate.hpp"
#include "flowplan/operations/money.hpp"
#include "flowplan/scenario/link_load.hpp"
#include "flowplan/scenario/operations.hpp"
#include "flowplan/scenario/posttraining.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/scenario/serving.hpp"
#include "flowplan/scenario/storage.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::scenario {

/// The same job on the same nodes under another assumption about the switches above them.
struct FabricCase {
  double oversubscription = 1.0;  ///< of the leaves
  Seconds step{};
  double tokens_per_second = 0.0;
  double mfu = 0.0;
};

/// What a token budget takes at 100 % goodput.
struct TokenBudget {
  double tokens = 0.0;
  std::int64_t steps = 0;
  Seconds time{};
};

/// The answer to a scenario.
struct Answer {
  std::string name, about;
  std::string kind;  ///< "pretraining", "serving" or "posttraining"

  std::string instance;   ///< catalog id
  std::string gpu;        ///< catalog id
  std::string nic_kind;   ///< what its NICs are: "efa", "infiniband"
  int count = 0;          ///< units of `instance`
  int ec2_instances = 0;  ///< instances that make them up
  std::uint32_t gpus = 0;
  std::string region;
  topology::Summary network;

  training::Job job;
  double parameters = 0.0;
  training::Iteration iteration;
  std::string least_change;  ///< that makes it fit; empty when it fits, or when none is known

  std::vector<FabricCase> fabric_cases;  ///< 1:1 and 2:1; empty when the job does not fit
  std::optional<TokenBudget> budget;
  std::vector<flowplan::operations::PurchaseCost> costs;
  std::string purchase;  ///< the model behind `training.cost_usd`; empty when there is none
  std::optional<StorageAnswer> storage;        ///< where the scenario has it, and it fits GPUs
  std::optional<OperationsAnswer> operations;  ///< where the scenario asks for it, and it fits

  std::optional<ServingAnswer> serving;  ///< of work of kind "serving"; job, iteration unused then

  /// Of work of kind "posttraining"; `job` and `iteration` are one update of its trainer.
  std::optional<PosttrainingAnswer> posttraining;

  /// What serving and post-training put on the links; training's are in `iteration`.
  LinkLoads links;

  Estimate estimate;

  /// Whether it fits; `reason()` says why not, `binding()` what binds: "memory", "slo".
  [[nodiscard]] bool feasible() const {
    if (posttraining) return posttraining->does_not_fit.empty();
    return serving ? serving->does_not_fit.empty() : iteration.fits;
  }
  [[nodiscard]] const std::string& reason() const {
    if (posttraining) return posttraining->does_not_fit;
    return serving ? serving->does_not_fit : iteration.does_not_fit;
  }
  [[nodiscard]] std::string binding() const {
    if (serving) return serving->binding;
    if (posttraining) return posttraining->binding;
    return storage && !storage->fits ? storage->binding : "memory";
  }
};

/// How much of an answer is worked out. `metrics`: what its metrics need, for those who run a
/// scenario many times; without the other oversubscriptions, the curve of load against latency and
/// the least change that would fit.
enum class Depth { full, metrics };

/// Estimates a scenario. Errors: what is wrong with it, with places in its document. A job that
/// does not fit is an answer without speeds, not an error. `like`: the answer of a scenario that
/// differs a little, or null; what both ask of simulated engines in the same words is taken from
/// it.
[[nodiscard]] Result<Answer> run(const catalog::Catalog& catalog, const Scenario& scenario,
                                 const std::string& program_version, Depth depth = Depth::full,
                                 const Answer* like = nullptr);

}  // namespace flowplan::scenario
