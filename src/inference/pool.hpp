#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "replica.hpp"

namespace flowplan::inference {

/// Equal replicas behind a router, moved in order of their events.
class Pool {
 public:
  Pool(const Fleet& fleet, const Workload& workload, const ServeOptions& options,
       Replica::Role role, RequestRecords& records, PoolTotals& totals, GapHistogram& gaps);

  [[nodiscard]] int gpus() const;
  [[nodiscard]] double next_event() const { return order_.empty() ? never : order_[0].first; }
  /// Ends what runs on the replica whose event is next, and returns that replica.
  std::uint32_t commit_next(std::vector<Notice>& notices);
  /// The replica that gets a request.
  [[nodiscard]] std::uint32_t choose(RequestId id, double now_s);
  /// Chooses one and delivers.
  std::uint32_t route(RequestId id, double now_s);
  /// A request is on its way there, and counts for the router.
  void expect(std::uint32_t replica) { ++expected_[replica]; }
  void deliver_prefilled(std::uint32_t replica, RequestId id, double now_s, double last_token_s);
  void release(std::uint32_t replica, RequestId id);
  /// Starts what can run on the replicas that ended something or got something since.
  void schedule(double now_s);
  void stop(double now_s);

 private:
  static constexpr double never = std::numeric_limits<double>::infinity();

  [[nodiscard]] std::int64_t load(std::uint32_t replica) const {
    return replicas_[replica].requests() + expected_[replica];
  }
  [[nodiscard]] std::uint32_t least_loaded() const;
  [[nodiscard]] std::uint32_t best_prefix(RequestId id, double now_s);
  void wake(std::uint32_t replica);
  void set_event(std::uint32_t replica);

  const Fleet& fleet_;
  std::vector<Replica> replicas_;
  std::vector<std::int64_t> expected_;
  std::vector<std::uint32_t> awake_;  // to be scheduled
  std::vector<char> is_awake_;
  std::vector<std::pair<double, std::uint32_t>> order_;  // heap of events, one a replica
  std::vector<std::uint32_t> place_;                     // of a replica in it
  std::uint32_t turn_ = 0;
};

}  // namespace flowplan::inference
