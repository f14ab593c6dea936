#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/estimate/provenance.hpp"
#include "flowplan/operations/money.hpp"
#include "flowplan/planner/layouts.hpp"
#include "flowplan/planner/search_progress.hpp"
#include "flowplan/scenario/scenario.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::planner {

/// A layout on a cluster, with what it comes to.
struct PlanRow {
  std::size_t cluster = 0;  ///< in `Plan::clusters`
  training::Job job;
  Seconds step{};
  double tokens_per_second = 0.0;
  double mfu = 0.0;
  Bytes memory{}, hbm{};
  std::optional<Seconds> time;  ///< for the token budget, 100 % goodput
  std::vector<operations::PurchaseCost> costs;
  std::optional<std::size_t>
      priced;  ///< the one of `costs` that is judged; nothing without a price
  bool past_deadline = false, over_budget = false;

  [[nodiscard]] const operations::PurchaseCost* cost() const;
  /// Whether nothing known speaks against buying it as judged.
  [[nodiscard]] bool purchasable() const;
};

/// Why a cluster's best layout is not in the table, or that it is.
enum class Fate {
  listed,
  ranked_below,  ///< meets every limit, but others are better by the objective
  past_deadline,
  over_budget,
  no_price,         ///< a budget or the objective needs one
  not_purchasable,  ///< and only what can be bought was asked for
  nothing_fits,
  no_layout,  ///< no layout divides these GPUs
};
[[nodiscard]] std::string_view name(Fate fate);

struct PlanCluster {
  const catalog::Instance* instance = nullptr;
  int count = 0;
  std::uint32_t gpus = 0;  ///< that work
  LayoutCounts counts;
  std::vector<PlanRow> rows;           ///< the best, at most `per_cluster`
  std::optional<FoundLayout> leanest;  ///< only when nothing fits
  Fate fate = Fate::no_layout;
  /// The listed cluster that is no slower and no dearer; nothing when there is none.
  std::optional<std::size_t> dominated_by;
};

/// One of the best rows, estimated again from nothing.
struct Recheck {
  training::Iteration iteration;
  Seconds simulated{};      ///< the step with its pipeline played through as a task graph
  double difference = 0.0;  ///< of that to the search's step, relative
  std::optional<Seconds> step_at_two_to_one;  ///< the same with leaves oversubscribed 2:1
};

struct Plan {
  std::string name, about;
  model::Transformer model;
  double parameters = 0.0;
  std::int64_t seq_len = 0;
  std::optional<double> tokens;
  scenario::Objective objective{};
  scenario::SearchSection limits;  ///< as searched, what was open filled in
  std::string region;
  std::optional<std::string> purchase;  ///< as stated; nothing: each cluster's cheapest
  std::vector<Defaulted> defaulted;
  std::vector<PlanCluster> clusters;  ///< by instance, then count
  std::vector<PlanRow> ranked;        ///< the best first; empty when nothing meets the limits
  std::vector<PlanRow> front;  ///< no other is both faster and cheaper; by time; limits or not
  LayoutCounts counts;
  std::vector<Recheck> rechecked;           ///< of the first rows of `ranked`
  std::vector<std::string> nearest_misses;  ///< when `ranked` is empty
};

/// Searches instance types, counts and layouts for the scenario's `search`. What the scenario
/// states is fixed. The ranking is exact for the space that docs/planning.md states. Uses `threads`
/// threads (0: all); the answer does not depend on how many. `progress` is told of every cluster.
/// Errors, with places: FP021 a budget, a deadline or an objective that needs `tokens`; FP064 no
/// price or figure is known; FP060, FP070 nothing to search; FP073 a model that cannot be trained
/// here. That nothing fits or meets the limits is an answer.
[[nodiscard]] Result<Plan> plan(const catalog::Catalog& catalog, const scenario::Scenario& scenario,
                                int threads = 0, const SearchProgress& progress = {});

}  // namespace flowplan::planner
