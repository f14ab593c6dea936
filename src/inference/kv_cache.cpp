#include "flowplan/inference/kv_cache.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "flowplan/base/assert.hpp"

namespace flowplan::inference {

namespace {

constexpr std::size_t first_slots = 64;  // a power of two

std::uint32_t scattered(std::uint32_t id) {
  std::uint64_t x = (id + 1) * 0x9e3779b97f4a7c15u;
  return static_cast<std::uint32_t>(x >> 32);
}

/// Calls `visit(id, number)` for blocks [from, to) in order until it returns false.
template <class Visit>
void walk(std::span<const BlockRun> runs, std::uint32_t from, std::uint32_t to, Visit&& visit) {
  std::uint32_t number = 0;
  for (const BlockRun& run : runs) {
    if (number >= to) return;
    const std::uint32_t begin = std::max(from, number) - number;
    const std::uint32_t end = std::min(run.count, to - number);
    for (std::uint32_t i = begin; i < end; ++i)
      if (!visit(run.first + i, number + i)) return;
    number += run.count;
  }
}

template <class Visit>
void walk_back(std::span<const BlockRun> runs, std::uint32_t count, Visit&& visit) {
  std::uint32_t number =
      std::accumulate(runs.begin(), runs.end(), 0u,
                      [](std::uint32_t sum, const BlockRun& r) { return sum + r.count; });
  for (std::size_t r = runs.size(); r-- > 0;) {
    number -= runs[r].count;
    if (number >= count) continue;
    for (std::uint32_t i = std::min(runs[r].count, count - number); i-- > 0;)
      visit(runs[r].first + i);
  }
}

}  // namespace

BlockTable::BlockTable() : slots_(first_slots, 0) {}

std::size_t BlockTable::place(std::uint32_t id) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = scattered(id) & mask;
  while (slots_[slot] != 0 && entries_[slots_[slot] - 1].id != id)
    slot = (slot + 1) & mask;
  return slot;
}

std::uint32_t BlockTable::find(std::uint32_t id) const {
  const std::uint32_t found = slots_[place(id)];
  return found == 0 ? none : found - 1;
}

std::uint32_t BlockTable::insert(std::uint32_t id) {
  if (2 * (live_ + 1) > slots_.size()) grow();
  std::uint32_t entry = 0;
  if (free_entries_.empty()) {
    entry = static_cast<std::uint32_t>(entries_.size());
    entries_.push_back({});
  } else {
    entry = free_entries_.back();
    free_entries_.pop_back();
  }
  entries_[entry] = {id, 1, none, none};
  slots_[place(id)] = entry + 1;
  ++live_;
  return entry;
}

void BlockTable::use(std::uint32_t entry) {
  if (entries_[entry].users++ == 0) unlink(entry);
}

void BlockTable::unuse(std::uint32_t entry) {
  if (--entries_[entry].users == 0) link_newest(entry);
}

void BlockTable::touch(std::uint32_t entry) {
  unlink(entry);
  link_newest(entry);
}

std::uint32_t BlockTable::evict() {
  FLOWPLAN_ASSERT(oldest_ != none);
  const std::uint32_t entry = oldest_, id = entries_[entry].id;
  unlink(entry);
  erase(id);
  free_entries_.push_back(entry);
  --live_;
  return id;
}

void BlockTable::unlink(std::uint32_t entry) {
  const Entry& e = entries_[entry];
  (e.older == none ? oldest_ : entries_[e.older].newer) = e.newer;
  (e.newer == none ? newest_ : entries_[e.newer].older) = e.older;
  --unused_;
}

void BlockTable::link_newest(std::uint32_t entry) {
  entries_[entry].older = newest_;
  entries_[entry].newer = none;
  (newest_ == none ? oldest_ : entries_[newest_].newer) = entry;
  newest_ = entry;
  ++unused_;
}

// Removes an id and moves later ones of its chain up, so that no search ends early.
void BlockTable::erase(std::uint32_t id) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t hole = place(id);
  for (std::size_t slot = (hole + 1) & mask; slots_[slot] != 0; slot = (slot + 1) & mask) {
    const std::size_t home = scattered(entries_[slots_[slot] - 1].id) & mask;
    if (((slot - home) & mask) < ((slot - hole) & mask)) continue;
    slots_[hole] = slots_[slot];
    hole = slot;
  }
  slots_[hole] = 0;
}

void BlockTable::grow() {
  std::vector<std::uint32_t> old(slots_.size() * 2, 0);
  old.swap(slots_);
  for (const std::uint32_t slot : old)
    if (slot != 0) slots_[place(entries_[slot - 1].id)] = slot;
}

KvCache::KvCache(std::int64_t capacity_blocks, std::int64_t weight, std::vector<TierRoom> tiers)
    : capacity_(capacity_blocks), weight_(weight) {
  for (const TierRoom& tier : tiers)
    tiers_.push_back({tier.prefix_blocks, {}});
}

void KvCache::take(std::int64_t blocks) {
  make_room(blocks);
  own_ += blocks;
}

void KvCache::make_room(std::int64_t blocks) {
  FLOWPLAN_ASSERT(blocks <= available());
  if (weight_ == 0) return;
  while (capacity_ - resident() < blocks)
    demote(table_.evict(), 0);
}

// Iterative: what a tier has no room for goes to the next one.
void KvCache::demote(std::uint32_t id, std::size_t tier) {
  for (; tier < tiers_.size(); ++tier) {
    Tier& below = tiers_[tier];
    if (below.room <= 0) continue;
    if (const std::uint32_t entry = below.table.find(id); entry != BlockTable::none) {
      below.table.touch(entry);
      return;
    }
    const bool full = static_cast<std::int64_t>(below.table.size()) >= below.room;
    const std::uint32_t next = full ? below.table.evict() : id;
    below.table.unuse(below.table.insert(id));
    if (!full) return;
    id = next;
  }
}

std::uint32_t KvCache::Match::from_tiers() const {
  return std::accumulate(tier.begin(), tier.end(), 0u);
}

KvCache::Match KvCache::match(std::span<const BlockRun> runs, std::uint32_t limit) const {
  Match found;
  if (weight_ == 0) return found;
  found.tier.assign(tiers_.size(), 0);
  walk(runs, 0, limit, [&](std::uint32_t id, std::uint32_t) {
    if (const std::uint32_t entry = table_.find(id); entry != BlockTable::none) {
      found.unused += !table_.is_used(entry);
    } else {
      const auto tier = std::find_if(tiers_.begin(), tiers_.end(), [id](const Tier& t) {
        return t.table.find(id) != BlockTable::none;
      });
      if (tier == tiers_.end()) return false;
      ++found.tier[static_cast<std::size_t>(tier - tiers_.begin())];
    }
    ++found.blocks;
    return true;
  });
  return found;
}

std::uint32_t KvCache::resident_prefix(std::span<const BlockRun> runs, std::uint32_t limit) const {
  std::uint32_t count = 0;
  if (weight_ == 0) return count;
  walk(runs, 0, limit, [&](std::uint32_t id, std::uint32_t) {
    if (table_.find(id) == BlockTable::none) return false;
    ++count;
    return true;
  });
  return count;
}

void KvCache::use(std::span<const BlockRun> runs, std::uint32_t count) {
  // First those that are here, lest making room for the others drop them.
  walk(runs, 0, count, [&](std::uint32_t id, std::uint32_t) {
    if (const std::uint32_t entry = table_.find(id); entry != BlockTable::none) table_.use(entry);
    return true;
  });
  if (tiers_.empty()) return;
  walk(runs, 0, count, [&](std::uint32_t id, std::uint32_t) {
    if (table_.find(id) != BlockTable::none) return true;
    make_room(weight_);
    table_.insert(id);
    return true;
  });
}

std::int64_t KvCache::share(std::span<const BlockRun> runs, std::uint32_t from, std::uint32_t to) {
  std::int64_t own_before = 0;
  walk(runs, from, to, [&](std::uint32_t id, std::uint32_t) {
    own_ -= weight_;  // they become the table's; where another computed the same, they are free
    own_before += weight_;
    if (const std::uint32_t entry = table_.find(id); entry != BlockTable::none) {
      table_.use(entry);
    } else {
      table_.insert(id);
    }
    return true;
  });
  return own_before;
}

void KvCache::unuse(std::span<const BlockRun> runs, std::uint32_t count) {
  walk_back(runs, count, [&](std::uint32_t id) { table_.unuse(table_.find(id)); });
}

}  // namespace flowplan::inference
