#pragma once

#include <cstdint>
#include <vector>

#include "flowplan/flow/quotient.hpp"
#include "flowplan/flow/simulate.hpp"

namespace flowplan::flow {

/// Checks rates of classes against the flows themselves. That no link is over capacity needs no
/// check: all links of a class carry what the one in the quotient does.
class Certificate {
 public:
  Certificate(const FlowSet& flows, const Partition& partition, const Quotient& quotient)
      : flows_(flows), partition_(partition), quotient_(quotient) {}

  /// `rate` is per class of flows; 0: does not run. True when each running flow is held.
  [[nodiscard]] bool passes(const std::vector<double>& rate);

  /// A link that holds the flow at the rates checked last, `no_link` when none does.
  [[nodiscard]] LinkId held_by(std::uint32_t f) const;

 private:
  void look_at(const std::vector<double>& rate);

  const FlowSet& flows_;
  const Partition& partition_;
  const Quotient& quotient_;
  std::vector<double> level_;       // per class of flows; 0: does not run, or at its cap
  std::vector<double> least_held_;  // per class of links: the level from which it holds a flow
};

/// Whether the rates of the classes are those of the flows at each instant of a simulation of the
/// quotient. Then so are the ends, one after the other. False as well when there are so many
/// instants that checking them would not pay.
[[nodiscard]] bool passes_over_time(const FlowSet& flows, const Partition& partition,
                                    const Quotient& quotient, const Completion& classes);

}  // namespace flowplan::flow
