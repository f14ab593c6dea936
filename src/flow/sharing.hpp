#pragma once

#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "minimum_tree.hpp"

namespace flowplan::flow {

/// Weighted max-min fair rates of a set of flows that come and go. A flow's level is its rate
/// divided by its weight. Only what a change touches is solved again:
/// - flows that share no link, directly or through others, do not see each other;
/// - a flow that ran at level x left every link on its path unfilled below x, so when it ends
/// slower
///   flows keep their rates; a new flow likewise changes nothing below the level at which the first
///   of its links fills.
class Sharing {
 public:
  /// Holder of a flow that runs at its cap.
  static constexpr std::uint32_t by_cap = std::numeric_limits<std::uint32_t>::max();

  Sharing(const Network& network, const FlowSet& flows, Redundant redundant);

  void start(std::uint32_t flow);
  /// The flow must have been through an `update()` since it started.
  void stop(std::uint32_t flow);

  /// Solves again what changed since the last call. Returns the flows that were solved; all others
  /// kept their level and holder.
  const std::vector<std::uint32_t>& update();

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] bool runs(std::uint32_t flow) const { return where_[flow] != nowhere; }
  /// Rate / weight.
  [[nodiscard]] double level(std::uint32_t flow) const { return level_[flow]; }
  /// What holds the flow: a position among its hops, or `by_cap`.
  [[nodiscard]] std::uint32_t holder(std::uint32_t flow) const { return holder_[flow]; }
  [[nodiscard]] LinkId link(std::uint32_t flow, std::uint32_t hop) const {
    return layout_.links[layout_.hops[layout_.first_hop[flow] + hop].link].id;
  }
  [[nodiscard]] const Layout& layout() const { return layout_; }

 private:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  /// Level of a flow that has started and was not solved yet.
  static constexpr double unsolved = std::numeric_limits<double>::infinity();

  struct Member {
    std::uint32_t flow, hop;
  };
  struct Link {
    double capacity = 0.0;
    double room = 0.0;           // capacity that frozen flows leave
    double open = 0.0;           // pull of the unfrozen flows
    double open_summed = 0.0;    // `open` when it was last summed afresh
    double pending_level = 0.0;  // level and pull of flows whose part was not yet taken from `room`
    double pending_pull = 0.0;
    std::uint32_t first_member = 0;
    std::uint32_t running = 0;
    std::uint32_t unfrozen = 0;
    std::uint32_t solves = 0;  // since `room` was last summed afresh
    std::uint32_t seen = 0;    // last flood that came here
  };

  [[nodiscard]] const Member* begin(const Link& link) const { return &members_[link.first_member]; }
  [[nodiscard]] const Member* end(const Link& link) const { return begin(link) + link.running; }

  [[nodiscard]] double restart_level();
  [[nodiscard]] double water_level(const Link& link) const;
  void collect(double floor);
  [[nodiscard]] bool flood(double floor);
  [[nodiscard]] bool reach_from(Link& link, double floor);
  void sweep(double floor);
  void reopen();
  void settle_room(Link& link);
  void fill();
  [[nodiscard]] double share(Link& link, double last);
  void freeze(std::uint32_t flow, double level, std::uint32_t holder);
  void freeze_all(const Link& link, double level);
  static void take_pending(Link& link);

  Layout layout_;
  std::vector<Link> links_;
  std::vector<Member> members_;  // running flows of each link

  // Per flow.
  std::vector<double> level_;
  std::vector<std::uint32_t> holder_;
  std::vector<std::uint32_t> where_;  // place in running_
  std::vector<std::uint32_t> seen_;   // last flood that came here
  std::vector<std::uint8_t> unfrozen_;

  std::vector<std::uint32_t> running_;
  std::size_t running_hops_ = 0;

  // What changed since the last update.
  std::vector<std::uint32_t> fresh_;
  std::vector<std::uint32_t> left_links_;  // links that a flow left
  double left_level_ = unsolved;           // the lowest level of a flow that left

  // The solve at hand; kept between calls for their memory only.
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> touched_links_;
  std::vector<std::pair<double, std::uint32_t>> caps_;  // heap of cap levels of reached flows
  MinimumTree shares_;
  std::uint32_t flood_ = 0;
  std::size_t flood_budget_ = 0;
  std::uint32_t floods_to_skip_ = 0, next_skip_ = 1;
};

}  // namespace flowplan::flow
