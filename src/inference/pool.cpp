#include "pool.hpp"

#include <algorithm>

namespace flowplan::inference {

Pool::Pool(const Fleet& fleet, const Workload& workload, const ServeOptions& options,
           Replica::Role role, RequestRecords& records, PoolTotals& totals, GapHistogram& gaps)
    : fleet_(fleet), expected_(fleet.replicas, 0), is_awake_(fleet.replicas, 0) {
  totals.kv_capacity_blocks =
      fleet.instance.kv.capacity_blocks * fleet.instance.table.attention_ranks;
  for (std::uint32_t r = 0; r < fleet.replicas; ++r) {
    replicas_.emplace_back(fleet.instance, workload, options, role, records, totals, gaps);
    order_.emplace_back(never, r);
    place_.push_back(r);
  }
}

int Pool::gpus() const {
  return fleet_.instance.gpus * static_cast<int>(fleet_.replicas);
}

std::uint32_t Pool::commit_next(std::vector<Notice>& notices) {
  const std::uint32_t replica = order_[0].second;
  replicas_[replica].commit(notices);
  set_event(replica);
  wake(replica);
  return replica;
}

std::uint32_t Pool::choose(RequestId id, double now_s) {
  if (fleet_.replicas == 1) return 0;
  switch (fleet_.router.routing) {
    case Routing::least_loaded:
      return least_loaded();
    case Routing::prefix_aware:
      return best_prefix(id, now_s);
    case Routing::round_robin:
      break;
  }
  const std::uint32_t chosen = turn_;
  turn_ = (turn_ + 1) % fleet_.replicas;
  return chosen;
}

std::uint32_t Pool::least_loaded() const {
  std::uint32_t best = 0;
  for (std::uint32_t r = 1; r < fleet_.replicas; ++r)
    if (load(r) < load(best)) best = r;
  return best;
}

std::uint32_t Pool::best_prefix(RequestId id, double now_s) {
  std::uint32_t best = 0;
  std::pair<double, std::int64_t> best_score{-never, 0};
  for (std::uint32_t r = 0; r < fleet_.replicas; ++r) {
    const double tokens = static_cast<double>(replicas_[r].cached_tokens(id, now_s));
    const std::pair score{tokens - fleet_.router.load_tokens * static_cast<double>(load(r)),
                          -load(r)};
    if (score > best_score) {
      best_score = score;
      best = r;
    }
  }
  return best;
}

std::uint32_t Pool::route(RequestId id, double now_s) {
  const std::uint32_t replica = choose(id, now_s);
  replicas_[replica].deliver(id, now_s);
  set_event(replica);
  if (replicas_[replica].idle()) wake(replica);
  return replica;
}

void Pool::deliver_prefilled(std::uint32_t replica, RequestId id, double now_s,
                             double last_token_s) {
  --expected_[replica];
  replicas_[replica].deliver_prefilled(id, now_s, last_token_s);
  set_event(replica);
  if (replicas_[replica].idle()) wake(replica);
}

void Pool::release(std::uint32_t replica, RequestId id) {
  replicas_[replica].release(id);
  if (replicas_[replica].idle()) wake(replica);
}

void Pool::schedule(double now_s) {
  std::sort(awake_.begin(), awake_.end());
  for (const std::uint32_t replica : awake_) {
    is_awake_[replica] = 0;
    replicas_[replica].schedule(now_s);
    set_event(replica);
  }
  awake_.clear();
}

void Pool::stop(double now_s) {
  for (Replica& replica : replicas_)
    replica.stop(now_s);
}

void Pool::wake(std::uint32_t replica) {
  if (is_awake_[replica]) return;
  is_awake_[replica] = 1;
  awake_.push_back(replica);
}

// Sifts the replica to where its event belongs; of equal times the lower number is first.
void Pool::set_event(std::uint32_t replica) {
  std::size_t at = place_[replica];
  const std::pair event{replicas_[replica].next_event(), replica};
  const auto put = [this](std::size_t where, std::pair<double, std::uint32_t> what) {
    order_[where] = what;
    place_[what.second] = static_cast<std::uint32_t>(where);
  };
  while (at > 0 && event < order_[(at - 1) / 2]) {
    put(at, order_[(at - 1) / 2]);
    at = (at - 1) / 2;
  }
  while (2 * at + 1 < order_.size()) {
    std::size_t child = 2 * at + 1;
    if (child + 1 < order_.size() && order_[child + 1] < order_[child]) ++child;
    if (!(order_[child] < event)) break;
    put(at, order_[child]);
    at = child;
  }
  put(at, event);
}

}  // namespace flowplan::inference
