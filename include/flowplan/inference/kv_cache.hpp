#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "flowplan/inference/request.hpp"

namespace flowplan::inference {

/// Prefix blocks by id, the unused ones in order of their last use. Ids are found in an
/// open-addressing table, so that millions of look-ups a second cost no allocation.
class BlockTable {
 public:
  static constexpr std::uint32_t none = 0xffffffffu;

  BlockTable();
  /// Entry of an id; `none` when it is not there.
  [[nodiscard]] std::uint32_t find(std::uint32_t id) const;
  /// Adds an id that is not there, in use once.
  std::uint32_t insert(std::uint32_t id);
  /// One more user of an entry.
  void use(std::uint32_t entry);
  /// One user less; the last one makes it the most recently unused.
  void unuse(std::uint32_t entry);
  /// Moves an unused entry to the most recently unused.
  void touch(std::uint32_t entry);
  /// Removes the entry unused for longest and returns its id. There must be one.
  std::uint32_t evict();

  [[nodiscard]] std::size_t size() const { return live_; }
  [[nodiscard]] std::size_t unused() const { return unused_; }
  [[nodiscard]] bool is_used(std::uint32_t entry) const { return entries_[entry].users > 0; }

 private:
  struct Entry {
    std::uint32_t id, users, older, newer;
  };
  [[nodiscard]] std::size_t place(std::uint32_t id) const;
  void unlink(std::uint32_t entry);
  void link_newest(std::uint32_t entry);
  void erase(std::uint32_t id);
  void grow();

  std::vector<Entry> entries_;
  std::vector<std::uint32_t> free_entries_;
  std::vector<std::uint32_t> slots_;  // entry + 1; 0: empty
  std::uint32_t oldest_ = none, newest_ = none;
  std::size_t live_ = 0, unused_ = 0;
};

/// Room of one tier behind the GPU, in prefix blocks.
struct TierRoom {
  std::int64_t prefix_blocks = 0;
};

/// Paged KV memory of an engine: blocks of sequences, and prefix blocks that stay after their last
/// user until room is needed. A prefix block takes `weight` KV blocks.
class KvCache {
 public:
  /// `capacity_blocks` in KV blocks. `weight` 0: no prefix caching.
  KvCache(std::int64_t capacity_blocks, std::int64_t weight, std::vector<TierRoom> tiers = {});

  [[nodiscard]] std::int64_t capacity() const { return capacity_; }
  [[nodiscard]] bool keeps_prefixes() const { return weight_ > 0; }
  /// Blocks that can be taken: free ones and those of unused prefixes.
  [[nodiscard]] std::int64_t available() const {
    return capacity_ - own_ - weight_ * static_cast<std::int64_t>(table_.size() - table_.unused());
  }
  /// Blocks in use by sequences, shared ones counted once.
  [[nodiscard]] std::int64_t used() const { return capacity_ - available(); }
  /// Blocks in use or kept for a later hit; never above the capacity.
  [[nodiscard]] std::int64_t resident() const {
    return own_ + weight_ * static_cast<std::int64_t>(table_.size());
  }

  /// Takes blocks for one sequence alone, dropping unused prefixes where needed; `blocks` <=
  /// available().
  void take(std::int64_t blocks);
  void give(std::int64_t blocks) { own_ -= blocks; }

  /// Leading prefix blocks of a prompt that need not be computed.
  struct Match {
    std::uint32_t blocks = 0;         ///< of them all, at most `limit`
    std::uint32_t unused = 0;         ///< resident and unused: using them takes from `available`
    std::vector<std::uint32_t> tier;  ///< by tier: blocks to be read from it
    [[nodiscard]] std::uint32_t from_tiers() const;
  };
  [[nodiscard]] Match match(std::span<const BlockRun> runs, std::uint32_t limit) const;
  /// How many of the leading blocks are on the GPU, at most `limit`.
  [[nodiscard]] std::uint32_t resident_prefix(std::span<const BlockRun> runs,
                                              std::uint32_t limit) const;

  /// Uses the first `count` blocks. Those read from tiers are taken from the free room.
  void use(std::span<const BlockRun> runs, std::uint32_t count);
  /// Blocks [from, to) were computed in the sequence's own blocks and may be shared from now on;
  /// the sequence uses them. Returns the KV blocks that were its own before.
  std::int64_t share(std::span<const BlockRun> runs, std::uint32_t from, std::uint32_t to);
  /// The sequence no longer uses blocks [0, count): the last ones are dropped first.
  void unuse(std::span<const BlockRun> runs, std::uint32_t count);

 private:
  void make_room(std::int64_t blocks);
  void demote(std::uint32_t id, std::size_t tier);

  std::int64_t capacity_, weight_, own_ = 0;
  BlockTable table_;
  struct Tier {
    std::int64_t room;
    BlockTable table;
  };
  std::vector<Tier> tiers_;
};

}  // namespace flowplan::inference
