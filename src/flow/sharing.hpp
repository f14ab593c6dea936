#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "layout.hpp"
#include "minimum_tree.hpp"

namespace flowplan::flow {

/// Weighted max-min fair rates of a set of flows that come and go. A flow's level is its rate
/// divided by its weight. Only what a change touches is solved again:
/// - flows that share no link, directly or through others, do not see each other;
/// - a flow that ran at level x left every link on its path unfilled below x, so when it ends,
///   slower flows keep their rates; a new flow likewise changes nothing below the level at which
///   the first of its links fills.
class Sharing {
 public:
  /// Holder of a flow that runs at its cap.
  static constexpr std::uint32_t by_cap = std::numeric_limits<std::uint32_t>::max();
  /// Holder of a flow that has started and was not solved yet.
  static constexpr std::uint32_t nobody = by_cap - 1;

  Sharing(const Network& network, const FlowSet& flows, Redundant redundant);

  void start(std::uint32_t flow);
  /// The flow must have been through an `update()` since it started.
  void stop(std::uint32_t flow);

  /// Solves again what changed since the last call. Returns the flows that were solved; all others
  /// kept their level and holder.
  const std::vector<std::uint32_t>& update();
  /// Of the flows that the last `update()` solved, those that another holder holds now.
  [[nodiscard]] const std::vector<std::uint32_t>& moved() const { return moved_; }
  /// The links that the last `update()` filled, with the level of the flows that each holds. All
  /// flows that a link holds are solved together, so others' levels are as before.
  struct Filled {
    std::uint32_t row;
    double level;
  };
  [[nodiscard]] const std::vector<Filled>& filled() const { return filled_; }

  [[nodiscard]] std::size_t running() const { return running_.size(); }
  [[nodiscard]] bool runs(std::uint32_t flow) const { return where_[flow] != nowhere; }
  /// Rate / weight.
  [[nodiscard]] double level(std::uint32_t flow) const { return level_[flow]; }
  /// What holds the flow: the row of a link in the layout, or `by_cap`.
  [[nodiscard]] std::uint32_t holder(std::uint32_t flow) const { return holder_[flow]; }
  [[nodiscard]] const Layout& layout() const { return layout_; }
  /// The running flows on a link.
  [[nodiscard]] std::span<const std::uint32_t> members(std::uint32_t row) const {
    return {members_.data() + links_[row].first_member, links_[row].running};
  }

 private:
  static constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();
  /// Level of a flow that has started and was not solved yet.
  static constexpr double unsolved = std::numeric_limits<double>::infinity();

  /// How much of a link is left while others are filled. Both are read and written for each hop of
  /// each flow that is solved, so they stand next to each other and apart from all else.
  struct Water {
    double room = 0.0;  // capacity that frozen flows leave
    double open = 0.0;  // pull of the unfrozen flows; 0 between solves
  };
  struct Link {
    double capacity = 0.0;
    std::uint32_t first_member = 0;
    std::uint32_t running = 0;
    std::uint32_t place = 0;   // in busy_
    std::uint32_t solves = 0;  // since `room` was last summed afresh
    std::uint32_t seen = 0;    // last flood that came here
    bool left = false;         // a flow left it since the last update
  };
  /// What only solves with pulls or with very many flows on a link need to know of it.
  struct Detail {
    double open_summed = 0.0;    // `open` when it was last summed afresh
    double pending_level = 0.0;  // level and pull of flows whose part was not yet taken from `room`
    double pending_pull = 0.0;
    std::uint32_t unfrozen = 0;
  };
  /// All pulls are 1; or not; or so many flows are on one link that subtracting each one's part
  /// would round too much.
  enum class Mode { unit, weighted, batched };

  [[nodiscard]] double pull(std::size_t hop) const {
    return layout_.pull.empty() ? 1.0 : layout_.pull[hop];
  }
  template <Mode mode>
  [[nodiscard]] double pull_in(std::size_t hop) const;
  [[nodiscard]] std::uint32_t find_hop(std::uint32_t flow, std::uint32_t row) const;

  [[nodiscard]] double restart_level();
  [[nodiscard]] double water_level(std::uint32_t row) const;
  void collect(double floor);
  [[nodiscard]] bool flood(double floor);
  [[nodiscard]] bool reach_from(std::uint32_t row, double floor);
  void sweep(double floor);
  [[nodiscard]] Mode choose_mode();
  template <Mode mode>
  void solve();
  template <Mode mode>
  void reopen();
  template <Mode mode>
  void settle_room(std::uint32_t row);
  template <Mode mode>
  void fill();
  template <Mode mode>
  void renew_shares(std::uint32_t block);
  template <Mode mode>
  [[nodiscard]] double share(std::uint32_t row);
  [[nodiscard]] bool full_at(std::uint32_t row, double level) const;
  void sum_open(std::uint32_t row);
  template <Mode mode>
  void freeze(std::uint32_t flow, double level, std::uint32_t holder);
  template <Mode mode>
  std::size_t freeze_all(std::uint32_t row, double level);
  void take_pending(std::uint32_t row);

  Layout layout_;
  std::vector<Link> links_;
  std::vector<Water> water_;            // with a last one for the hops that fill up groups
  std::vector<Detail> details_;         // as water_; empty until a solve needs it
  std::vector<std::uint32_t> members_;  // running flows of each link
  std::vector<std::uint32_t> places_;   // per hop: where the flow stands among them
  std::vector<std::uint32_t> busy_;     // links with running flows

  // Per flow.
  std::vector<double> level_;
  std::vector<std::uint32_t> holder_;
  std::vector<std::uint32_t> where_;  // place in running_
  /// 1 for flows that a flood has reached and those that this solve has not frozen yet; 0 between
  /// solves.
  std::vector<std::uint8_t> unfrozen_;

  std::vector<std::uint32_t> running_;
  std::size_t running_hops_ = 0;

  // What changed since the last update.
  std::vector<std::uint32_t> fresh_;
  std::vector<std::uint32_t> left_links_;  // links that a flow left
  double left_level_ = unsolved;           // the lowest level of a flow that left

  // The solve at hand; kept between calls for their memory only.
  std::vector<std::uint32_t> reached_;
  std::vector<std::uint32_t> moved_;
  std::vector<Filled> filled_;
  std::vector<std::uint32_t> touched_links_;            // where reached flows may be
  std::vector<std::pair<double, std::uint32_t>> caps_;  // heap of cap levels of reached flows
  std::vector<std::uint32_t> frozen_;
  MinimumTree shares_;
  std::uint32_t flood_ = 0;
  std::size_t flood_budget_ = 0;
  std::uint32_t floods_to_skip_ = 0, next_skip_ = 1;
};

}  // namespace flowplan::flow
