#pragma once

#include <vector>

#include "flowplan/base/result.hpp"
#include "flowplan/catalog/catalog.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::planner {

/// One size of one kind of machine.
struct ClusterChoice {
  const catalog::Instance* instance = nullptr;
  int count = 0;
};

inline constexpr int default_max_gpus = 4096;

/// 1, 2, 3, 4, 6, 8, 12, 16, ...: powers of two and their halves between. The next one after
/// `count`.
[[nodiscard]] int next_count(int count);

/// Every cluster that a search means, by instance in the order stated (or of the catalog), then by
/// count. Errors FP032 and FP060 for a stated instance that cannot be planned with, FP070 when
/// nothing is left to search.
[[nodiscard]] Result<std::vector<ClusterChoice>> cluster_choices(
    const catalog::Catalog& catalog, const scenario::Scenario& scenario);

}  // namespace flowplan::planner
