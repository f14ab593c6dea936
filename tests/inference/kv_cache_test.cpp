#include "flowplan/inference/kv_cache.hpp"

#include <algorithm>
#include <deque>
#include <random>

#include <catch2/catch.hpp>

namespace flowplan::inference::kv_cache_test {

namespace {

using Runs = std::vector<BlockRun>;

/// Computes a prompt of those blocks and ends it: its blocks stay.
void serve_once(KvCache& cache, const Runs& runs, std::uint32_t blocks, std::int64_t weight) {
  const std::uint32_t hits = cache.match(runs, blocks).blocks;
  cache.use(runs, hits);
  cache.take((blocks - hits) * weight);
  cache.share(runs, hits, blocks);
  cache.unuse(runs, blocks);
}

}  // namespace

TEST_CASE("the prefix unused for longest makes way, its last block first") {
  KvCache cache(6, 1);
  serve_once(cache, {{0, 3}}, 3, 1);   // 0 1 2
  serve_once(cache, {{10, 2}}, 2, 1);  // 10 11
  CHECK(cache.resident() == 5);
  CHECK(cache.used() == 0);
  CHECK(cache.available() == 6);
  // Two blocks: the free one, and 2, the last of the prefix unused for longest.
  cache.take(2);
  CHECK(cache.resident_prefix(Runs{{0, 3}}, 3) == 2);
  CHECK(cache.resident_prefix(Runs{{10, 2}}, 2) == 2);
  // A hit on 0 and 1 makes 11 the oldest.
  serve_once(cache, {{0, 2}}, 2, 1);
  cache.take(1);
  CHECK(cache.resident_prefix(Runs{{10, 2}}, 2) == 1);
  CHECK(cache.resident_prefix(Runs{{0, 2}}, 2) == 2);
  CHECK(cache.resident() == 6);
  CHECK(cache.available() == 3);
}

TEST_CASE("only leading blocks are hit, across runs") {
  KvCache cache(10, 1);
  serve_once(cache, {{0, 2}, {7, 2}}, 4, 1);  // 0 1 7 8
  CHECK(cache.match(Runs{{0, 2}, {7, 2}}, 4).blocks == 4);
  CHECK(cache.match(Runs{{0, 2}, {7, 2}}, 3).blocks == 3);
  CHECK(cache.match(Runs{{0, 1}, {5, 1}, {7, 2}}, 4).blocks == 1);
  CHECK(cache.match(Runs{{5, 1}, {0, 2}}, 3).blocks == 0);
}

TEST_CASE("a block shared by two sequences counts once, and stays until both have ended") {
  KvCache cache(8, 2);  // a prefix block takes two KV blocks
  const Runs runs{{0, 3}};
  cache.take(7);
  CHECK(cache.share(runs, 0, 3) == 6);
  CHECK(cache.used() == 7);
  CHECK(cache.match(runs, 3).unused == 0);
  cache.use(runs, 2);
  CHECK(cache.used() == 7);
  cache.unuse(runs, 3);
  CHECK(cache.used() == 5);  // 0 and 1 have the second user
  cache.unuse(runs, 2);
  cache.give(1);
  CHECK(cache.used() == 0);
  CHECK(cache.resident() == 6);
}

TEST_CASE("what two sequences computed at once is kept once") {
  KvCache cache(10, 1);
  const Runs runs{{0, 2}};
  cache.take(2);
  cache.take(2);
  cache.share(runs, 0, 2);
  CHECK(cache.used() == 4);
  cache.share(runs, 0, 2);
  CHECK(cache.used() == 2);
}

TEST_CASE("evicted blocks go to the tier behind, and from there to the next") {
  KvCache cache(2, 1, {{2}, {2}});
  const auto from = [&](std::uint32_t id) {
    const KvCache::Match match = cache.match(Runs{{id, 1}}, 1);
    if (match.blocks == 0) return -1;
    return match.from_tiers() == 0 ? 0 : match.tier[0] == 1 ? 1 : 2;
  };
  for (std::uint32_t id = 0; id < 7; ++id)
    serve_once(cache, {{id, 1}}, 1, 1);
  // 6 and 5 on the GPU, 4 and 3 behind it, 2 and 1 behind those, 0 gone.
  std::vector<int> where;
  for (std::uint32_t id = 0; id < 7; ++id)
    where.push_back(from(id));
  CHECK(where == std::vector<int>{-1, 2, 2, 1, 1, 0, 0});
  // Reading 3 puts it on the GPU in place of 5; it stays behind too, 5 takes the place of 3 there
  // as the older one: 3 was not touched there.
  cache.use(Runs{{3, 1}}, 1);
  CHECK(from(3) == 0);
  CHECK(from(5) == 1);
  CHECK(from(4) == 1);
}

TEST_CASE("a table of blocks agrees with a plain list, whatever happens") {
  std::mt19937_64 random(7);
  BlockTable table;
  std::deque<std::uint32_t> unused;  // old to new
  std::vector<std::uint32_t> used;
  for (int step = 0; step < 20000; ++step) {
    const std::uint32_t id = static_cast<std::uint32_t>(random() % 97);
    const auto in_unused = std::find(unused.begin(), unused.end(), id);
    const auto in_used = std::find(used.begin(), used.end(), id);
    const std::uint32_t entry = table.find(id);
    REQUIRE((entry != BlockTable::none) == (in_unused != unused.end() || in_used != used.end()));
    if (entry == BlockTable::none) {
      table.insert(id);
      used.push_back(id);
    } else if (in_used != used.end()) {
      table.unuse(entry);
      used.erase(in_used);
      unused.push_back(id);
    } else if (random() % 2 == 0) {
      table.use(entry);
      unused.erase(in_unused);
      used.push_back(id);
    } else {
      REQUIRE(table.evict() == unused.front());
      unused.pop_front();
    }
    REQUIRE(table.size() == used.size() + unused.size());
    REQUIRE(table.unused() == unused.size());
  }
}

}  // namespace flowplan::inference::kv_cache_test
