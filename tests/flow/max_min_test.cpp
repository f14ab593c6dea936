#include "flowplan/flow/max_min.hpp"

#include <catch2/catch.hpp>

#include "flow_sets.hpp"
#include "random_case.hpp"
#include "textbook.hpp"

namespace max_min_test {

using namespace flowplan::flow;

namespace {

using Extras = CaseGenerator::Extras;

void require_rates(const Allocation& allocation, const std::vector<double>& expected) {
  REQUIRE(allocation.rate.size() == expected.size());
  for (std::size_t f = 0; f < expected.size(); ++f) {
    CAPTURE(f);
    CHECK(allocation.rate[f] == Approx(expected[f]).epsilon(tight));
  }
}

}  // namespace

TEST_CASE("equal flows on one link share it equally") {
  const Network network{{12.0}};
  FlowSet flows;
  for (int f = 0; f < 4; ++f)
    flows.add(path({0}), {});
  const Allocation allocation = solve(network, flows);
  require_rates(allocation, {3, 3, 3, 3});
  CHECK(allocation.bottleneck == std::vector<LinkId>(4, LinkId{0}));
}

TEST_CASE("a long flow is held by the tightest link and leaves the rest to its neighbours") {
  // Link 1 fills first at 20 / 2 = 10; then 40 - 10 = 30 and 30 - 10 = 20 are left on the others.
  const Network network{{40.0, 20.0, 30.0}};
  FlowSet flows;
  flows.add(path({0, 1, 2}), {});
  flows.add(path({0}), {});
  flows.add(path({1}), {});
  flows.add(path({2}), {});
  const Allocation allocation = solve(network, flows);
  require_rates(allocation, {10, 30, 10, 20});
  CHECK(allocation.bottleneck == std::vector<LinkId>{LinkId{1}, LinkId{0}, LinkId{1}, LinkId{2}});
}

TEST_CASE("what a capped flow does not take goes to the others") {
  // 10 - 1 = 9 for two flows.
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.cap_per_s = 1.0});
  flows.add(path({0}), {});
  flows.add(path({0}), {.cap_per_s = 100.0});
  const Allocation allocation = solve(network, flows);
  require_rates(allocation, {1, 4.5, 4.5});
  CHECK(allocation.bottleneck == std::vector<LinkId>{no_link, LinkId{0}, LinkId{0}});
}

TEST_CASE("weights divide a link in their proportion") {
  const Network network{{12.0}};
  FlowSet flows;
  flows.add(path({0}), {.weight = 1.0});
  flows.add(path({0}), {.weight = 2.0});
  flows.add(path({0}), {.weight = 3.0});
  require_rates(solve(network, flows), {2, 4, 6});
}

TEST_CASE("a cap bounds the rate and not the rate per weight") {
  // Without the cap 3 and 9; the cap of 6 leaves 12 - 6 = 6 to the other.
  const Network network{{12.0}};
  FlowSet flows;
  flows.add(path({0}), {.weight = 1.0});
  flows.add(path({0}), {.cap_per_s = 6.0, .weight = 3.0});
  require_rates(solve(network, flows), {6, 6});
}

TEST_CASE("a coefficient makes a flow take more of a link than its rate") {
  // 2 r + r = 12, so r = 4 on link 0; flow 2 gets what 4 x 0.5 leaves of link 1.
  const Network network{{12.0, 10.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}, 2.0}, {LinkId{1}, 0.5}}, {});
  flows.add(path({0}), {});
  flows.add(path({1}), {});
  const Allocation allocation = solve(network, flows);
  require_rates(allocation, {4, 4, 8});
  const std::vector<double> load = link_load(network, flows, allocation.rate);
  CHECK(load[0] == Approx(12.0).epsilon(tight));
  CHECK(load[1] == Approx(10.0).epsilon(tight));
}

TEST_CASE("a flow without links runs at its cap") {
  FlowSet flows;
  flows.add({}, {.cap_per_s = 7.0});
  const Allocation allocation = solve(Network{}, flows);
  require_rates(allocation, {7});
  CHECK(allocation.bottleneck == std::vector<LinkId>{no_link});
  CHECK_FALSE(refute(Network{}, flows, allocation.rate));
}

TEST_CASE("nothing to share is nothing shared") {
  CHECK(solve(Network{{1.0}}, FlowSet{}).rate.empty());
  CHECK(link_load(Network{{1.0}}, FlowSet{}, {}) == std::vector<double>{0.0});
}

TEST_CASE("a light flow beside a heavy one keeps its precision") {
  // The heavy flow is held elsewhere at 500000; half of link 0 is left to the light one, which
  // takes it whole. The pulls 1e6 and 0.1 on link 0 must not cancel badly.
  const Network network{{1e6, 5e5}};
  FlowSet flows;
  flows.add(path({0, 1}), {.weight = 1e6});
  flows.add(path({0}), {.weight = 0.1});
  require_rates(solve(network, flows), {5e5, 5e5});
}

TEST_CASE("many flows on a link end up with the same rate as few") {
  // Link 0 gives each of 100,000 flows 1e9 / 3; what they leave of link 1 is the last one's alone.
  constexpr std::uint32_t crowd = 100'000;
  const Network network{{crowd * 1e9 / 3, crowd * 1e9}};
  FlowSet flows;
  for (std::uint32_t f = 0; f < crowd; ++f)
    flows.add(path({0, 1}), {});
  flows.add(path({1}), {});
  const Allocation allocation = solve(network, flows);
  CHECK(allocation.rate.front() == Approx(1e9 / 3).epsilon(tight));
  CHECK(allocation.rate.back() == Approx(crowd * (1e9 - 1e9 / 3)).epsilon(tight));
}

TEST_CASE("rates agree with textbook filling") {
  const Extras extras = GENERATE(Extras::none, Extras::all);
  CaseGenerator next_case(1);
  for (int i = 0; i < 2000; ++i) {
    const RandomCase random = next_case(extras);
    const Allocation allocation = solve(random.network, random.flows);
    const std::vector<bool> all(random.flows.size(), true);
    CAPTURE(i);
    REQUIRE(difference(allocation.rate, textbook::rates(random.network, random.flows, all)) <=
            rounding);
  }
}

TEST_CASE("every allocation passes its certificate and names a full link or the cap") {
  CaseGenerator next_case(2);
  for (int i = 0; i < 1000; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const Allocation allocation = solve(network, flows);
    CAPTURE(i);
    REQUIRE(refute(network, flows, allocation.rate) == std::nullopt);
    const std::vector<double> load = link_load(network, flows, allocation.rate);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const LinkId link = allocation.bottleneck[f];
      if (link == no_link) {
        REQUIRE(allocation.rate[f] == Approx(flows.cap_per_s[f]).epsilon(tight));
      } else {
        REQUIRE(load[index(link)] == Approx(network.capacity[index(link)]).epsilon(tight));
      }
    }
  }
}

TEST_CASE("an allocation with any rate changed is refuted") {
  CaseGenerator next_case(3);
  for (int i = 0; i < 500; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const std::vector<double> rate = solve(network, flows).rate;
    const std::size_t f = next_case.one_of(0, flows.size() - 1);
    for (const double factor : {0.5, 1.0 - 1e-6, 1.0 + 1e-6, 2.0}) {
      std::vector<double> wrong = rate;
      wrong[f] *= factor;
      CAPTURE(i, f, factor);
      REQUIRE(refute(network, flows, wrong) != std::nullopt);
    }
  }
}

TEST_CASE("a refutation says what is wrong") {
  const Network network{{10.0, 10.0}};
  FlowSet flows;
  flows.add(path({0}), {});
  flows.add(path({0, 1}), {.cap_per_s = 4.0});
  using Catch::Contains;
  CHECK_FALSE(refute(network, flows, {6.0, 4.0}));
  CHECK_THAT(refute(network, flows, {7.0, 4.0}).value(), Contains("link 0 carries 11"));
  CHECK_THAT(refute(network, flows, {5.0, 5.0}).value(), Contains("flow 1") && Contains("cap 4"));
  CHECK_THAT(refute(network, flows, {5.0, 4.0}).value(), Contains("flow 0 runs at 5"));
  CHECK_THAT(refute(network, flows, {10.0, 0.0}).value(), Contains("flow 1 runs at 0"));
  CHECK_THAT(refute(network, flows, {std::nan(""), 4.0}).value(), Contains("link 0"));
}

TEST_CASE("the certificate is relative to weights") {
  const Network network{{12.0}};
  FlowSet flows;
  flows.add(path({0}), {.weight = 1.0});
  flows.add(path({0}), {.weight = 3.0});
  CHECK_FALSE(refute(network, flows, {3.0, 9.0}));
  CHECK(refute(network, flows, {6.0, 6.0}));
}

TEST_CASE("renumbering links and flows changes no rate") {
  CaseGenerator next_case(4);
  for (int i = 0; i < 500; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    // Both in reverse order.
    Network mirrored{{network.capacity.rbegin(), network.capacity.rend()}};
    FlowSet reversed;
    for (std::size_t f = flows.size(); f-- > 0;) {
      const auto mirror = [&, last = network.size() - 1](std::size_t l) { return last - l; };
      reversed.add(renumbered(flows.uses(f), mirror), flows.spec(f));
    }
    std::vector<double> rate = solve(mirrored, reversed).rate;
    std::reverse(rate.begin(), rate.end());
    CAPTURE(i);
    REQUIRE(difference(solve(network, flows).rate, rate) <= tight);
  }
}

TEST_CASE("a flow split into two of half the weight and cap runs at the same rate in sum") {
  CaseGenerator next_case(5);
  for (int i = 0; i < 500; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const std::size_t split = next_case.one_of(0, flows.size() - 1);
    FlowSet halves;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const double part = f == split ? 0.5 : 1.0;
      const FlowSpec spec{.cap_per_s = flows.cap_per_s[f] * part, .weight = flows.weight[f] * part};
      halves.add(flows.uses(f), spec);
      if (f == split) halves.add(flows.uses(f), spec);
    }
    std::vector<double> rate = solve(network, halves).rate;
    rate[split] += rate[split + 1];
    rate.erase(rate.begin() + static_cast<std::ptrdiff_t>(split) + 1);
    CAPTURE(i);
    REQUIRE(difference(solve(network, flows).rate, rate) <= tight);
  }
}

}  // namespace max_min_test
