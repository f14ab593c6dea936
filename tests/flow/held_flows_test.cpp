#include "../../src/flow/held_flows.hpp"

#include <algorithm>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/base/split_mix.hpp"

namespace held_flows_test {

using flowplan::SplitMix64;
using flowplan::flow::HeldFlows;
using flowplan::flow::MinimumTree;

namespace {

std::vector<std::uint32_t> taken(HeldFlows& held, double limit) {
  std::vector<std::uint32_t> flows;
  held.take_ended(limit, flows);
  std::sort(flows.begin(), flows.end());
  return flows;
}

}  // namespace

TEST_CASE("a flow ends when its holder has served what the flow is due at") {
  HeldFlows held(2, 1);
  CHECK(held.next_end() == MinimumTree::none);
  held.set_level(1, 2.0, 0.0);
  held.add(1, 0, 10.0);
  CHECK(held.next_end() == 5.0);
  CHECK(taken(held, 4.9).empty());
  CHECK(taken(held, 5.0) == std::vector<std::uint32_t>{0});
  CHECK(held.next_end() == MinimumTree::none);
}

TEST_CASE("a changed level moves the ends by what is left") {
  // 2 x 2 served until 2, then the 6 left at 3: until 4.
  HeldFlows held(1, 1);
  held.set_level(0, 2.0, 0.0);
  held.add(0, 0, 10.0);
  held.set_level(0, 3.0, 2.0);
  CHECK(held.service(0, 2.0) == 4.0);
  CHECK(held.service(0, 3.0) == 7.0);
  CHECK(held.next_end() == 4.0);
}

TEST_CASE("flows due together are taken together, of every holder") {
  HeldFlows held(3, 5);
  held.set_level(0, 1.0, 0.0);
  held.set_level(2, 2.0, 0.0);
  held.add(0, 4, 3.0);
  held.add(0, 1, 3.0);
  held.add(0, 0, 3.5);
  held.add(2, 3, 6.0);
  held.add(2, 2, 8.0);
  CHECK(taken(held, 3.0) == std::vector<std::uint32_t>{1, 3, 4});
  CHECK(held.next_end() == 3.5);
}

TEST_CASE("what was changed is settled before flows are taken") {
  HeldFlows held(1, 2);
  held.set_level(0, 1.0, 0.0);
  held.add(0, 0, 1.0);
  held.add(0, 1, 2.0);
  CHECK(taken(held, 1.0) == std::vector<std::uint32_t>{0});
  held.set_level(0, 4.0, 1.0);
  CHECK(taken(held, 1.25) == std::vector<std::uint32_t>{1});
}

TEST_CASE("counting the service again leaves every end where it was") {
  HeldFlows held(1, 2);
  held.set_level(0, 0x1p30, 0.0);
  held.add(0, 0, 0x1p30 + 2.0);
  held.add(0, 1, 0x1p30 + 4.0);
  held.set_level(0, 1.0, 1.0);
  held.rebase(0, 1.0, std::vector<std::uint32_t>{0, 1});
  CHECK(held.service(0, 1.0) == 0.0);
  CHECK(held.due(0) == 2.0);
  CHECK(held.next_end() == 3.0);
  CHECK(taken(held, 3.0) == std::vector<std::uint32_t>{0});
  CHECK(held.next_end() == 5.0);
}

TEST_CASE("the flow due first is right after any additions and removals") {
  SplitMix64 random(11);
  constexpr std::uint32_t flows = 200;
  HeldFlows held(1, flows);
  held.set_level(0, 1.0, 0.0);
  std::vector<double> due(flows, 0.0);  // 0: not held
  for (int i = 0; i < 20000; ++i) {
    const auto flow = static_cast<std::uint32_t>(random.below(flows));
    if (due[flow] > 0.0) {
      held.remove(0, flow);
      due[flow] = 0.0;
    } else {
      due[flow] = 1.0 + static_cast<double>(random.below(50));  // ties are common
      held.add(0, flow, due[flow]);
    }
    double first = MinimumTree::none;
    for (const double one : due)
      if (one > 0.0) first = std::min(first, one);
    REQUIRE(held.next_end() == first);
  }
  for (double limit = 1.0; limit <= 50.0; limit += 1.0) {
    std::vector<std::uint32_t> expected;
    for (std::uint32_t f = 0; f < flows; ++f)
      if (due[f] == limit) expected.push_back(f);
    REQUIRE(taken(held, limit) == expected);
  }
}

}  // namespace held_flows_test
