// Prefix caching, tiers behind it, and routing by it.
#include <catch2/catch.hpp>

#include "flowplan/inference/serve.hpp"
#include "handmade.hpp"

namespace flowplan::inference::prefix_test {

using namespace handmade;

namespace {

Instance with_prefixes() {
  Instance instance = one_ms_a_token();
  instance.engine.prefix_caching = true;
  return instance;
}

void check_request(const ServeRun& run, RequestId id, double finish_s, std::uint32_t cached) {
  CAPTURE(id);
  CHECK(run.requests.finish_s[id] == Approx(finish_s).epsilon(1e-9).margin(0.0));
  CHECK(run.requests.cached_tokens[id] == cached);
}

}  // namespace

TEST_CASE("leading blocks that are cached are not computed") {
  // Of a prompt that is there whole, the last block is computed, for its last token's logits.
  const Workload workload = load_of({{0.0, 64, 1, {{0, 4}}},
                                     {0.1, 64, 1, {{0, 4}}},
                                     {0.2, 70, 1, {{0, 1}, {100, 3}}},
                                     {0.3, 70, 1, {{0, 4}}},
                                     {0.4, 64, 1, {{50, 1}, {1, 3}}}},
                                    16);
  const ServeRun run = *serve(one(with_prefixes()), workload);
  check_request(run, 0, 0.064, 0);
  check_request(run, 1, 0.116, 48);
  check_request(run, 2, 0.2 + 0.054, 16);
  check_request(run, 3, 0.3 + 0.006, 64);
  check_request(run, 4, 0.464, 0);
  // Without caching everything is computed.
  const ServeRun without = *serve(one(one_ms_a_token()), workload);
  check_request(without, 1, 0.164, 0);
}

TEST_CASE("an answer's blocks serve the next turn") {
  // 48 tokens and 17 of answer: KV of 64 is there at the end, 4 blocks.
  const Workload workload = load_of({{0.0, 48, 17, {{0, 4}}}, {1.0, 80, 1, {{0, 5}}}}, 16);
  const ServeRun run = *serve(one(with_prefixes()), workload);
  check_request(run, 0, 0.048 + 0.016, 0);
  check_request(run, 1, 1.016, 64);
}

TEST_CASE("a cache too small forgets what was unused for longest") {
  // 4 blocks. A takes 3; B takes the free one and two of A's, the last ones: A's first is left.
  Instance instance = with_prefixes();
  instance.kv.capacity_blocks = 4;
  const Workload workload =
      load_of({{0.0, 48, 1, {{0, 3}}}, {0.1, 48, 1, {{10, 3}}}, {0.2, 48, 1, {{0, 3}}}}, 16);
  const ServeRun run = *serve(one(instance), workload);
  check_request(run, 2, 0.2 + 0.032, 16);
  CHECK(run.pools[0].peak_kv_blocks <= 4);

  // Evicted blocks are read back from the host where that is faster than computing: 16 bytes at
  // 4,000 bytes/s take 4 ms, less than the pass; at 500 bytes/s 32 ms, more than computing's 16.
  instance.engine.tiers = {{"host", 100, BytesPerSecond(4000.0)}};
  const ServeRun fast = *serve(one(instance), workload);
  check_request(fast, 2, 0.216, 32);
  CHECK(fast.pools[0].tier_blocks == 1);
  instance.engine.tiers[0].read = BytesPerSecond(500.0);
  const ServeRun slow = *serve(one(instance), workload);
  check_request(slow, 2, 0.232, 16);
  CHECK(slow.pools[0].tier_blocks == 0);
}

TEST_CASE("a read that is longer than its pass shows") {
  // The third request reads two blocks (64 bytes/ms would hide); 32 bytes at 1,600 bytes/s are
  // 20 ms, beside 10 tokens computed.
  Instance instance = with_prefixes();
  instance.kv.capacity_blocks = 3;
  instance.engine.tiers = {{"host", 100, BytesPerSecond(1600.0)}};
  const Workload workload =
      load_of({{0.0, 42, 1, {{0, 2}}}, {0.1, 48, 1, {{10, 3}}}, {0.2, 42, 1, {{0, 2}}}}, 16);
  const ServeRun run = *serve(one(instance), workload);
  check_request(run, 2, 0.2 + 0.020, 32);
}

TEST_CASE("a router that knows prefixes sends them where they are") {
  const Workload workload = load_of({{0.0, 64, 1, {{0, 4}}},
                                     {0.1, 64, 1, {{10, 4}}},
                                     {0.2, 64, 1, {{10, 4}}},
                                     {0.3, 64, 1, {{0, 4}}}},
                                    16);
  Fleet fleet{with_prefixes(), 2, {Routing::round_robin}};
  CHECK(serve(fleet, workload)->requests.replica == std::vector<std::uint16_t>{0, 1, 0, 1});
  CHECK(serve(fleet, workload)->requests.cached_tokens[3] == 0);
  fleet.router.routing = Routing::prefix_aware;
  const ServeRun run = *serve(fleet, workload);
  // Both are idle when the second comes: the first of equals. It knows neither prefix.
  CHECK(run.requests.replica[3] == run.requests.replica[0]);
  check_request(run, 2, 0.216, 48);
  check_request(run, 3, 0.316, 48);
}

TEST_CASE("the least loaded replica, the first of equals") {
  const Workload workload = load_of({{0.0, 100, 1}, {0.01, 10, 1}, {0.05, 10, 1}, {0.055, 10, 1}});
  const Fleet fleet{one_ms_a_token(), 2, {Routing::least_loaded}};
  const ServeRun run = *serve(fleet, workload);
  CHECK(run.requests.replica == std::vector<std::uint16_t>{0, 1, 1, 0});
  check_request(run, 1, 0.02, 0);
  check_request(run, 3, 0.11, 0);
}

}  // namespace flowplan::inference::prefix_test
