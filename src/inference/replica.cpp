#include "replica.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "flowplan/base/assert.hpp"

namespace flowplan::inference {

namespace {

constexpr double clock_tolerance = 1e-9;  // tokens: lest rounding takes one away

std::vector<TierRoom> tier_rooms(const EngineSpec& spec, std::int64_t weight, int ranks) {
  std::vector<TierRoom> rooms;
  for (const KvTier& tier : spec.tiers)
    rooms.push_back({weight > 0 ? tier.capacity_blocks * ranks / weight : 0});
  return rooms;
}

std::int64_t prefix_weight(const Instance& instance, const Workload& workload) {
  return instance.engine.prefix_caching ? workload.block_tokens / instance.kv.block_size_tokens : 0;
}

std::int64_t divide_up(std::int64_t amount, std::int64_t parts) {
  return (amount + parts - 1) / parts;
}

}  // namespace

Replica::Replica(const Instance& instance, const Workload& workload, const ServeOptions& options,
                 Role role, RequestRecords& records, PoolTotals& totals, GapHistogram& gaps)
    : instance_(instance),
      spec_(instance.engine),
      kv_(instance.kv),
      workload_(workload),
      options_(options),
      role_(role),
      records_(records),
      totals_(totals),
      gaps_(gaps),
      cache_(instance.kv.capacity_blocks * instance.table.attention_ranks,
             prefix_weight(instance, workload),
             tier_rooms(instance.engine, prefix_weight(instance, workload),
                        instance.table.attention_ranks)),
      lanes_(instance.table.attention_ranks * instance.table.micro_batches),
      most_sequences_(instance.engine.max_sequences * instance.table.attention_ranks),
      phases_(static_cast<std::size_t>(instance.kv.block_size_tokens), 0),
      adapters_(instance.engine.lora.resident) {}

// --- time in tokens ---------------------------------------------------------------------------

std::int64_t Replica::clock(std::uint64_t pass) const {
  const double tokens = spec_.speculation.tokens_per_pass * static_cast<double>(pass);
  return static_cast<std::int64_t>(std::floor(tokens + clock_tolerance));
}

std::uint64_t Replica::passes_to(std::int64_t target) const {
  auto pass =
      static_cast<std::uint64_t>(static_cast<double>(target) / spec_.speculation.tokens_per_pass);
  while (pass > 0 && clock(pass - 1) >= target)
    --pass;
  while (clock(pass) < target)
    ++pass;
  return pass;
}

double Replica::mean_context() const {
  return context_base_ / static_cast<double>(decoding_) +
         spec_.speculation.tokens_per_pass * static_cast<double>(passes_);
}

// --- what sequences hold ----------------------------------------------------------------------

std::span<const BlockRun> Replica::runs(RequestId id) const {
  const Request& r = request(id);
  return std::span(workload_.runs).subspan(r.first_run, r.run_count);
}

std::int64_t Replica::prompt_tokens(RequestId id) const {
  return std::int64_t{request(id).input_tokens} + records_.generated[id];
}

std::int64_t Replica::output_left(RequestId id) const {
  return std::int64_t{request(id).output_tokens} - records_.generated[id];
}

std::int64_t Replica::kv_tokens(const Sequence& sequence) const {
  const std::int64_t decoded =
      sequence.joined_clock < 0 ? 0 : clock(passes_) - sequence.joined_clock;
  return sequence.kv_tokens + decoded;
}

std::int64_t Replica::blocks_held(const Sequence& sequence) const {
  if (spec_.admission == Admission::reserve || sequence.joined_clock < 0)
    return sequence.own_blocks;
  return sequence.own_blocks + kv_.blocks(kv_tokens(sequence)) - kv_.blocks(sequence.kv_tokens);
}

std::int64_t Replica::phase(std::int64_t joined_clock, std::int64_t kv_tokens) const {
  const std::int64_t size = kv_.block_size_tokens;
  return ((joined_clock - kv_tokens + 1) % size + size) % size;
}

std::int64_t Replica::growth(std::int64_t from, std::int64_t to) const {
  if (spec_.admission == Admission::reserve || kv_.blocks(1) == 0) return 0;
  const std::int64_t size = kv_.block_size_tokens;
  std::int64_t blocks = (to - from) / size * decoding_;
  for (std::int64_t tokens = to - (to - from) % size + 1; tokens <= to; ++tokens)
    blocks += phases_[static_cast<std::size_t>(tokens % size)];
  return blocks;
}

std::uint64_t Replica::passes_with_room(std::uint64_t most) const {
  const std::int64_t now = clock(passes_), room = cache_.available();
  const auto fits = [&](std::uint64_t n) { return growth(now, clock(passes_ + n)) <= room; };
  if (fits(most)) return most;
  std::uint64_t low = 1, high = most;  // fits(low), not fits(high)
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

void Replica::drop(std::uint32_t place) {
  Sequence& sequence = sequences_[place];
  cache_.give(blocks_held(sequence));
  cache_.unuse(runs(sequence.id), sequence.shared);
  if (const std::uint16_t adapter = request(sequence.id).adapter;
      adapter > 0 && spec_.lora.resident > 0)
    adapters_.unuse(adapter);
  sequence.order = 0;
  free_places_.push_back(place);
}

void Replica::release(RequestId id) {
  const auto found =
      std::find_if(held_.begin(), held_.end(), [id](const auto& held) { return held.first == id; });
  FLOWPLAN_ASSERT(found != held_.end());
  drop(found->second);
  held_.erase(found);
}

// --- passes -----------------------------------------------------------------------------------

void Replica::schedule(double now_s) {
  segment_ = {};
  extra_s_ = load_s_ = 0.0;
  // Where prompts go first, a pass has either prompts or decoding.
  bool with_decode = true;
  if (spec_.scheduling == Scheduling::prefill_first) {
    open_lanes(false);
    reserved_ = growth(clock(passes_), clock(passes_ + 1));
    plan_chunks();
    admit_all(now_s);
    with_decode = std::none_of(prefills_.begin(), prefills_.end(),
                               [](const Prefill& prefill) { return prefill.chunk > 0; });
    if (with_decode) make_room_for_pass(now_s);
  } else {
    make_room_for_pass(now_s);
    open_lanes(true);
    plan_chunks();
    admit_all(now_s);
  }
  const bool prompts = std::any_of(prefills_.begin(), prefills_.end(),
                                   [](const Prefill& prefill) { return prefill.chunk > 0; });
  if (prompts) {
    start_pass(now_s, with_decode);
  } else if (decoding_ > 0) {
    start_run(now_s);
  }
}

StepLoad Replica::decode_load() const {
  StepLoad load;
  load.decode_sequences = divide_up(decoding_, lanes_);
  load.tokens_per_sequence = 1 + spec_.speculation.draft_tokens;
  load.tokens_all_ranks =
      divide_up(decoding_ * load.tokens_per_sequence, instance_.table.micro_batches);
  load.sequences_all_lanes = decoding_ + static_cast<std::int64_t>(prefills_.size());
  return load;
}

double Replica::extra_seconds(const StepLoad& load) const {
  double seconds = 0.0;
  const Speculation& draft = spec_.speculation;
  if (draft.draft_tokens > 0 && load.decode_sequences > 0)
    seconds += static_cast<double>(draft.draft_tokens) *
               draft.draft_s(static_cast<double>(load.decode_sequences));
  if (adapters_.active() > 0) {
    const double tokens = static_cast<double>(lane_tokens(instance_.table, load));
    seconds +=
        (spec_.lora.per_pass + spec_.lora.per_adapter * static_cast<double>(adapters_.active()) +
         spec_.lora.per_token * tokens)
            .value();
  }
  return seconds;
}

void Replica::start_pass(double now_s, bool with_decode) {
  StepLoad load;
  if (with_decode) {
    load = decode_load();
    if (decoding_ > 0)
      load.decode_context_tokens = mean_context() * static_cast<double>(load.decode_sequences);
  }
  load.sequences_all_lanes = decoding_ + static_cast<std::int64_t>(prefills_.size());
  const std::size_t fullest = static_cast<std::size_t>(
      std::min_element(lane_room_.begin(), lane_room_.end()) - lane_room_.begin());
  std::int64_t prompt_tokens = 0;
  chunks_.clear();
  for (const Prefill& prefill : prefills_) {
    prompt_tokens += prefill.chunk;
    if (prefill.lane != fullest || prefill.chunk == 0) continue;
    chunks_.push_back({prefill.done, prefill.chunk});
    load.finishing_sequences += prefill.done + prefill.chunk == prefill.target;
  }
  load.chunks = chunks_;
  load.tokens_all_ranks += divide_up(prompt_tokens, instance_.table.micro_batches);
  const double pass_s = step_seconds(instance_.table, load) + extra_seconds(load) + extra_s_;

  if (!with_decode && decoding_ > 0) {
    std::int64_t waiting_already = 0;
    for (const LateGroup& group : late_)
      waiting_already += group.count;
    if (waiting_already < decoding_) late_.push_back({now_s, decoding_ - waiting_already});
  }
  segment_.kind = Segment::Kind::pass;
  segment_.start_s = now_s;
  segment_.end_s = now_s + std::max(pass_s, load_s_);
  segment_.passes = with_decode && decoding_ > 0 ? 1 : 0;
  note_start();
  totals_.prefill_tokens += static_cast<double>(prompt_tokens);
  ++totals_.prefill_passes;
}

void Replica::start_run(double now_s) {
  while (!alive(endings_.front())) {
    std::pop_heap(endings_.begin(), endings_.end(), std::greater<>());
    endings_.pop_back();
  }
  const StepLoad load = decode_load();
  // Swapping and loading take part in the first pass only.
  const bool first_differs = extra_s_ > 0.0 || load_s_ > 0.0;
  std::uint64_t passes = 1;
  if (options_.skip && !first_differs && !next_waits())
    passes = passes_with_room(passes_to(endings_.front().clock) - passes_);
  pace_ = DecodePace(instance_.table, load, extra_seconds(load) + extra_s_,
                     spec_.speculation.tokens_per_pass);
  segment_.kind = Segment::Kind::run;
  segment_.start_s = now_s;
  segment_.passes = passes;
  segment_.context = mean_context();
  segment_.end_s = now_s + std::max(pace_.seconds(segment_.context, passes), load_s_);
  note_start();
}

void Replica::note_start() {
  segment_.kv_used = cache_.used();
  segment_.grown = clock(passes_);
  segment_.queued = static_cast<std::int64_t>(waiting_.size());
  segment_.batch = decoding_ + static_cast<std::int64_t>(prefills_.size());
  totals_.peak_batch = std::max(totals_.peak_batch, segment_.batch);
}

void Replica::commit(std::vector<Notice>& notices) {
  if (spec_.async_scheduling) {
    last_start_s_ = segment_.start_s;
    if (segment_.passes > 1) {
      const double last =
          spec_.speculation.tokens_per_pass * static_cast<double>(segment_.passes - 1);
      last_start_s_ = segment_.end_s - pace_.seconds(segment_.context + last, 1);
    }
  }
  if (segment_.passes > 0) commit_decode(notices);
  const bool prompts = segment_.kind == Segment::Kind::pass;
  totals_.passes += std::max<std::uint64_t>(segment_.passes, 1);
  ++totals_.events;
  if (prompts) commit_prefill(notices);
  totals_.busy_s += segment_.end_s - segment_.start_s;
  const double batch = static_cast<double>(segment_.batch);
  // Those that came during the segment waited for a part of it.
  const double queue =
      static_cast<double>(segment_.queued) +
      (segment_.came * segment_.end_s - segment_.came_s) / (segment_.end_s - segment_.start_s);
  const double kv_before = static_cast<double>(segment_.kv_used);
  const double kv_after = static_cast<double>(cache_.used());
  totals_.batch.add(segment_.start_s, segment_.end_s, batch, batch);
  totals_.queue.add(segment_.start_s, segment_.end_s, queue, queue);
  totals_.kv_blocks.add(segment_.start_s, segment_.end_s, kv_before, std::max(kv_before, kv_after));
  segment_ = {};
}

void Replica::commit_decode(std::vector<Notice>& notices) {
  const std::int64_t before = clock(passes_), after = clock(passes_ + segment_.passes);
  record_gaps();
  cache_.take(growth(segment_.grown, after));
  totals_.peak_kv_blocks = std::max(totals_.peak_kv_blocks, cache_.used());
  FLOWPLAN_ASSERT(cache_.resident() <= cache_.capacity());
  passes_ += segment_.passes;
  decode_end_s_ = segment_.end_s;
  totals_.decode_tokens += static_cast<double>((after - before) * decoding_);
  while (!endings_.empty() && (endings_.front().clock <= after || !alive(endings_.front()))) {
    const Ending ending = endings_.front();
    std::pop_heap(endings_.begin(), endings_.end(), std::greater<>());
    endings_.pop_back();
    if (!alive(ending)) continue;
    totals_.decode_tokens -= static_cast<double>(after - ending.clock);
    leave_decode(sequences_[ending.place]);
    finish(ending.place, notices);
  }
}

void Replica::record_gaps() {
  const bool one_pass = segment_.passes == 1;
  const double first_s =
      one_pass ? segment_.end_s - segment_.start_s : pace_.seconds(segment_.context, 1);
  const double first_end_s = segment_.start_s + first_s;
  const bool measured =
      first_end_s >= options_.measure_from_s && segment_.end_s <= options_.measure_to_s;
  std::int64_t late = 0;
  for (const LateGroup& group : late_) {
    late += group.count;
    if (measured && group.count > 0)
      gaps_.add(first_end_s - group.last_token_s, static_cast<double>(group.count));
  }
  late_.clear();
  if (!measured) return;
  if (decoding_ > late) gaps_.add(first_s, static_cast<double>(decoding_ - late));
  if (!one_pass)
    pace_.record(gaps_, segment_.context + spec_.speculation.tokens_per_pass, segment_.passes - 1,
                 static_cast<double>(decoding_));
}

void Replica::commit_prefill(std::vector<Notice>& notices) {
  const double now_s = segment_.end_s;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < prefills_.size(); ++i) {
    Prefill prefill = prefills_[i];
    prefill.done += prefill.chunk;
    prefill.chunk = 0;
    if (prefill.done < prefill.target) {
      prefills_[kept++] = prefill;
    } else {
      finish_prefill(prefill, now_s, notices);
    }
  }
  prefills_.resize(kept);
}

void Replica::share_blocks(Sequence& sequence, std::int64_t tokens) {
  if (!cache_.keeps_prefixes()) return;
  std::int64_t known = 0;
  for (const BlockRun& run : runs(sequence.id))
    known += run.count;
  const auto full = static_cast<std::uint32_t>(std::min(known, tokens / workload_.block_tokens));
  if (full <= sequence.shared) return;
  sequence.own_blocks -= cache_.share(runs(sequence.id), sequence.shared, full);
  sequence.shared = full;
}

void Replica::finish_prefill(const Prefill& prefill, double now_s, std::vector<Notice>& notices) {
  Sequence& sequence = sequences_[prefill.place];
  const RequestId id = sequence.id;
  sequence.kv_tokens = prefill.target;
  share_blocks(sequence, prefill.target);
  if (records_.generated[id]++ == 0) {
    notices.push_back({Notice::Kind::first_token, id});
  } else if (now_s >= options_.measure_from_s && now_s <= options_.measure_to_s) {
    gaps_.add(now_s - prefill.last_token_s, 1.0);
  }
  if (output_left(id) == 0) {
    finish(prefill.place, notices);
  } else if (role_ == Role::prefill) {
    held_.emplace_back(id, prefill.place);
    notices.push_back({Notice::Kind::prefilled, id, now_s - sequence.admitted_s});
  } else {
    join_decode(prefill.place, now_s, now_s);
  }
}

void Replica::join_decode(std::uint32_t place, double now_s, double last_token_s) {
  Sequence& sequence = sequences_[place];
  sequence.joined_pass = passes_;
  sequence.joined_clock = clock(passes_);
  sequence.late_group = -1;
  if (last_token_s < now_s) {
    sequence.late_group = static_cast<std::int32_t>(late_.size());
    late_.push_back({last_token_s, 1});
  }
  ++decoding_;
  context_base_ += static_cast<double>(sequence.kv_tokens + 1) -
                   spec_.speculation.tokens_per_pass * static_cast<double>(passes_);
  ++phases_[static_cast<std::size_t>(phase(sequence.joined_clock, sequence.kv_tokens))];
  endings_.push_back({sequence.joined_clock + output_left(sequence.id), sequence.order, place});
  std::push_heap(endings_.begin(), endings_.end(), std::greater<>());
}

void Replica::leave_decode(const Sequence& sequence) {
  --decoding_;
  --phases_[static_cast<std::size_t>(phase(sequence.joined_clock, sequence.kv_tokens))];
  context_base_ -= static_cast<double>(sequence.kv_tokens + 1) -
                   spec_.speculation.tokens_per_pass * static_cast<double>(sequence.joined_pass);
  if (decoding_ == 0) context_base_ = 0.0;  // no rounding is handed on
}

void Replica::finish(std::uint32_t place, std::vector<Notice>& notices) {
  Sequence& sequence = sequences_[place];
  const RequestId id = sequence.id;
  records_.generated[id] = request(id).output_tokens;
  // What it decoded beyond its last shared block stays for the next turn.
  const std::int64_t growth = blocks_held(sequence) - sequence.own_blocks;
  sequence.own_blocks += growth;
  const std::int64_t tokens = kv_tokens(sequence);
  sequence.kv_tokens = tokens;
  sequence.joined_clock = -1;
  share_blocks(sequence, std::min(tokens, prompt_tokens(id) - 1));
  drop(place);
  notices.push_back({Notice::Kind::finished, id});
}

void Replica::stop(double now_s) {
  if (segment_.kind == Segment::Kind::run && segment_.start_s < now_s) {
    const std::uint64_t passes = passes_done(now_s);
    if (passes > 0) {
      segment_.passes = passes;
      segment_.end_s = segment_.start_s + pace_.seconds(segment_.context, passes);
      std::vector<Notice> none;
      commit(none);
      FLOWPLAN_ASSERT(none.empty());
    }
  }
  for (const Waiting& waiting : waiting_)
    records_.outcome[waiting.id] = Outcome::waiting;
  for (const Sequence& sequence : sequences_) {
    if (sequence.order == 0) continue;
    records_.outcome[sequence.id] = Outcome::running;
    if (sequence.joined_clock >= 0)
      records_.generated[sequence.id] +=
          static_cast<std::uint32_t>(clock(passes_) - sequence.joined_clock);
  }
}

}  // namespace flowplan::inference
