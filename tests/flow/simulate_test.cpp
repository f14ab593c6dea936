#include "flowplan/flow/simulate.hpp"

#include <catch2/catch.hpp>

#include "flow_sets.hpp"
#include "flowplan/flow/max_min.hpp"
#include "random_case.hpp"
#include "textbook.hpp"

namespace simulate_test {

using namespace flowplan::flow;

namespace {

using Extras = CaseGenerator::Extras;

void require_ends(const Completion& completion, const std::vector<double>& expected) {
  REQUIRE(completion.end_s.size() == expected.size());
  for (std::size_t f = 0; f < expected.size(); ++f) {
    CAPTURE(f);
    CHECK(completion.end_s[f] == Approx(expected[f]).epsilon(tight).margin(0.0));
  }
}

/// The same flows with every start at 0.
FlowSet at_once(const FlowSet& flows) {
  return changed(flows, [](FlowSpec& spec) { spec.start_s = 0.0; });
}

std::vector<double> scaled(std::vector<double> values, double factor) {
  for (double& value : values)
    value *= factor;
  return values;
}

}  // namespace

TEST_CASE("n equal flows on one link end together at n x bytes / capacity") {
  const Network network{{50e9}};
  FlowSet flows;
  for (int f = 0; f < 7; ++f)
    flows.add(path({0}), {.bytes = 1e9});
  const Completion completion = simulate(network, flows);
  require_ends(completion, std::vector<double>(7, 7 * 1e9 / 50e9));
  CHECK(completion.events == 1);
  CHECK(completion.makespan_s == completion.end_s[0]);
  CHECK(completion.bottleneck == std::vector<LinkId>(7, LinkId{0}));
}

TEST_CASE("a flow speeds up when its neighbour ends") {
  // 25 GB/s each until 1 / 25 = 0.04 s; the 2 GB left then run at 50 GB/s.
  const Network network{{50e9}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 1e9});
  flows.add(path({0}), {.bytes = 3e9});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {0.04, 0.08});
  CHECK(completion.events == 2);
  CHECK(completion.link_amount == std::vector<double>{4e9});
}

TEST_CASE("a flow slows down when another arrives") {
  // Alone for 1 s at 10: 20 left. Then 5 each: the newcomer's 10 end at 3 s, when 10 are left of
  // the first, which take 1 s more.
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 30.0});
  flows.add(path({0}), {.bytes = 10.0, .start_s = 1.0});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {4.0, 3.0});
  CHECK(completion.events == 3);
}

TEST_CASE("an arrival at the instant of an end is one event") {
  // Flows 0 and 1 run at 5 each: 0 ends at 0.3 and 2 arrives at 0.1 + 0.2, which is another double.
  // Flow 2 then takes 5 / 5 = 1 s; flow 1 has 100 - 5 x 1.3 = 93.5 left, at 10.
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 1.5});
  flows.add(path({0}), {.bytes = 100.0});
  flows.add(path({0}), {.bytes = 5.0, .start_s = 0.1 + 0.2});
  REQUIRE(0.1 + 0.2 > 1.5 / 5.0);
  const Completion completion = simulate(network, flows);
  require_ends(completion, {0.3, 10.65, 1.3});
  CHECK(completion.events == 3);
}

TEST_CASE("ends that differ by rounding only are one instant") {
  // 0.1 + 2 / 10 and 3 / 10 are different doubles.
  FlowSet flows;
  flows.add(path({0}), {.bytes = 2.0, .start_s = 0.1});
  flows.add(path({1}), {.bytes = 3.0});
  REQUIRE(0.1 + 2.0 / 10.0 != 3.0 / 10.0);
  const Completion completion = simulate(Network{{10.0, 10.0}}, flows);
  CHECK(completion.end_s[0] == completion.end_s[1]);
}

TEST_CASE("a small change of a rate counts") {
  // The cap of 1e-8 takes a billionth of the link for 1 s: 10 + 1e-8 bytes are left then.
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 20.0});
  flows.add(path({0}), {.bytes = 1e-8, .cap_per_s = 1e-8});
  require_ends(simulate(network, flows), {2.0 + 1e-9, 1.0});
}

TEST_CASE("a flow of no bytes ends when it starts and disturbs nobody") {
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 10.0});
  flows.add(path({0}), {.bytes = 0.0, .start_s = 0.5});
  flows.add(path({0}), {.bytes = 0.0, .start_s = 9.0});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {1.0, 0.5, 9.0});
  CHECK(completion.events == 1);
  CHECK(completion.makespan_s == 9.0);
  CHECK(completion.bottleneck[1] == no_link);
}

TEST_CASE("an empty set takes no time") {
  const Completion completion = simulate(Network{{1.0}}, FlowSet{});
  CHECK(completion.makespan_s == 0.0);
  CHECK(completion.events == 0);
  CHECK(completion.link_amount == std::vector<double>{0.0});
}

TEST_CASE("a flow with only a cap takes bytes / cap") {
  FlowSet flows;
  flows.add({}, {.bytes = 6.0, .start_s = 1.0, .cap_per_s = 3.0});
  const Completion completion = simulate(Network{}, flows);
  require_ends(completion, {3.0});
  CHECK(completion.bottleneck == std::vector<LinkId>{no_link});
}

TEST_CASE("a pause between flows is waited for") {
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 10.0, .start_s = 5.0});
  flows.add(path({0}), {.bytes = 10.0});
  require_ends(simulate(network, flows), {6.0, 1.0});
}

TEST_CASE("the bottleneck is what held a flow longest") {
  // Flow 0 shares link 0 with flow 1 at 5 each until flow 1 ends at 1 s, then is held by link 1 at
  // 8: 21 bytes take 1 + 16 / 8 = 3 s, of which link 1 held it for 2.
  const Network network{{10.0, 8.0}};
  FlowSet flows;
  flows.add(path({0, 1}), {.bytes = 21.0});
  flows.add(path({0}), {.bytes = 5.0});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {3.0, 1.0});
  CHECK(completion.bottleneck == std::vector<LinkId>{LinkId{1}, LinkId{0}});
}

TEST_CASE("the bottleneck may change while the rate does not") {
  // Both links give flow 0 a rate of 5, and link 0 is named until flow 1 ends at 1 s; 10 bytes
  // later, at 3 s, link 1 has held it longer.
  FlowSet flows;
  flows.add(path({0, 1}), {.bytes = 15.0});
  flows.add(path({0}), {.bytes = 5.0});
  const Completion completion = simulate(Network{{10.0, 5.0}}, flows);
  require_ends(completion, {3.0, 1.0});
  CHECK(completion.bottleneck == std::vector<LinkId>{LinkId{1}, LinkId{0}});
}

TEST_CASE("a cap that holds a flow longest is no link") {
  // Shared at 5 until 1 s, then the cap of 6: 23 bytes take 1 + 18 / 6 = 4 s.
  const Network network{{10.0}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 23.0, .cap_per_s = 6.0});
  flows.add(path({0}), {.bytes = 5.0});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {4.0, 1.0});
  CHECK(completion.bottleneck == std::vector<LinkId>{no_link, LinkId{0}});
}

TEST_CASE("weights and coefficients count while flows come and go") {
  // Weights 1 and 3 on 12 / s: 3 and 9 until the second's 9 end at 1 s. The first then has 12 - 3 =
  // 9 left and runs at 12 / 1: 0.75 s more. Link 0 carried 12 + 9 and link 1, at half the rate, 6.
  const Network network{{12.0, 100.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}, 1.0}, {LinkId{1}, 0.5}}, {.bytes = 12.0});
  flows.add(path({0}), {.bytes = 9.0, .weight = 3.0});
  const Completion completion = simulate(network, flows);
  require_ends(completion, {1.75, 1.0});
  CHECK(completion.link_amount == std::vector<double>{21.0, 6.0});
}

TEST_CASE("a link that another one always binds before changes nothing") {
  // Every flow on link 1 crosses link 0, which is as tight; the ends are those of link 0 alone.
  FlowSet both, alone;
  for (const double bytes : {3.0, 5.0, 8.0}) {
    both.add(path({0, 1}), {.bytes = bytes});
    alone.add(path({0}), {.bytes = bytes});
  }
  both.add(path({0}), {.bytes = 2.0});
  alone.add(path({0}), {.bytes = 2.0});
  const Completion completion = simulate(Network{{10.0, 10.0}}, both);
  CHECK(completion.end_s == simulate(Network{{10.0}}, alone).end_s);
  CHECK(completion.link_amount == std::vector<double>{18.0, 16.0});
}

TEST_CASE("ends agree with textbook simulation") {
  CaseGenerator next_case(11);
  for (int i = 0; i < 2000; ++i) {
    const auto [network, flows] = next_case(Extras::none);
    CAPTURE(i);
    REQUIRE(difference(simulate(network, flows).end_s, textbook::ends(network, flows)) <= rounding);
  }
}

TEST_CASE("ends agree with textbook simulation with arrivals, caps, weights and coefficients") {
  CaseGenerator next_case(12);
  int late = 0, capped = 0, weighted = 0, pulled = 0, tied = 0;
  for (int i = 0; i < 10'000; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const Completion completion = simulate(network, flows);
    CAPTURE(i);
    REQUIRE(difference(completion.end_s, textbook::ends(network, flows)) <= rounding);
    late += !flows.start_s.is_usual();
    capped += std::count(completion.bottleneck.begin(), completion.bottleneck.end(), no_link) >
              std::count(flows.bytes.begin(), flows.bytes.end(), 0.0);
    weighted += !flows.weight.is_usual();
    pulled += !flows.coefficient.is_usual();
    std::vector<double> ends = completion.end_s;
    std::sort(ends.begin(), ends.end());
    tied += std::adjacent_find(ends.begin(), ends.end()) != ends.end();
  }
  CAPTURE(late, capped, weighted, pulled, tied);
  // Each of these is what most cases, or at least every fifth one, are about.
  CHECK(std::min({late, weighted, pulled}) > 5000);
  CHECK(std::min(capped, tied) > 2000);
}

TEST_CASE("solving everything between ends and starts delivers each flow's bytes by its end") {
  CaseGenerator next_case(14);
  for (int i = 0; i < 300; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const std::vector<double> ends = simulate(network, flows).end_s;
    std::vector<double> instants = ends;
    const std::vector<double> starts = flows.start_s.list();
    instants.insert(instants.end(), starts.begin(), starts.end());
    std::sort(instants.begin(), instants.end());
    std::vector<double> delivered(flows.size(), 0.0);
    for (std::size_t k = 0; k + 1 < instants.size(); ++k) {
      const double from = instants[k], to = instants[k + 1];
      FlowSet running;
      std::vector<std::size_t> who;
      for (std::size_t f = 0; f < flows.size(); ++f) {
        if (flows.start_s[f] > from || ends[f] < to) continue;
        running.add(flows.uses(f), flows.spec(f));
        who.push_back(f);
      }
      const std::vector<double> rate = solve(network, running).rate;
      for (std::size_t r = 0; r < who.size(); ++r)
        delivered[who[r]] += rate[r] * (to - from);
    }
    CAPTURE(i);
    REQUIRE(difference(delivered, flows.bytes) <= 1e-9);
  }
}

TEST_CASE("ends of more than a thousand flows on one link agree with textbook simulation") {
  // Links 1 and 2 hold two thirds of them; link 0, which all cross, the rest. Three instants.
  const Network network{{50.0, 3.0, 7.0, 100.0}};
  for (const double coefficient : {1.0, 0.5}) {
    FlowSet flows;
    for (std::uint32_t f = 0; f < 1200; ++f) {
      const Use beside{LinkId{1 + f % 3}, coefficient};
      flows.add(std::vector<Use>{{LinkId{0}}, beside}, {.bytes = 10.0});
    }
    CAPTURE(coefficient);
    REQUIRE(difference(simulate(network, flows).end_s, textbook::ends(network, flows)) <= tight);
  }
}

TEST_CASE("ends of larger sparse networks agree with textbook simulation") {
  // Many links and short paths: most events touch a small part, so that local solves are exercised.
  CaseGenerator random(12);
  for (int i = 0; i < 10; ++i) {
    Network network;
    for (int l = 0; l < 60; ++l)
      network.capacity.push_back(random.uniform(1.0, 10.0));
    FlowSet flows;
    for (int f = 0; f < 120; ++f) {
      std::vector<Use> uses;
      const auto from = static_cast<std::uint32_t>(random.one_of(0, 57));
      for (std::uint32_t l = from; l <= from + random.one_of(0, 2); ++l)
        uses.push_back({LinkId{l}});
      flows.add(uses, {.bytes = random.uniform(0.1, 30.0), .start_s = random.uniform(0.0, 20.0)});
    }
    CAPTURE(i);
    REQUIRE(difference(simulate(network, flows).end_s, textbook::ends(network, flows)) <= rounding);
  }
}

TEST_CASE("ends of larger dense networks agree with textbook simulation") {
  // One component of all flows with several levels, beyond the drift control's period.
  CaseGenerator random(13);
  for (int i = 0; i < 5; ++i) {
    Network network;
    for (int l = 0; l < 12; ++l)
      network.capacity.push_back(random.uniform(5.0, 10.0));
    FlowSet flows;
    for (int f = 0; f < 150; ++f) {
      const auto a = static_cast<std::uint32_t>(random.one_of(0, 5));
      const auto b = static_cast<std::uint32_t>(random.one_of(6, 11));
      flows.add(path({a, b}),
                {.bytes = random.uniform(0.1, 30.0), .weight = random.uniform(0.5, 2.0)});
    }
    CAPTURE(i);
    REQUIRE(difference(simulate(network, flows).end_s, textbook::ends(network, flows)) <= rounding);
  }
}

TEST_CASE("doubling every capacity and cap halves every end") {
  CaseGenerator next_case(21);
  for (int i = 0; i < 300; ++i) {
    RandomCase random = next_case(Extras::all);
    random.flows = at_once(random.flows);
    const std::vector<double> ends = simulate(random.network, random.flows).end_s;
    random.network.capacity = scaled(random.network.capacity, 2.0);
    random.flows = changed(random.flows, [](FlowSpec& spec) { spec.cap_per_s *= 2.0; });
    CAPTURE(i);
    REQUIRE(difference(simulate(random.network, random.flows).end_s, scaled(ends, 0.5)) <= tight);
  }
}

TEST_CASE("doubling all bytes doubles every end") {
  CaseGenerator next_case(22);
  for (int i = 0; i < 300; ++i) {
    RandomCase random = next_case(Extras::all);
    random.flows = at_once(random.flows);
    const std::vector<double> ends = simulate(random.network, random.flows).end_s;
    random.flows.bytes = scaled(random.flows.bytes, 2.0);
    CAPTURE(i);
    REQUIRE(difference(simulate(random.network, random.flows).end_s, scaled(ends, 2.0)) <= tight);
  }
}

TEST_CASE("a link that served much faster before rounds no worse") {
  // Flow 0 has run at 1e9 for 1/3 s when a flow of weight 1e9 - 1 leaves it a level of 1; the 0.7
  // bytes that come at 1 run at 1e9 / (1e9 + 1). Counted from 0 the service would be wrong by 6e-8.
  const Network network{{1e9}};
  FlowSet flows;
  flows.add(path({0}), {.bytes = 2e9});
  flows.add(path({0}), {.bytes = 1e10, .start_s = 1.0 / 3.0, .weight = 1e9 - 1.0});
  flows.add(path({0}), {.bytes = 0.7, .start_s = 1.0});
  const Completion completion = simulate(network, flows);
  CHECK(completion.end_s[2] == Approx(1.0 + 0.7 * (1.0 + 1e-9)).epsilon(1e-13).margin(0.0));
  // The last one is alone for what the shares left: all bytes leave at the link's speed.
  CHECK(completion.makespan_s == Approx((2e9 + 1e10 + 0.7) / 1e9).epsilon(tight).margin(0.0));
}

TEST_CASE("an idle link changes nothing") {
  CaseGenerator next_case(23);
  for (int i = 0; i < 300; ++i) {
    auto [network, flows] = next_case(Extras::all);
    const Completion before = simulate(network, flows);
    network.capacity.push_back(0.001);
    const Completion after = simulate(network, flows);
    REQUIRE(after.end_s == before.end_s);
    REQUIRE(after.link_amount.back() == 0.0);
  }
}

TEST_CASE("an island changes no other island") {
  CaseGenerator next_case(24);
  for (int i = 0; i < 300; ++i) {
    const RandomCase a = next_case(Extras::all);
    const RandomCase b = next_case(Extras::all);
    RandomCase both = a;
    for (const double capacity : b.network.capacity)
      both.network.capacity.push_back(capacity);
    for (std::size_t f = 0; f < b.flows.size(); ++f) {
      const auto after_a = [&](std::size_t l) { return a.network.size() + l; };
      both.flows.add(renumbered(b.flows.uses(f), after_a), b.flows.spec(f));
    }
    std::vector<double> expected = simulate(a.network, a.flows).end_s;
    const std::vector<double> others = simulate(b.network, b.flows).end_s;
    expected.insert(expected.end(), others.begin(), others.end());
    CAPTURE(i);
    REQUIRE(difference(simulate(both.network, both.flows).end_s, expected) <= tight);
  }
}

TEST_CASE("no link carries more than its capacity times the makespan") {
  CaseGenerator next_case(25);
  for (int i = 0; i < 500; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    const Completion completion = simulate(network, flows);
    for (std::size_t l = 0; l < network.size(); ++l) {
      REQUIRE(completion.link_amount[l] <=
              network.capacity[l] * completion.makespan_s * (1.0 + tight));
    }
  }
}

TEST_CASE("the same set simulates to the same bits") {
  CaseGenerator next_case(26);
  for (int i = 0; i < 100; ++i) {
    const auto [network, flows] = next_case(Extras::all);
    REQUIRE(simulate(network, flows).end_s == simulate(network, flows).end_s);
  }
}

}  // namespace simulate_test
