#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/catalog/hardware.hpp"
#include "flowplan/model/precision.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::scenario {

/// What a search is for. `time`: the token budget done soonest. `cost`: for the least money.
/// `throughput`: most tokens a second. `smallest`: the fewest GPUs, the fastest of equals.
enum class Objective { time, cost, throughput, smallest };
[[nodiscard]] std::string_view name(Objective objective);
[[nodiscard]] std::optional<Objective> find_objective(std::string_view name);

/// The values that each degree may take. An empty list is open: every value that can be meant
/// (docs/planning.md, "The space").
struct LayoutSpace {
  std::vector<int> tp, pp, vp, cp, dp, ep, etp;
  std::vector<std::int64_t> micro_batch, global_batch;
  std::vector<model::Precision> precision;
  std::vector<training::Recompute> recompute;
  std::vector<training::Sharding> sharding;
  std::vector<training::Schedule> schedule;
  std::vector<training::ContextParallel> context_parallel;
  std::vector<bool> sequence_parallel;
};

/// `search`: what is looked for, among what, and within which limits.
struct SearchSection {
  std::optional<Objective> objective;
  std::vector<const catalog::Instance*> instances;  ///< empty: all that can be bought
  std::vector<int> counts;                          ///< units of an instance; empty: a grid
  std::optional<int> min_gpus, max_gpus;
  std::optional<Usd> budget;
  std::optional<Seconds> deadline;
  std::optional<double> memory_headroom;  ///< share of a GPU's memory that stays free, 0..1
  bool only_purchasable = false;          ///< what cannot be bought is out, not only flagged
  std::optional<int> top;                 ///< rows of the ranked table
  std::optional<int> per_cluster;         ///< at most so many layouts of one cluster among them
  LayoutSpace space;
};

}  // namespace flowplan::scenario
