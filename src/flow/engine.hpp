#pragma once

#include <cstdint>
#include <vector>

#include "held_flows.hpp"
#include "sharing.hpp"

namespace flowplan::flow {

/// Runs flows over time: rates are constant between instants at which a flow starts or ends. The
/// caller owns the clock: it asks for the next end, advances to that or to an earlier instant of
/// its own, and starts what starts then. Rates are solved once for all changes of an instant.
class Engine {
 public:
  Engine(const Network& network, const FlowSet& flows);

  /// Starts a flow of more than 0 bytes now. It may have run before, but does not run at present.
  void start(std::uint32_t flow);

  /// When the next flow ends; `unlimited` when none runs.
  [[nodiscard]] double next_end();

  /// Goes to `time`, which is not before now and not after `next_end()`, and ends all flows that
  /// end at that instant. Returns them in ascending order.
  const std::vector<std::uint32_t>& advance(double time);

  [[nodiscard]] double now() const { return now_; }
  /// Distinct instants at which some rate was solved.
  [[nodiscard]] std::uint64_t solves() const { return solves_; }

  /// The link that held the flow for the longest part of the time it has run, the first on its path
  /// of equals; `no_link` when its cap did.
  [[nodiscard]] LinkId bottleneck(std::uint32_t flow) const;

 private:
  /// Holder of a flow that never ran.
  static constexpr std::uint32_t nobody = Sharing::nobody;

  [[nodiscard]] std::size_t held_slot(std::uint32_t flow, std::uint32_t holder) const;
  void settle_held(std::uint32_t flow, double until_s);
  void keep_history();
  [[nodiscard]] std::uint32_t clock_of(std::uint32_t holder) const;
  [[nodiscard]] double bytes_per_service(std::uint32_t flow, std::uint32_t holder) const;
  void move(std::uint32_t flow, std::uint32_t holder);
  void rebase(std::uint32_t row);
  void renew();

  const FlowSet& flows_;
  Sharing sharing_;
  /// By the rows of the layout; the last one's service is time, for the flows that caps hold.
  HeldFlows held_;

  // Per flow.
  std::vector<std::uint32_t> holder_;  // the last one of a flow that ended
  /// Since when the present holder has held it; of a flow that ended, for how long, until history
  /// is kept.
  std::vector<double> held_since_s_;
  /// Per flow: seconds held by each hop and, last, by the cap. Empty as long as each flow has run
  /// once and with one holder, which takes no count. Only compared: single precision will do.
  std::vector<float> held_s_;

  std::vector<std::uint32_t> ended_;
  std::vector<std::uint32_t> rebased_;  // kept for its memory only
  double now_ = 0.0;
  std::uint64_t solves_ = 0;
};

/// What each link has carried once every flow has run `times[f]` times.
[[nodiscard]] std::vector<double> amounts(const Network& network, const FlowSet& flows,
                                          const Column& times);

}  // namespace flowplan::flow
