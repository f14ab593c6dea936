#pragma once

#include <cstdint>

#include "flowplan/base/result.hpp"
#include "flowplan/flow/max_min.hpp"
#include "flowplan/flow/quotient.hpp"
#include "flowplan/flow/simulate.hpp"
#include "flowplan/flow/task_graph.hpp"

namespace flowplan::flow {

/// Whether flows that symmetry makes equal are solved as one. It changes the time that takes, and
/// results by rounding only (1e-9 relative at most).
enum class Folding { automatic, off };

/// How a problem was folded.
struct FoldSummary {
  enum class Outcome {
    off,        ///< not asked for, or nothing to fold
    too_many,   ///< given up: more than half as many classes as flows, or soon; no end of splitting
    certified,  ///< classes of a partition that is not equitable, whose rates passed the check
    equitable,  ///< classes of the coarsest equitable partition
  };
  Outcome outcome = Outcome::off;
  std::uint32_t rounds = 0;                          ///< of refinement
  std::uint32_t flow_classes = 0, link_classes = 0;  ///< solved; 0 when nothing was folded
};

/// `solve()` with symmetry. The first classes whose rates pass the check are enough: all links of a
/// class carry the same load, so only this is left to check in one pass over the flows: each
/// crosses a full link on which it is among the fastest, or runs at its cap. Max-min fair rates are
/// unique, so a passed check proves the rates whatever the classes were. Else classes are refined
/// on, up to the equitable partition, which needs no check.
[[nodiscard]] Allocation solve(const Network& network, const FlowSet& flows, Folding folding,
                               FoldSummary* summary = nullptr);

/// `simulate()` with symmetry. Classes that are not equitable are taken when the simulation has few
/// instants and the rates of each pass the check. A bottleneck may be another one of several links
/// that hold a flow equally.
[[nodiscard]] Completion simulate(const Network& network, const FlowSet& flows, Folding folding,
                                  FoldSummary* summary = nullptr);

/// `simulate()` with symmetry within each task, by the equitable partition.
[[nodiscard]] Result<Timeline> simulate(const Network& network, const TaskGraph& graph,
                                        Folding folding, FoldSummary* summary = nullptr);

}  // namespace flowplan::flow
