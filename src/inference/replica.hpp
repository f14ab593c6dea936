#pragma once

#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "decode_pace.hpp"
#include "flowplan/inference/kv_cache.hpp"
#include "flowplan/inference/serve.hpp"
#include "resident_adapters.hpp"

namespace flowplan::inference {

/// What a replica has to tell its driver after a pass.
struct Notice {
  enum class Kind { first_token, prefilled, finished };
  Kind kind;
  RequestId id;
  double prefill_s = 0.0;  ///< prefilled: how long since its first chunk began
};

/// One serving instance, moved from event to event by its driver: `deliver` requests, `commit` what
/// runs when `next_event` has come, then `schedule` what runs next.
class Replica {
 public:
  /// `prefill`: prompts and their first token only; their KV stays until `release`.
  enum class Role { whole, prefill };

  /// References must outlive the replica.
  Replica(const Instance& instance, const Workload& workload, const ServeOptions& options,
          Role role, RequestRecords& records, PoolTotals& totals, GapHistogram& gaps);

  /// When what runs ends; infinite when nothing does.
  [[nodiscard]] double next_event() const { return segment_.end_s; }
  [[nodiscard]] bool idle() const { return segment_.kind == Segment::Kind::none; }
  [[nodiscard]] std::int64_t requests() const {
    return static_cast<std::int64_t>(waiting_.size() + prefills_.size()) + decoding_;
  }
  /// Prompt tokens of a request that its cache has at `now_s`.
  [[nodiscard]] std::int64_t cached_tokens(RequestId id, double now_s);

  /// A new request enters the queue at `now_s`.
  void deliver(RequestId id, double now_s);
  /// A request whose prompt was computed elsewhere and whose KV is here; its last token was seen at
  /// `last_token_s`.
  void deliver_prefilled(RequestId id, double now_s, double last_token_s);
  /// The KV of a request that was announced as prefilled is no longer needed.
  void release(RequestId id);

  /// Ends what runs, at `next_event()`; `notices` are appended to.
  void commit(std::vector<Notice>& notices);
  /// Starts what runs next, if anything can.
  void schedule(double now_s);
  /// The clock stops: whole passes of what runs until then count.
  void stop(double now_s);

 private:
  struct Segment {
    enum class Kind { none, pass, run };  // a pass with prompts; a run of decode passes
    Kind kind = Kind::none;
    double start_s = 0.0, end_s = std::numeric_limits<double>::infinity();
    std::uint64_t passes = 0;             // of decoding; 0 where decoding waits
    double context = 0.0;                 // mean, at the start
    std::int64_t kv_used = 0, batch = 0;  // at the start
    std::int64_t grown = 0;               // clock up to which blocks were taken
    std::int64_t queued = 0;              // at the start
    double came_s = 0.0, came = 0.0;      // into the queue since: sum of times, how many
  };
  struct Sequence {
    RequestId id = 0;
    std::uint32_t order = 0;        // of admission; 0: the place is free
    std::int64_t kv_tokens = 0;     // stored when it joined decoding
    std::int64_t own_blocks = 0;    // not shared, when it joined
    std::int64_t joined_clock = 0;  // -1: still in prefill
    std::uint64_t joined_pass = 0;
    std::uint32_t shared = 0;  // prefix blocks it uses
    std::int32_t late_group = -1;
    double admitted_s = 0.0;
  };
  struct Prefill {
    std::uint32_t place;
    std::int64_t target, done, chunk;  // tokens; `chunk` in the pass that is planned or runs
    std::size_t lane;
    double last_token_s;  // before it was preempted; -1: none yet
  };
  struct Waiting {
    RequestId id;
    bool has_kv;  // its KV is here or on the host: it need not be computed
    bool swapped;
    double since_s, last_token_s;  // -1: none yet
  };
  struct Ending {
    std::int64_t clock;
    std::uint32_t order, place;
    bool operator>(const Ending& other) const {
      return std::pair(clock, order) > std::pair(other.clock, other.order);
    }
  };
  /// Sequences whose last token came before the last decode pass ended.
  struct LateGroup {
    double last_token_s;
    std::int64_t count;
  };

  // Tokens given out by a sequence that decodes from the start, after so many passes.
  [[nodiscard]] std::int64_t clock(std::uint64_t pass) const;
  [[nodiscard]] std::uint64_t passes_to(std::int64_t clock) const;
  [[nodiscard]] double mean_context() const;
  [[nodiscard]] const Request& request(RequestId id) const { return workload_.requests[id]; }
  [[nodiscard]] std::span<const BlockRun> runs(RequestId id) const;
  /// Prompt tokens to compute: the prompt and what a preempted sequence had given out.
  [[nodiscard]] std::int64_t prompt_tokens(RequestId id) const;
  [[nodiscard]] std::int64_t output_left(RequestId id) const;
  [[nodiscard]] std::int64_t kv_tokens(const Sequence& sequence) const;
  [[nodiscard]] std::int64_t blocks_held(const Sequence& sequence) const;

  // Blocks that decoding sequences grow by from one clock to another.
  [[nodiscard]] std::int64_t growth(std::int64_t from, std::int64_t to) const;
  [[nodiscard]] std::int64_t phase(std::int64_t joined_clock, std::int64_t kv_tokens) const;
  [[nodiscard]] std::uint64_t passes_with_room(std::uint64_t most) const;

  void catch_up(double now_s);
  [[nodiscard]] std::uint64_t passes_done(double now_s) const;
  void enqueue(const Waiting& waiting, double now_s);
  [[nodiscard]] bool next_waits() const;
  [[nodiscard]] bool eligible(const Waiting& waiting) const;
  [[nodiscard]] bool might_admit(const Waiting& waiting) const;
  [[nodiscard]] std::int64_t blocks_needed(const Waiting& waiting) const;
  [[nodiscard]] bool enough_room(std::int64_t blocks) const;
  [[nodiscard]] std::int64_t prefix_limit(RequestId id, std::int64_t tokens) const;
  [[nodiscard]] KvCache::Match match(RequestId id, std::int64_t tokens) const;
  [[nodiscard]] double tier_seconds(const KvCache::Match& found) const;
  enum class Entry { admitted, blocked, passed_over };
  Entry admit(const Waiting& waiting, double now_s);
  bool admit_prompt(const Waiting& waiting, double now_s);
  bool admit_with_kv(const Waiting& waiting, double now_s);
  void admit_all(double now_s);
  std::uint32_t new_sequence(RequestId id, double now_s);

  void open_lanes(bool with_decode);
  [[nodiscard]] std::size_t emptiest_lane() const;
  [[nodiscard]] bool lane_takes(std::int64_t tokens) const;
  void plan_chunks();
  void plan_chunk(Prefill& prefill);

  void make_room_for_pass(double now_s);
  void preempt_last(double now_s);
  double forget_late(const Sequence& sequence, double now_s);
  [[nodiscard]] double swap_seconds(std::int64_t kv_tokens) const;
  void drop(std::uint32_t place);

  [[nodiscard]] StepLoad decode_load() const;
  [[nodiscard]] double extra_seconds(const StepLoad& load) const;
  void start_pass(double now_s, bool with_decode);
  void start_run(double now_s);
  void note_start();

  void commit_decode(std::vector<Notice>& notices);
  void record_gaps();
  void commit_prefill(std::vector<Notice>& notices);
  void finish_prefill(const Prefill& prefill, double now_s, std::vector<Notice>& notices);
  void share_blocks(Sequence& sequence, std::int64_t tokens);
  void join_decode(std::uint32_t place, double now_s, double last_token_s);
  void leave_decode(const Sequence& sequence);
  void finish(std::uint32_t place, std::vector<Notice>& notices);
  [[nodiscard]] bool alive(const Ending& ending) const {
    return sequences_[ending.place].order == ending.order;
  }

  const Instance& instance_;
  const EngineSpec& spec_;
  const KvGeometry& kv_;
  const Workload& workload_;
  const ServeOptions& options_;
  Role role_;
  RequestRecords& records_;
  PoolTotals& totals_;
  GapHistogram& gaps_;

  KvCache cache_;
  std::int64_t lanes_, most_sequences_;
  std::deque<Waiting> waiting_;
  std::vector<Sequence> sequences_;
  std::vector<std::uint32_t> free_places_;
  std::vector<Prefill> prefills_;
  std::vector<Ending> endings_;  // heap, some of them of sequences preempted since
  std::vector<std::pair<std::uint32_t, std::uint32_t>> admitted_;  // (order, place), old to new
  std::vector<std::pair<RequestId, std::uint32_t>> held_;          // prefilled, not released
  std::vector<LateGroup> late_;
  std::vector<std::int64_t> phases_;  // decoding sequences by where they cross into a new block
  ResidentAdapters adapters_;

  std::vector<std::int64_t> lane_room_;  // tokens, of the pass being planned
  std::vector<Chunk> chunks_;
  Segment segment_;
  DecodePace pace_;
  std::uint32_t orders_ = 0;
  std::int64_t decoding_ = 0;
  std::uint64_t passes_ = 0;    // of decoding so far
  double context_base_ = 0.0;   // sum over decoding of context - tokens_per_pass * pass
  double last_start_s_ = -1.0;  // of the last pass
  double decode_end_s_ = 0.0;   // of the last decode pass
  double extra_s_ = 0.0;        // beside the pass planned: swaps, adapters loaded
  double load_s_ = 0.0;         // reading from tiers, hidden behind the pass
  std::int64_t reserved_ = 0;   // blocks that decoding grows by in the pass being planned
  std::int64_t swapped_blocks_ = 0;
};

}  // namespace flowplan::inference
