#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "minimum_tree.hpp"

namespace flowplan::flow {

/// When flows end that run at their holder's level. All flows that a link holds run at one level,
/// so instead of each flow's bytes the link's service is counted: the integral of its level. A flow
/// is due at a fixed service, however often the level changes, and of a link only the flow that is
/// due first has an end in time (the virtual clock of fair queueing; Demers, Keshav and Shenker
/// 1989).
///
/// The flows of a holder are a pairing heap (Fredman et al. 1986) threaded through arrays.
class HeldFlows {
 public:
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

  HeldFlows(std::uint32_t holders, std::size_t flows)
      : clocks_(holders), ends_(holders), due_(flows, 0.0), links_(flows) {}

  /// The holder's service until `now`, not before the last call with this holder.
  [[nodiscard]] double service(std::uint32_t holder, double now) const {
    const Clock& clock = clocks_[holder];
    return clock.service + clock.level * (now - clock.since_s);
  }
  [[nodiscard]] double level(std::uint32_t holder) const { return clocks_[holder].level; }
  [[nodiscard]] double due(std::uint32_t flow) const { return due_[flow]; }

  /// The flow, which has no holder, is due when the holder has served so much.
  void add(std::uint32_t holder, std::uint32_t flow, double due);
  void remove(std::uint32_t holder, std::uint32_t flow);
  /// From `now` on the holder serves at `level`.
  void set_level(std::uint32_t holder, double level, double now);
  /// Counts the service of the holder from 0 again; `flows` are all that it holds.
  template <class Flows>
  void rebase(std::uint32_t holder, double now, const Flows& flows) {
    const double served = service(holder, now);
    for (const std::uint32_t flow : flows)
      due_[flow] -= served;
    clocks_[holder].service = 0.0;
    clocks_[holder].since_s = now;
    renew_end(holder);
  }

  /// When the next flow ends; infinite when there is none. Settles what was changed before.
  [[nodiscard]] double next_end() {
    ends_.restore();
    return ends_.minimum();
  }
  /// Takes out the flows that end by `limit` and appends them to `out`. Settles what was changed
  /// before.
  void take_ended(double limit, std::vector<std::uint32_t>& out);

 private:
  struct Clock {
    double service = 0.0;  // until since_s
    double since_s = 0.0;
    double level = 0.0;
    std::uint32_t first = none;  // the flow that is due first
  };
  /// Neighbours in the heap: a flow's first child, its next sibling, and its previous sibling or,
  /// of a first child, its parent.
  struct Link {
    std::uint32_t child = none, next = none, previous = none;
  };

  [[nodiscard]] double end_of(const Clock& clock) const;
  void renew_end(std::uint32_t holder) { ends_.defer(holder, end_of(clocks_[holder])); }
  [[nodiscard]] std::uint32_t merge(std::uint32_t a, std::uint32_t b);
  [[nodiscard]] std::uint32_t merge_siblings(std::uint32_t first);
  void cut(std::uint32_t flow);

  std::vector<Clock> clocks_;
  MinimumTree ends_;  // of the flow due first of each holder
  std::vector<double> due_;
  std::vector<Link> links_;
  std::vector<std::uint32_t> ending_;  // kept for its memory only
};

}  // namespace flowplan::flow
