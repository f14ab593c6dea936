#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "flowplan/base/quantity.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/search.hpp"
#include "flowplan/topology/cluster.hpp"
#include "flowplan/training/evaluator.hpp"
#include "flowplan/training/iteration.hpp"

namespace flowplan::planner {

/// What became of every layout of a space; the parts sum to `raw`.
struct LayoutCounts {
  std::int64_t raw = 0;
  std::int64_t invalid = 0;       ///< degrees do not divide heads, layers, experts, batch or ranks
  std::int64_t too_large = 0;     ///< does not fit in memory
  std::int64_t out_of_reach = 0;  ///< slower than the best even without (some) communication
  std::int64_t slower = 0;        ///< evaluated, and slower than those kept
  std::int64_t kept = 0;
  [[nodiscard]] std::int64_t evaluated() const { return slower + kept; }
  LayoutCounts& operator+=(const LayoutCounts& other);
};

/// One layout with its speed.
struct FoundLayout {
  training::Job job;
  training::Evaluation result;
  Seconds key{};  ///< what is ranked: see `LayoutGoal`
};

struct LayoutGoal {
  int keep = 1;                  ///< >= 1
  double memory_headroom = 0.0;  ///< share of a GPU's memory that has to stay free, 0..1
  /// With a token budget the time of all its steps is ranked, else the time of one token.
  std::optional<double> tokens;
};

struct LayoutSearch {
  std::vector<FoundLayout> best;  ///< at most `keep`: by key, then memory, then order of the space
  LayoutCounts counts;
  std::optional<FoundLayout> leanest;  ///< least memory; only when nothing fits
};

/// The time that is ranked.
[[nodiscard]] Seconds ranked_time(const training::Job& job, Seconds step,
                                  const std::optional<double>& tokens);

/// The best layouts of a model on one cluster: exact, the same as trying every one. `like` gives
/// model, sequence length, framework, GPUs that work, placement and what the space leaves open with
/// one value. Candidates are taken by a lower bound of their step (`Evaluator::at_least`), memory
/// is asked before time. Uses the threads of the calling TBB arena; the answer, counts included,
/// does not depend on how many there are. Errors: as `Evaluator::on`, and those of collectives.
[[nodiscard]] Result<LayoutSearch> search_layouts(const catalog::Catalog& catalog,
                                                  const topology::Cluster& cluster,
                                                  const training::Job& like,
                                                  const scenario::LayoutSpace& space,
                                                  const LayoutGoal& goal);

/// The same by trying every layout, without bounds: the reference for tests. All that fit count as
/// kept or slower.
[[nodiscard]] Result<LayoutSearch> search_layouts_by_force(const catalog::Catalog& catalog,
                                                           const topology::Cluster& cluster,
                                                           const training::Job& like,
                                                           const scenario::LayoutSpace& space,
                                                           const LayoutGoal& goal);

}  // namespace flowplan::planner
