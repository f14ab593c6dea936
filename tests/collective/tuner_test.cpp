#include "flowplan/collective/tuner.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "fixture.hpp"

namespace flowplan::collective::tuner_test {
namespace {

constexpr bool with_nvls = true;
constexpr bool without_nvls = false;

using Pair = std::pair<Algorithm, Protocol>;
constexpr Pair tree_ll{Algorithm::tree, Protocol::ll};
constexpr Pair tree_ll128{Algorithm::tree, Protocol::ll128};
constexpr Pair ring_ll{Algorithm::ring, Protocol::ll};
constexpr Pair ring_ll128{Algorithm::ring, Protocol::ll128};
constexpr Pair ring_simple{Algorithm::ring, Protocol::simple};
constexpr Pair nvls_simple{Algorithm::nvls, Protocol::simple};
constexpr Pair nvls_tree{Algorithm::nvls_tree, Protocol::simple};

Shape full_nodes(int nodes) {
  return {8 * nodes, nodes, 8};
}

Pair choice(const Stack& stack, Operation operation, const Shape& shape, Bytes size,
            bool nvls = with_nvls) {
  const auto chosen = choose(stack, operation, shape, size, nvls);
  REQUIRE(chosen);
  CHECK(chosen->channels >= 1);
  CHECK_FALSE(chosen->reason.empty());
  return {chosen->algorithm, chosen->protocol};
}

TEST_CASE("P5 all_reduce switches where the plugin's tuner does") {
  const Stack stack = stack_of("collectives-p5");
  const auto at = [&](int nodes, double size_mib) {
    return choice(stack, Operation::all_reduce, full_nodes(nodes), mib(size_mib));
  };
  CHECK(at(4, 36) == tree_ll128);
  CHECK(at(4, 38) == ring_ll128);
  CHECK(at(4, 1535) == ring_ll128);
  CHECK(at(4, 1537) == ring_simple);
  CHECK(at(16, 291) == tree_ll128);
  CHECK(at(16, 293) == ring_ll128);
  CHECK(at(16, 2047) == ring_ll128);
  CHECK(at(16, 2049) == nvls_tree);
  CHECK(at(16, 6.19 * 1024) == nvls_tree);
  CHECK(at(16, 6.21 * 1024) == ring_simple);
  CHECK(at(32, 500) == nvls_tree);
  CHECK(at(32, 1500) == ring_ll128);
  CHECK(at(32, 3000) == nvls_tree);
}

TEST_CASE("two P5 nodes are left to NCCL's model") {
  const Stack stack = stack_of("collectives-p5");
  const auto at = [&](Bytes size) {
    return choice(stack, Operation::all_reduce, full_nodes(2), size);
  };
  CHECK(at(Bytes(8)) == tree_ll);
  CHECK(at(mib(32)) == nvls_tree);
  CHECK(at(gib(16)) == nvls_tree);
}

TEST_CASE("P5 all_gather switches to Simple between the sizes where the sweeps jump") {
  const Stack stack = stack_of("collectives-p5");
  const auto at = [&](int nodes, double size_mib) {
    return choice(stack, Operation::all_gather, full_nodes(nodes), mib(size_mib));
  };
  CHECK(at(2, 128) == ring_ll128);
  CHECK(at(2, 256) == ring_simple);
  CHECK(at(8, 512) == ring_ll128);
  CHECK(at(8, 1024) == ring_simple);
  CHECK(at(32, 2048) == ring_ll128);
}

TEST_CASE("one node chooses as measured") {
  const Stack hopper = stack_of("collectives-ib-h100");
  const Shape eight{8, 1, 8}, four{4, 1, 4}, two{2, 1, 2};
  CHECK(choice(hopper, Operation::all_gather, eight, mib(4)) == ring_ll);
  CHECK(choice(hopper, Operation::all_gather, eight, mib(16)) == ring_ll128);
  CHECK(choice(hopper, Operation::all_gather, eight, mib(32)) == ring_simple);
  CHECK(choice(hopper, Operation::all_reduce, eight, mib(1)) == ring_ll);
  CHECK(choice(hopper, Operation::all_reduce, eight, mib(2)) == nvls_simple);
  CHECK(choice(hopper, Operation::all_reduce, four, gib(8)) == ring_simple);
  const Stack ampere = stack_of("collectives-ib-a100");
  CHECK(choice(ampere, Operation::all_gather, two, mib(1), without_nvls) == ring_ll);
  CHECK(choice(ampere, Operation::all_gather, two, mib(2), without_nvls) != ring_ll);
  const Stack blackwell = stack_of("collectives-ib-b200");
  CHECK(choice(blackwell, Operation::all_gather, four, mib(4)) == ring_ll);
  CHECK(choice(blackwell, Operation::all_gather, four, mib(8)) != ring_ll);
  CHECK(choice(blackwell, Operation::all_reduce, {5, 1, 5}, gib(8)) == ring_simple);
  CHECK(choice(blackwell, Operation::all_reduce, {6, 1, 6}, gib(8)) == nvls_simple);
}

TEST_CASE("NCCL's costs by hand") {
  const Stack stack = stack_of("collectives-p5");
  // Ring LL, 8 ranks: 6.6 + 7 * 0.6 us, 1 MiB at 141 * 8 / 7 = 161.14 GB/s.
  CHECK(us(nccl_cost(stack, Operation::all_gather, {8, 1, 8}, mib(1), Algorithm::ring,
                     Protocol::ll)) == Approx(10.8 + 1048576 / 161.142857e3));
  // NVLS: 25 us, 360 * 0.85 * 15/16 * 2 = 573.75 GB/s of bus, * 8 / 14.
  CHECK(us(nccl_cost(stack, Operation::all_reduce, {8, 1, 8}, mib(32), Algorithm::nvls,
                     Protocol::simple)) == Approx(25.0 + 33554432 / 327.857143e3));
  // Tree LL, 2 nodes: 6.8 + 2 * (7 * 0.6 + 5 + 75) us; below 64 B nothing corrects the rate,
  // min(0.92 * 480 / 3.8, 22.5) / 2 = 11.25 GB/s.
  CHECK(us(nccl_cost(stack, Operation::all_reduce, full_nodes(2), Bytes(8), Algorithm::tree,
                     Protocol::ll)) == Approx(175.2 + 8 / 11.25e3));
  // Ring Simple, all_gather on 8 nodes: 8.4 + 56 * 3.4 + 7 * (14 + 75), counted once: no flush.
  CHECK(us(nccl_cost(stack, Operation::all_gather, full_nodes(8), gib(1), Algorithm::ring,
                     Protocol::simple)) ==
        Approx(8.4 + 56 * 3.4 + 7 * 89.0 + 1073741824.0 / (360e3 * 64 / 63)));
}

TEST_CASE("between the rows of a table sizes are interpolated in log2(nodes)") {
  const Stack stack = stack_of("collectives-p5");
  const SwitchTable& table = *stack.tuner.find(Operation::all_reduce, 8);
  const SwitchRow row = row_at(table, 12);
  REQUIRE(row.switches.size() == 4);
  const double share = std::log2(12.0 / 8.0);  // of the way from 8 to 16 nodes
  CHECK(row.switches[0].name == "tree_ll128");
  CHECK(row.switches[1].from_bytes / mib(1).value() == Approx(114 * std::pow(292.0 / 114, share)));
  // 8 nodes know no NVLS tree: there it would start where the ring's Simple does, 2.5 GiB.
  CHECK(row.switches[2].name == "nvls_tree_simple");
  CHECK(row.switches[2].from_bytes / gib(1).value() == Approx(2.5 * std::pow(2.0 / 2.5, share)));
  CHECK(row.switches[3].from_bytes / gib(1).value() == Approx(2.5 * std::pow(6.2 / 2.5, share)));
}

TEST_CASE("a row of the table is itself, and both ends have neighbours' values") {
  const Stack stack = stack_of("collectives-p5");
  const SwitchTable& table = *stack.tuner.find(Operation::all_reduce, 8);
  for (const SwitchRow& row : table.rows) {
    const SwitchRow same = row_at(table, row.nodes);
    REQUIRE(same.switches.size() == row.switches.size());
    for (std::size_t i = 0; i < row.switches.size(); ++i) {
      CHECK(same.switches[i].from_bytes == row.switches[i].from_bytes);
    }
  }
  // Before the first row the first; beyond the last two (64, 128 nodes) their line goes on.
  CHECK(row_at(table, 3).switches[1].from_bytes == table.rows.front().switches[1].from_bytes);
  const SwitchRow beyond = row_at(table, 256);
  CHECK(beyond.switches[1].from_bytes / mib(1).value() == Approx(533.0 * 533.0 / 333.0));
  CHECK(beyond.switches[2].from_bytes / gib(1).value() == Approx(49.0 * 49.0 / 25.0));
}

TEST_CASE("switches of interpolated rows never go back in size") {
  for (const char* id :
       {"collectives-p5", "collectives-p5en", "collectives-p6-b200", "collectives-p6-b300"}) {
    const Stack stack = stack_of(id);
    for (const SwitchTable& table : stack.tuner.tables) {
      for (int nodes = 3; nodes <= 3000; nodes += 1 + nodes / 7) {
        CAPTURE(id, nodes, table.per_node, name(table.operation));
        const SwitchRow row = row_at(table, nodes);
        for (std::size_t i = 1; i < row.switches.size(); ++i) {
          CHECK(row.switches[i - 1].from_bytes <= row.switches[i].from_bytes);
        }
      }
    }
  }
}

TEST_CASE("what is forced is taken, and what nothing has is refused with the choices") {
  const Stack stack = stack_of("collectives-p5");
  const auto force = [&](const Shape& shape, std::optional<Algorithm> algorithm,
                         std::optional<Protocol> protocol, bool nvls = with_nvls) {
    return choose(stack, Operation::all_reduce, shape, mib(64), nvls, {algorithm, protocol, {}});
  };
  const auto ring = force(full_nodes(4), Algorithm::ring, Protocol::simple);
  REQUIRE(ring);
  CHECK(ring->algorithm == Algorithm::ring);
  CHECK(ring->protocol == Protocol::simple);
  CHECK_THAT(ring->reason, Catch::StartsWith("forced"));
  // A protocol alone: the cheapest algorithm that has it.
  CHECK(force(full_nodes(4), std::nullopt, Protocol::ll)->protocol == Protocol::ll);
  // NVLS by itself starts at five ranks; forcing it works below.
  CHECK(force({4, 1, 4}, Algorithm::nvls, std::nullopt)->algorithm == Algorithm::nvls);

  for (const auto& refused : {force(full_nodes(2), Algorithm::nvls, std::nullopt),
                              force({8, 1, 8}, Algorithm::nvls_tree, std::nullopt),
                              force({8, 1, 8}, Algorithm::nvls, Protocol::ll),
                              force({8, 1, 8}, Algorithm::nvls, std::nullopt, without_nvls)}) {
    REQUIRE_FALSE(refused);
    CHECK(refused.error().front().code == Code::bad_collective);
    CHECK_THAT(refused.error().front().hint, Catch::Contains("RING/LL128"));
  }
  CHECK_FALSE(choose(stack, Operation::all_gather, full_nodes(2), mib(1), with_nvls,
                     {Algorithm::tree, {}, {}}));
  CHECK_FALSE(choose(stack, Operation::send_recv, full_nodes(2), mib(1), with_nvls,
                     {{}, Protocol::ll, {}}));
}

TEST_CASE("the old stack has no LL128 between nodes and its own switches") {
  const Stack stack = stack_of("collectives-p5-nccl2.18");
  const auto at = [&](double size_mib) {
    return choice(stack, Operation::all_reduce, full_nodes(2), mib(size_mib));
  };
  CHECK(at(128) == ring_ll);
  CHECK(at(512) == ring_simple);
  CHECK(at(2048) == nvls_tree);
  CHECK_FALSE(available(stack, Operation::all_reduce, full_nodes(2), with_nvls, Algorithm::ring,
                        Protocol::ll128));
}

TEST_CASE("one rank a node gathers by aggregated trees while it is small, where NCCL has them") {
  const Shape rails{16, 16, 1};
  const Stack current = stack_of("collectives-p5en");
  const auto chosen = choose(current, Operation::all_gather, rails, mib(1), with_nvls);
  REQUIRE(chosen);
  CHECK(chosen->algorithm == Algorithm::pat);
  CHECK(choose(current, Operation::all_gather, rails, mib(512), with_nvls)->algorithm ==
        Algorithm::ring);
  CHECK_FALSE(available(current, Operation::all_gather, full_nodes(16), with_nvls, Algorithm::pat,
                        Protocol::simple));
  CHECK_FALSE(available(stack_of("collectives-ib-h100-nccl2.20"), Operation::all_gather, rails,
                        with_nvls, Algorithm::pat, Protocol::simple));
}

TEST_CASE("the network's switches reduce only when told to") {
  const Stack stack = stack_of("collectives-ib-h100");
  const auto all = candidates(stack, Operation::all_reduce, full_nodes(4), gib(1), with_nvls);
  const auto found = std::find_if(
      all.begin(), all.end(), [](const Candidate& c) { return c.algorithm == Algorithm::collnet; });
  REQUIRE(found != all.end());
  CHECK_FALSE(found->eligible);
  CHECK_FALSE(found->cost);
  CHECK(choose(stack, Operation::all_reduce, full_nodes(4), gib(1), with_nvls)->algorithm !=
        Algorithm::collnet);
  CHECK(choose(stack, Operation::all_reduce, full_nodes(4), gib(1), with_nvls,
               {Algorithm::collnet, {}, {}})
            ->algorithm == Algorithm::collnet);
}

TEST_CASE("the candidate of least cost is taken where no table is") {
  const Stack stack = stack_of("collectives-p5");
  for (const double size : {8.0, 1e5, 1e7, 1e9}) {
    const auto chosen = choose(stack, Operation::all_gather, {8, 1, 8}, Bytes(size), with_nvls);
    Seconds least(1e9), taken;
    for (const Candidate& c :
         candidates(stack, Operation::all_gather, {8, 1, 8}, Bytes(size), with_nvls)) {
      if (!c.eligible) continue;
      least = std::min(least, *c.cost);
      if (c.algorithm == chosen->algorithm && c.protocol == chosen->protocol) taken = *c.cost;
    }
    CHECK(taken == least);
  }
}

TEST_CASE("forced channels carry their share, more than NCCL's do no more") {
  const Stack stack = stack_of("collectives-p5");
  const auto share = [&](int channels) {
    return choose(stack, Operation::all_reduce, full_nodes(4), gib(4), with_nvls,
                  {Algorithm::ring, {}, channels})
        ->channel_share;
  };
  CHECK(share(4) == 0.25);  // of 16
  CHECK(share(16) == 1.0);
  CHECK(share(32) == 1.0);
  for (const int channels : {0, 65}) {
    CHECK_FALSE(
        choose(stack, Operation::all_reduce, full_nodes(4), gib(4), with_nvls, {{}, {}, channels}));
  }
  CHECK_FALSE(choose(stack, Operation::all_to_all, full_nodes(4), gib(4), with_nvls, {{}, {}, 8}));
}

TEST_CASE("small sizes use fewer channels") {
  const Stack stack = stack_of("collectives-p5");
  const auto channels = [&](double bytes) {
    return choose(stack, Operation::all_gather, {8, 1, 8}, Bytes(bytes), with_nvls,
                  {Algorithm::ring, Protocol::simple, {}})
        ->channels;
  };
  // A channel of 512 threads wants 64 bytes for each: 32 KiB.
  CHECK(channels(8) == 1);
  CHECK(channels(3 * 32768) == 3);
  CHECK(channels(1e9) == 24);
}

}  // namespace
}  // namespace flowplan::collective::tuner_test
