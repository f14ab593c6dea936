#include "flowplan/inference/serve.hpp"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include <fmt/format.h>

#include "flowplan/base/assert.hpp"
#include "pool.hpp"
#include "range_error.hpp"
#include "replica.hpp"

namespace flowplan::inference {

namespace {

constexpr double never = std::numeric_limits<double>::infinity();

struct TimedEvent {
  enum class Kind : std::uint8_t { arrival, transferred };
  double at_s;
  std::uint64_t number;  // of equal times the one made first
  Kind kind;
  RequestId id;
  std::uint32_t from = 0, to = 0;  // transferred: prefill and decode worker
  bool operator>(const TimedEvent& other) const {
    return std::pair(at_s, number) > std::pair(other.at_s, other.number);
  }
};

/// The clock of a simulation: sends requests, routes them, moves the replicas on.
class Simulation {
 public:
  Simulation(const Fleet& front, const Fleet* decode, const KvTransfer& transfer,
             bool first_token_from_prefill, const Workload& workload, const ServeOptions& options)
      : front_(front),
        decode_(decode),
        transfer_(transfer),
        first_token_from_prefill_(first_token_from_prefill),
        workload_(workload),
        options_(options) {
    RequestRecords& r = run_.requests;
    const std::size_t n = workload.requests.size();
    r.sent_s.assign(n, -1.0);
    r.first_token_s.assign(n, -1.0);
    r.finish_s.assign(n, -1.0);
    r.generated.assign(n, 0);
    r.cached_tokens.assign(n, 0);
    r.preemptions.assign(n, 0);
    r.replica.assign(n, 0);
    r.outcome.assign(n, Outcome::not_sent);
    run_.pools.resize(decode == nullptr ? 1 : 2);
    const auto role = decode == nullptr ? Replica::Role::whole : Replica::Role::prefill;
    pools_.emplace_back(front, workload, options, role, r, run_.pools[0], run_.gaps);
    if (decode != nullptr)
      pools_.emplace_back(*decode, workload, options, Replica::Role::whole, r, run_.pools[1],
                          run_.gaps);
    for (const Pool& pool : pools_)
      run_.gpus += pool.gpus();
    sender_free_s_.assign(front.replicas, 0.0);
    if (decode != nullptr) receiver_free_s_.assign(decode->replicas, 0.0);
    for (const Join& join : workload.joins)
      signals_left_.push_back(join.waits_for);
  }

  ServeRun run() {
    send_first_tasks();
    while (true) {
      double at_s = events_.empty() ? never : events_.top().at_s;
      at_s = std::min(at_s, next_root_s());
      for (Pool& pool : pools_)
        at_s = std::min(at_s, pool.next_event());
      if (at_s == never || at_s > options_.until_s) break;
      now_s_ = at_s;
      step();
    }
    if (options_.until_s < never) now_s_ = options_.until_s;
    for (Pool& pool : pools_)
      pool.stop(now_s_);
    note_on_their_way();
    run_.end_s = now_s_;
    return std::move(run_);
  }

 private:
  // Everything that happens at one instant: passes end, requests arrive, passes begin.
  void step() {
    for (std::size_t p = 0; p < pools_.size(); ++p) {
      while (pools_[p].next_event() <= now_s_) {
        const std::uint32_t replica = pools_[p].commit_next(notices_);
        for (const Notice& notice : notices_)
          hear(notice, p, replica);
        notices_.clear();
      }
    }
    while (next_root_s() <= now_s_)
      arrive(workload_.root(next_root_++));
    while (!events_.empty() && events_.top().at_s <= now_s_) {
      const TimedEvent event = events_.top();
      events_.pop();
      if (event.kind == TimedEvent::Kind::arrival) {
        arrive(event.id);
      } else {
        end_transfer(event);
      }
    }
    for (Pool& pool : pools_)
      pool.schedule(now_s_);
  }

  // Requests that were sent but did not come to a queue before the clock stopped.
  void note_on_their_way() {
    RequestRecords& r = run_.requests;
    for (; next_root_s() < never; ++next_root_) {
      const RequestId id = workload_.root(next_root_);
      if (workload_.requests[id].arrival_s > now_s_) break;
      r.sent_s[id] = workload_.requests[id].arrival_s;
    }
    for (RequestId id = 0; id < r.size(); ++id) {
      if (r.outcome[id] != Outcome::not_sent) continue;
      if (r.sent_s[id] > now_s_) r.sent_s[id] = -1.0;
      if (r.sent_s[id] >= 0.0) r.outcome[id] = Outcome::waiting;
    }
  }

  [[nodiscard]] double api_s(RequestId id) const {
    const EngineSpec& engine = front_.instance.engine;
    return (engine.api +
            engine.api_per_token * static_cast<double>(workload_.requests[id].input_tokens))
        .value();
  }
  [[nodiscard]] bool in_order() const {
    return front_.instance.engine.api_per_token.value() == 0.0;
  }

  // In an open loop with the same delay for all, the roots are a queue already.
  [[nodiscard]] double next_root_s() const {
    if (workload_.concurrency > 0 || !in_order() || next_root_ >= workload_.tasks()) return never;
    const RequestId id = workload_.root(next_root_);
    return workload_.requests[id].arrival_s + front_.instance.engine.api.value();
  }

  void send_first_tasks() {
    if (workload_.concurrency == 0 && in_order()) return;
    const std::size_t first = workload_.concurrency == 0
                                  ? workload_.tasks()
                                  : std::min<std::size_t>(workload_.concurrency, workload_.tasks());
    for (; next_root_ < first; ++next_root_) {
      const RequestId id = workload_.root(next_root_);
      send(id, workload_.requests[id].arrival_s);
    }
  }

  void send(RequestId id, double sent_s) {
    run_.requests.sent_s[id] = sent_s;
    events_.push({sent_s + api_s(id), events_made_++, TimedEvent::Kind::arrival, id});
  }

  void arrive(RequestId id) {
    RequestRecords& r = run_.requests;
    if (r.sent_s[id] < 0.0) r.sent_s[id] = workload_.requests[id].arrival_s;
    const Outcome refusal = refused(id);
    if (refusal != Outcome::waiting) {
      r.outcome[id] = refusal;
      signal_first_token(id);
      signal_finish(id);
      return;
    }
    r.outcome[id] = Outcome::waiting;
    r.replica[id] = static_cast<std::uint16_t>(pools_[0].route(id, now_s_));
  }

  [[nodiscard]] Outcome refused(RequestId id) const {
    const Request& request = workload_.requests[id];
    const std::int64_t prompt = request.input_tokens, whole = prompt + request.output_tokens;
    const auto too_long = [whole](const Fleet& fleet) {
      return whole > fleet.instance.engine.context_limit;
    };
    if (too_long(front_) || (decode_ != nullptr && too_long(*decode_)))
      return Outcome::refused_context;
    // The KV of the last token is never computed; drafts need places of their own.
    const auto has_room = [](const Fleet& fleet, std::int64_t tokens) {
      return tokens + fleet.instance.engine.speculation.draft_tokens <=
             fleet.instance.kv.longest_sequence();
    };
    const bool fits = decode_ == nullptr
                          ? has_room(front_, whole - 1)
                          : has_room(front_, prompt) && has_room(*decode_, whole - 1);
    return fits ? Outcome::waiting : Outcome::refused_memory;
  }

  void hear(const Notice& notice, std::size_t pool, std::uint32_t replica) {
    RequestRecords& r = run_.requests;
    const RequestId id = notice.id;
    switch (notice.kind) {
      case Notice::Kind::first_token:
        r.outcome[id] = Outcome::running;
        r.first_token_s[id] = now_s_;
        // Of a request that goes on elsewhere, its transfer decides.
        if (shows_first_token_now(id)) signal_first_token(id);
        break;
      case Notice::Kind::prefilled:
        begin_transfer(id, replica, notice.prefill_s);
        break;
      case Notice::Kind::finished:
        r.outcome[id] = Outcome::finished;
        r.finish_s[id] = now_s_;
        r.replica[id] = static_cast<std::uint16_t>(pool == 0 ? replica : front_.replicas + replica);
        signal_finish(id);
        break;
    }
  }

  [[nodiscard]] bool shows_first_token_now(RequestId id) const {
    return decode_ == nullptr || first_token_from_prefill_ ||
           workload_.requests[id].output_tokens == 1;
  }

  void begin_transfer(RequestId id, std::uint32_t from, double prefill_s) {
    const std::uint32_t to = pools_[1].choose(id, now_s_);
    double& sender = sender_free_s_[from];
    double& receiver = receiver_free_s_[to];
    const double begin_s = std::max({now_s_, sender, receiver});
    const double end_s =
        begin_s + transfer_seconds(transfer_, workload_.requests[id].input_tokens, prefill_s);
    sender = receiver = end_s;
    pools_[1].expect(to);
    if (!first_token_from_prefill_) run_.requests.first_token_s[id] = -1.0;
    events_.push({end_s, events_made_++, TimedEvent::Kind::transferred, id, from, to});
  }

  void end_transfer(const TimedEvent& event) {
    double& first_token_s = run_.requests.first_token_s[event.id];
    if (!first_token_from_prefill_) {
      first_token_s = now_s_;
      signal_first_token(event.id);
    }
    pools_[0].release(event.from, event.id);
    pools_[1].deliver_prefilled(event.to, event.id, now_s_, first_token_s);
  }

  void signal_first_token(RequestId id) {
    if (!workload_.signals.empty()) signal(workload_.signals[id].at_first_token);
  }
  void signal_finish(RequestId id) {
    if (!workload_.signals.empty()) signal(workload_.signals[id].at_finish);
    if (workload_.joins.empty()) end_task();
  }

  void signal(std::uint32_t number) {
    if (number == no_join || --signals_left_[number] > 0) return;
    const Join& join = workload_.joins[number];
    for (std::uint32_t i = 0; i < join.count; ++i)
      send(join.first + i, now_s_ + join.delay_s);
    if (join.ends_task) end_task();
  }

  void end_task() {
    if (workload_.concurrency == 0 || next_root_ >= workload_.tasks()) return;
    send(workload_.root(next_root_++), now_s_);
  }

  const Fleet& front_;
  const Fleet* decode_;
  const KvTransfer& transfer_;
  bool first_token_from_prefill_;
  const Workload& workload_;
  const ServeOptions& options_;
  ServeRun run_;
  std::vector<Pool> pools_;
  std::vector<Notice> notices_;
  std::priority_queue<TimedEvent, std::vector<TimedEvent>, std::greater<>> events_;
  std::uint64_t events_made_ = 0;
  std::size_t next_root_ = 0;  // first task that was not sent
  std::vector<std::uint32_t> signals_left_;
  std::vector<double> sender_free_s_, receiver_free_s_;
  double now_s_ = 0.0;
};

void check_fleet(const Fleet& fleet, const Workload& workload, Diagnostics& found) {
  const Diagnostics wrong = check(fleet.instance);
  found.insert(found.end(), wrong.begin(), wrong.end());
  const auto add = [&found](std::string message) {
    found.push_back(out_of_range("/workload", std::move(message)));
  };
  if (fleet.replicas < 1) add("a fleet needs at least one replica");
  const std::int64_t block = fleet.instance.kv.block_size_tokens;
  if (fleet.instance.engine.prefix_caching && block > 0 && workload.block_tokens % block != 0)
    add(fmt::format("prefix blocks of {} tokens are no whole number of KV blocks of {} tokens",
                    workload.block_tokens, block));
}

void check_load(const Workload& workload, Diagnostics& found) {
  const auto add = [&found](std::string message) {
    found.push_back(out_of_range("/workload/load", std::move(message)));
  };
  if (workload.requests.empty()) add("the load has no requests");
  const auto empty =
      std::find_if(workload.requests.begin(), workload.requests.end(), [](const Request& request) {
        return request.input_tokens == 0 || request.output_tokens == 0;
      });
  if (empty != workload.requests.end())
    add(fmt::format("request {} has {} input and {} output tokens: each must be at least 1",
                    empty - workload.requests.begin(), empty->input_tokens, empty->output_tokens));
  const auto earlier = [&](std::size_t task) {
    return workload.requests[workload.root(task)].arrival_s <
           workload.requests[workload.root(task - 1)].arrival_s;
  };
  for (std::size_t task = 1; task < workload.tasks(); ++task) {
    if (!earlier(task)) continue;
    add(fmt::format("request {} arrives before the one in front of it", workload.root(task)));
    break;
  }
}

}  // namespace

std::string_view name(Routing routing) {
  switch (routing) {
    case Routing::round_robin:
      return "round_robin";
    case Routing::least_loaded:
      return "least_loaded";
    case Routing::prefix_aware:
      return "prefix_aware";
  }
  return "";
}

double transfer_seconds(const KvTransfer& transfer, std::int64_t tokens, double prefill_s) {
  const Bytes kv = transfer.per_token * static_cast<double>(tokens) + transfer.per_sequence;
  const double whole_s = kv.value() / transfer.rate.value();
  if (transfer.pushed_layers <= 0) return transfer.handshake.value() + whole_s;
  const double last_layer_s = whole_s / static_cast<double>(transfer.pushed_layers);
  return transfer.handshake.value() + std::max(last_layer_s, whole_s - prefill_s);
}

Result<ServeRun> serve(const Fleet& fleet, const Workload& workload, const ServeOptions& options) {
  Diagnostics found;
  check_fleet(fleet, workload, found);
  check_load(workload, found);
  if (!found.empty()) return fail(std::move(found));
  return Simulation(fleet, nullptr, {}, true, workload, options).run();
}

Result<ServeRun> serve(const Disaggregated& fleet, const Workload& workload,
                       const ServeOptions& options) {
  Diagnostics found;
  check_fleet(fleet.prefill, workload, found);
  check_fleet(fleet.decode, workload, found);
  check_load(workload, found);
  if (!(fleet.transfer.rate.value() > 0.0))
    found.push_back(out_of_range("/workload", "the KV transfer needs a rate"));
  if (!found.empty()) return fail(std::move(found));
  return Simulation(fleet.prefill, &fleet.decode, fleet.transfer, fleet.first_token_from_prefill,
                    workload, options)
      .run();
}

}  // namespace flowplan::inference
