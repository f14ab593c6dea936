#include "../../src/flow/sharing.hpp"

#include <catch2/catch.hpp>

#include "flow_sets.hpp"
#include "flowplan/flow/max_min.hpp"
#include "random_case.hpp"

namespace sharing_test {

using namespace flowplan::flow;

namespace {

/// The flows that run, as a set of their own.
FlowSet running_flows(const Sharing& sharing, const FlowSet& flows) {
  FlowSet running;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (sharing.runs(f)) running.add(flows.uses(f), flows.spec(f));
  }
  return running;
}

std::vector<double> running_rates(const Sharing& sharing, const FlowSet& flows) {
  std::vector<double> rate;
  for (std::uint32_t f = 0; f < flows.size(); ++f) {
    if (sharing.runs(f)) rate.push_back(sharing.level(f) * flows.weight[f]);
  }
  return rate;
}

/// Starts and stops flows at random for ever, several at a time, and compares with a fresh solve.
void require_same_as_solving_everything(const Network& network, const FlowSet& flows,
                                        CaseGenerator& random, int updates) {
  for (const Redundant redundant : {Redundant::keep, Redundant::drop}) {
    Sharing sharing(network, flows, redundant);
    for (int update = 0; update < updates; ++update) {
      std::vector<bool> changed(flows.size(), false);
      for (std::size_t n = random.one_of(1, 4); n > 0; --n) {
        const auto f = static_cast<std::uint32_t>(random.one_of(0, flows.size() - 1));
        if (changed[f]) continue;
        changed[f] = true;
        if (sharing.runs(f)) {
          sharing.stop(f);
        } else {
          sharing.start(f);
        }
      }
      sharing.update();
      const FlowSet running = running_flows(sharing, flows);
      const std::vector<double> rate = running_rates(sharing, flows);
      CAPTURE(update);
      REQUIRE(difference(rate, solve(network, running).rate) <= tight);
      REQUIRE(refute(network, running, rate) == std::nullopt);
    }
  }
}

}  // namespace

TEST_CASE("solving what a change touches gives the rates of solving everything") {
  CaseGenerator random(41);
  for (int i = 0; i < 200; ++i) {
    const auto [network, flows] = random(CaseGenerator::Extras::all);
    CAPTURE(i);
    require_same_as_solving_everything(network, flows, random, 20);
  }
}

TEST_CASE("rates do not drift over thousands of changes") {
  CaseGenerator random(42);
  const auto [network, flows] = random(CaseGenerator::Extras::all);
  require_same_as_solving_everything(network, flows, random, 3000);
}

TEST_CASE("what slow flows leave is summed afresh now and then") {
  // Flow 0 runs at 0.1 for ever, held by link 0, while the others share what it leaves of link 1.
  const Network network{{0.1, 10.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}}, {LinkId{1}}}, {});
  for (int f = 1; f < 4; ++f)
    flows.add(std::vector<Use>{{LinkId{1}}}, {});
  Sharing sharing(network, flows, Redundant::keep);
  sharing.start(0);
  sharing.start(1);
  for (std::uint32_t i = 0; i < 1000; ++i) {
    sharing.start(2 + i % 2);
    sharing.update();
    REQUIRE(sharing.level(1) == Approx(4.95).epsilon(1e-14));
    sharing.stop(2 + i % 2);
    sharing.update();
    REQUIRE(sharing.level(1) == Approx(9.9).epsilon(1e-14));
  }
}

TEST_CASE("a restart freezes flows at their own level and not at the margin below it") {
  // Flow 0 leaves 1/32 of link 0, which flow 1 has alone: level (1/32) / (1/16) = 0.5, as flow 2's
  // cap. When flow 2 ends, flow 1 is solved again from that level on, and keeps it to the last bit.
  const Network network{{3.0, 1000.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}}}, {.cap_per_s = 3.0 - 1.0 / 32, .weight = 32.0});
  flows.add(std::vector<Use>{{LinkId{0}}, {LinkId{1}}}, {.weight = 1.0 / 16});
  flows.add(std::vector<Use>{{LinkId{1}}}, {.cap_per_s = 0.5});
  Sharing sharing(network, flows, Redundant::keep);
  for (std::uint32_t f = 0; f < 3; ++f)
    sharing.start(f);
  sharing.update();
  REQUIRE(sharing.level(1) == 0.5);
  sharing.stop(2);
  CHECK(sharing.update() == std::vector<std::uint32_t>{1});
  CHECK(sharing.level(1) == 0.5);
}

TEST_CASE("a change in one island does not solve another") {
  // Four islands of two flows; the ninth flow joins the second.
  Network network{std::vector<double>(4, 10.0)};
  FlowSet flows;
  for (std::uint32_t f = 0; f < 8; ++f)
    flows.add(std::vector<Use>{{LinkId{f / 2}}}, {});
  flows.add(std::vector<Use>{{LinkId{1}}}, {});
  Sharing sharing(network, flows, Redundant::keep);
  for (std::uint32_t f = 0; f < 8; ++f)
    sharing.start(f);
  CHECK(sharing.update().size() == 8);
  sharing.start(8);
  CHECK(sharing.update() == std::vector<std::uint32_t>{8, 2, 3});
  sharing.stop(2);
  std::vector<std::uint32_t> solved = sharing.update();
  std::sort(solved.begin(), solved.end());
  CHECK(solved == std::vector<std::uint32_t>{3, 8});
  CHECK(sharing.update().empty());
}

TEST_CASE("the end of a fast flow does not solve slower ones") {
  // Link 0 gives its ten flows 0.2 each, flow 1 among them; on link 1 flows 2 and 3 run at 4.9.
  const Network network{{2.0, 10.0}};
  FlowSet flows;
  flows.add(std::vector<Use>{{LinkId{0}}}, {});
  flows.add(std::vector<Use>{{LinkId{0}}, {LinkId{1}}}, {});
  flows.add(std::vector<Use>{{LinkId{1}}}, {});
  flows.add(std::vector<Use>{{LinkId{1}}}, {});
  for (std::uint32_t f = 4; f < 12; ++f)
    flows.add(std::vector<Use>{{LinkId{0}}}, {});
  Sharing sharing(network, flows, Redundant::keep);
  for (std::uint32_t f = 0; f < 12; ++f)
    sharing.start(f);
  sharing.update();
  REQUIRE(sharing.level(1) == Approx(0.2));
  sharing.stop(3);
  CHECK(sharing.update() == std::vector<std::uint32_t>{2});
  CHECK(sharing.level(2) == Approx(9.8).epsilon(tight));
}

TEST_CASE("a link that another one always binds before is left out") {
  const auto links_left = [](const Network& network, const FlowSet& flows) {
    std::vector<LinkId> ids;
    for (const UsedLink& link : lay_out(network, flows, Redundant::drop).links) {
      ids.push_back(link.id);
    }
    return ids;
  };
  const auto add = [](FlowSet& flows, std::vector<Use> uses) { flows.add(uses, {}); };
  constexpr LinkId a{0}, b{1};

  FlowSet chain;  // all flows on b cross a, not the other way round
  add(chain, {{a}});
  add(chain, {{a}, {b}});
  CHECK(links_left(Network{{10.0, 10.0}}, chain) == std::vector{a});
  CHECK(links_left(Network{{10.0, 9.0}}, chain) == std::vector{a, b});

  FlowSet pair;  // the same flows on both: the tighter one stays, or the first
  add(pair, {{a}, {b}});
  add(pair, {{b}, {a}});
  CHECK(links_left(Network{{10.0, 10.0}}, pair) == std::vector{a});
  CHECK(links_left(Network{{10.0, 9.0}}, pair) == std::vector{b});
  CHECK(links_left(Network{{9.0, 10.0}}, pair) == std::vector{a});

  FlowSet coefficients;  // b loses twice as much a byte
  add(coefficients, {{a, 1.0}, {b, 2.0}});
  CHECK(links_left(Network{{10.0, 15.0}}, coefficients) == std::vector{b});
  CHECK(links_left(Network{{10.0, 20.0}}, coefficients) == std::vector{a});

  FlowSet mixed;  // each is the tighter one for one of the flows
  add(mixed, {{a, 2.0}, {b, 1.0}});
  add(mixed, {{a, 1.0}, {b, 2.0}});
  CHECK(links_left(Network{{10.0, 10.0}}, mixed) == std::vector{a, b});

  CHECK(links_left(Network{{10.0, 10.0}}, FlowSet{}).empty());
}

}  // namespace sharing_test
