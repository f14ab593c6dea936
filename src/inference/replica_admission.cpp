// Who gets into a pass of a replica, and who has to leave.
#include <algorithm>
#include <cmath>

#include "flowplan/base/assert.hpp"
#include "replica.hpp"

namespace flowplan::inference {

std::int64_t Replica::cached_tokens(RequestId id, double now_s) {
  catch_up(now_s);
  const std::int64_t limit = prefix_limit(id, prompt_tokens(id));
  return workload_.block_tokens *
         cache_.resident_prefix(runs(id), static_cast<std::uint32_t>(limit));
}

// Blocks that the passes of a run took so far are taken when it ends; where that drops prefixes,
// whoever looks at the cache must see it before.
void Replica::catch_up(double now_s) {
  if (segment_.kind != Segment::Kind::run || !cache_.keeps_prefixes()) return;
  const std::int64_t end = clock(passes_ + segment_.passes);
  if (cache_.capacity() - cache_.resident() >= growth(segment_.grown, end)) return;
  const std::int64_t reached = clock(passes_ + passes_done(now_s));
  cache_.take(growth(segment_.grown, reached));
  segment_.grown = reached;
}

// Passes of a run that have ended by then.
std::uint64_t Replica::passes_done(double now_s) const {
  if (now_s <= segment_.start_s) return 0;
  const std::uint64_t passes =
      pace_.passes_until(segment_.context, now_s - segment_.start_s, segment_.passes);
  const bool last_runs = segment_.start_s + pace_.seconds(segment_.context, passes) > now_s;
  return passes - (last_runs ? 1 : 0);
}

void Replica::deliver(RequestId id, double now_s) {
  enqueue({id, false, false, now_s, -1.0}, now_s);
}

void Replica::deliver_prefilled(RequestId id, double now_s, double last_token_s) {
  enqueue({id, true, false, now_s, last_token_s}, now_s);
}

// A run of decode passes ends early when the newcomer can join it.
void Replica::enqueue(const Waiting& waiting, double now_s) {
  waiting_.push_back(waiting);
  segment_.came += 1.0;
  segment_.came_s += now_s;
  if (segment_.kind != Segment::Kind::run || segment_.passes == 1) return;
  const bool is_next = waiting_.size() == 1 || spec_.lora.resident > 0;
  if (!is_next || !might_admit(waiting)) return;
  std::uint64_t passes =
      pace_.passes_until(segment_.context, now_s - segment_.start_s, segment_.passes);
  passes += spec_.async_scheduling;  // the one after it is queued already
  if (passes >= segment_.passes) return;
  segment_.passes = passes;
  segment_.end_s = segment_.start_s + pace_.seconds(segment_.context, passes);
}

bool Replica::eligible(const Waiting& waiting) const {
  if (!spec_.async_scheduling || (decoding_ == 0 && prefills_.empty())) return true;
  return waiting.since_s <= last_start_s_;
}

// Whether one that cannot be let in yet for its time alone is waiting. Where one without room for
// its adapter is passed over, that may be a later one.
bool Replica::next_waits() const {
  if (waiting_.empty()) return false;
  return !eligible(spec_.lora.resident > 0 ? waiting_.back() : waiting_.front());
}

bool Replica::might_admit(const Waiting& waiting) const {
  if (decoding_ + static_cast<std::int64_t>(prefills_.size()) >= most_sequences_) return false;
  return cache_.keeps_prefixes() || blocks_needed(waiting) <= cache_.available();
}

std::int64_t Replica::blocks_needed(const Waiting& waiting) const {
  const RequestId id = waiting.id;
  std::int64_t tokens = prompt_tokens(id) - (waiting.has_kv ? 1 : 0);
  if (spec_.admission == Admission::reserve && role_ == Role::whole)
    tokens = std::int64_t{request(id).input_tokens} + request(id).output_tokens - 1;
  return kv_.blocks(tokens) + kv_.blocks_per_sequence();
}

bool Replica::enough_room(std::int64_t blocks) const {
  const bool alone = decoding_ == 0 && prefills_.empty();
  const double kept_free = alone ? 0.0 : spec_.free_share * static_cast<double>(cache_.capacity());
  return blocks + reserved_ + static_cast<std::int64_t>(std::ceil(kept_free)) <= cache_.available();
}

void Replica::open_lanes(bool with_decode) {
  const std::int64_t decode =
      with_decode ? (decoding_ + lanes_ - 1) / lanes_ * (1 + spec_.speculation.draft_tokens) : 0;
  lane_room_.assign(static_cast<std::size_t>(lanes_),
                    std::max<std::int64_t>(0, spec_.token_budget - decode));
}

std::size_t Replica::emptiest_lane() const {
  return static_cast<std::size_t>(std::max_element(lane_room_.begin(), lane_room_.end()) -
                                  lane_room_.begin());
}

void Replica::plan_chunks() {
  for (Prefill& prefill : prefills_)
    plan_chunk(prefill);
}

void Replica::plan_chunk(Prefill& prefill) {
  std::int64_t& room = lane_room_[prefill.lane];
  const std::int64_t left = prefill.target - prefill.done;
  prefill.chunk = spec_.chunked_prefill ? std::min(left, room) : left;
  room -= prefill.chunk;
}

// Whole prompts: one that is longer than any budget goes alone.
bool Replica::lane_takes(std::int64_t tokens) const {
  const std::int64_t room = lane_room_[emptiest_lane()];
  if (spec_.chunked_prefill) return room > 0;
  return room >= tokens || (tokens > spec_.token_budget && prefills_.empty());
}

void Replica::admit_all(double now_s) {
  std::size_t next = 0;
  while (next < waiting_.size() && eligible(waiting_[next])) {
    const Entry entry = admit(waiting_[next], now_s);
    if (entry == Entry::blocked) return;
    if (entry == Entry::admitted) {
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(next));
    } else {
      ++next;  // its adapter has no room: the next one may have
    }
  }
}

Replica::Entry Replica::admit(const Waiting& waiting, double now_s) {
  if (decoding_ + static_cast<std::int64_t>(prefills_.size()) >= most_sequences_)
    return Entry::blocked;
  const std::uint16_t adapter = spec_.lora.resident > 0 ? request(waiting.id).adapter : 0;
  if (adapter > 0 && !adapters_.has_room(adapter)) return Entry::passed_over;
  if (!(waiting.has_kv ? admit_with_kv(waiting, now_s) : admit_prompt(waiting, now_s)))
    return Entry::blocked;
  if (adapter > 0 && adapters_.use(adapter) == ResidentAdapters::Use::loaded)
    extra_s_ += spec_.lora.load.value();
  return Entry::admitted;
}

std::int64_t Replica::prefix_limit(RequestId id, std::int64_t tokens) const {
  if (!cache_.keeps_prefixes()) return 0;
  std::int64_t known = 0;
  for (const BlockRun& run : runs(id))
    known += run.count;
  return std::min(known, (tokens - 1) / workload_.block_tokens);  // one token is always computed
}

// Leading blocks that need not be computed: those on the GPU, and those of tiers where reading is
// faster than computing.
KvCache::Match Replica::match(RequestId id, std::int64_t tokens) const {
  const auto limit = static_cast<std::uint32_t>(prefix_limit(id, tokens));
  KvCache::Match found = cache_.match(runs(id), limit);
  if (found.from_tiers() == 0) return found;
  const StepTable& table = instance_.table;
  const double all = static_cast<double>(found.blocks * workload_.block_tokens);
  const double here =
      static_cast<double>((found.blocks - found.from_tiers()) * workload_.block_tokens);
  const double recompute_s = table.dense_s(all) - table.dense_s(here) +
                             table.prefill_attention_s(all) - table.prefill_attention_s(here);
  if (tier_seconds(found) < recompute_s) return found;
  return cache_.match(runs(id), cache_.resident_prefix(runs(id), limit));
}

double Replica::tier_seconds(const KvCache::Match& found) const {
  const double block_bytes =
      kv_.full_per_token.value() * static_cast<double>(workload_.block_tokens);
  double seconds = 0.0;
  for (std::size_t t = 0; t < found.tier.size(); ++t)
    if (found.tier[t] > 0) seconds += found.tier[t] * block_bytes / spec_.tiers[t].read.value();
  return seconds;
}

bool Replica::admit_prompt(const Waiting& waiting, double now_s) {
  const RequestId id = waiting.id;
  const std::int64_t tokens = prompt_tokens(id);
  if (!lane_takes(tokens)) return false;
  const std::int64_t needed = blocks_needed(waiting);
  if (!cache_.keeps_prefixes() && !enough_room(needed)) return false;
  const KvCache::Match found = match(id, tokens);
  const std::int64_t weight =
      cache_.keeps_prefixes() ? workload_.block_tokens / kv_.block_size_tokens : 0;
  const std::int64_t own = needed - weight * found.blocks;
  if (!enough_room(own + weight * (found.unused + found.from_tiers()))) return false;

  const std::uint32_t place = new_sequence(id, now_s);
  Sequence& sequence = sequences_[place];
  cache_.use(runs(id), found.blocks);
  cache_.take(own);
  sequence.own_blocks = own;
  sequence.shared = found.blocks;
  load_s_ += tier_seconds(found);
  totals_.tier_blocks += found.from_tiers();
  const std::int64_t done = found.blocks * workload_.block_tokens;
  if (records_.generated[id] == 0) records_.cached_tokens[id] = static_cast<std::uint32_t>(done);
  prefills_.push_back({place, tokens, done, 0, emptiest_lane(), waiting.last_token_s});
  plan_chunk(prefills_.back());
  return true;
}

bool Replica::admit_with_kv(const Waiting& waiting, double now_s) {
  const std::int64_t needed = blocks_needed(waiting);
  const std::int64_t kv_tokens = prompt_tokens(waiting.id) - 1;
  // Its next tokens may begin a block.
  const std::int64_t in_pass = clock(passes_ + 1) - clock(passes_);
  const std::int64_t next = spec_.admission == Admission::on_demand
                                ? kv_.blocks(kv_tokens + in_pass) - kv_.blocks(kv_tokens)
                                : 0;
  if (!enough_room(needed + next)) return false;
  const std::uint32_t place = new_sequence(waiting.id, now_s);
  cache_.take(needed);
  sequences_[place].own_blocks = needed;
  sequences_[place].kv_tokens = kv_tokens;
  reserved_ += next;
  if (waiting.swapped) {
    swapped_blocks_ -= kv_.blocks(kv_tokens);
    extra_s_ += swap_seconds(kv_tokens);
  }
  join_decode(place, now_s, waiting.last_token_s);
  std::int64_t& room = lane_room_[emptiest_lane()];
  room = std::max<std::int64_t>(0, room - 1 - spec_.speculation.draft_tokens);
  return true;
}

std::uint32_t Replica::new_sequence(RequestId id, double now_s) {
  std::uint32_t place = 0;
  if (free_places_.empty()) {
    place = static_cast<std::uint32_t>(sequences_.size());
    sequences_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  Sequence& sequence = sequences_[place];
  sequence = {};
  sequence.id = id;
  sequence.order = ++orders_;
  sequence.joined_clock = -1;
  sequence.admitted_s = now_s;
  if (spec_.admission == Admission::on_demand && role_ == Role::whole) {
    // Only the last ones alive are ever looked at; the ended ones go when they are the most.
    if (admitted_.size() > 2 * (sequences_.size() + 1))
      std::erase_if(admitted_, [this](const auto& entry) {
        return sequences_[entry.second].order != entry.first;
      });
    admitted_.emplace_back(sequence.order, place);
  }
  return place;
}

double Replica::swap_seconds(std::int64_t kv_tokens) const {
  return kv_.sequence_bytes(kv_tokens) / spec_.swap_rate / Seconds(1.0);
}

void Replica::make_room_for_pass(double now_s) {
  reserved_ = growth(clock(passes_), clock(passes_ + 1));
  while (reserved_ > cache_.available()) {
    preempt_last(now_s);
    reserved_ = growth(clock(passes_), clock(passes_ + 1));
  }
}

void Replica::preempt_last(double now_s) {
  while (sequences_[admitted_.back().second].order != admitted_.back().first)
    admitted_.pop_back();
  const std::uint32_t place = admitted_.back().second;
  admitted_.pop_back();
  const Sequence sequence = sequences_[place];
  Waiting again{sequence.id, false, false, -1.0, -1.0};
  if (sequence.joined_clock >= 0) {
    again.last_token_s = forget_late(sequence, now_s);
    const std::int64_t kv = kv_tokens(sequence);
    records_.generated[sequence.id] +=
        static_cast<std::uint32_t>(clock(passes_) - sequence.joined_clock);
    if (spec_.preemption == Preemption::swap &&
        swapped_blocks_ + kv_.blocks(kv) <= spec_.swap_blocks) {
      again.has_kv = again.swapped = true;
      swapped_blocks_ += kv_.blocks(kv);
      extra_s_ += swap_seconds(kv);
      ++totals_.swaps;
    }
  } else {
    const auto prefill = std::find_if(prefills_.begin(), prefills_.end(),
                                      [place](const Prefill& p) { return p.place == place; });
    again.last_token_s = prefill->last_token_s;
    prefills_.erase(prefill);
  }
  drop(place);
  if (sequence.joined_clock >= 0) leave_decode(sequence);
  waiting_.push_front(again);
  ++totals_.preemptions;
  if (records_.preemptions[sequence.id] < 0xffff) ++records_.preemptions[sequence.id];
}

// When a sequence that leaves decoding gave out its last token; it is no longer among the late.
double Replica::forget_late(const Sequence& sequence, double now_s) {
  const bool own_group = sequence.late_group >= 0 && sequence.joined_pass == passes_;
  for (std::size_t g = 0; g < late_.size(); ++g) {
    LateGroup& group = late_[g];
    const bool its = own_group ? static_cast<std::size_t>(sequence.late_group) == g
                     : sequence.joined_pass < passes_ ? group.last_token_s == decode_end_s_
                                                      : group.last_token_s > decode_end_s_;
    if (!its || group.count == 0) continue;
    --group.count;
    return group.last_token_s;
  }
  return sequence.joined_pass < passes_ ? decode_end_s_ : now_s;
}

}  // namespace flowplan::inference
