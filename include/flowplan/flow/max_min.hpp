#pragma once

#include <optional>
#include <string>
#include <vector>

#include "flowplan/flow/flow_set.hpp"

namespace flowplan::flow {

/// Max-min fair rates of flows that all run at once.
struct Allocation {
  std::vector<double> rate;        ///< per flow, units of capacity; > 0
  std::vector<LinkId> bottleneck;  ///< per flow: a full link that holds it, `no_link`: its cap does
};

/// The unique weighted max-min fair allocation by progressive filling (Radunovic and Le Boudec, "A
/// Unified Framework for Max-Min and Min-Max Fairness"): every flow is at its cap, or crosses a
/// full link on which no flow has a larger rate / weight. Starts and bytes are ignored.
[[nodiscard]] Allocation solve(const Network& network, const FlowSet& flows);

/// Sum of coefficient * rate over each link, in units of capacity.
[[nodiscard]] std::vector<double> link_load(const Network& network, const FlowSet& flows,
                                            const std::vector<double>& rate);

/// Checks `rate` in one pass against the definition, to `tolerance` relative to the capacity and
/// the rate. Returns nothing when it is the max-min allocation, else a sentence naming the first
/// link over capacity or the first flow without a bottleneck. A passed check proves exactness,
/// because the allocation is unique.
[[nodiscard]] std::optional<std::string> refute(const Network& network, const FlowSet& flows,
                                                const std::vector<double>& rate,
                                                double tolerance = 1e-9);

}  // namespace flowplan::flow
