#include "flowplan/flow/fold.hpp"

#include <catch2/catch.hpp>

#include "cluster_case.hpp"
#include "flow_sets.hpp"
#include "random_case.hpp"

namespace fold_test {

using namespace flowplan::flow;

namespace {

using Extras = CaseGenerator::Extras;
using Outcome = FoldSummary::Outcome;

/// What folding may change: an order of rounding. The promise to users is 1e-9.
constexpr double refolded = 1e-11;

constexpr FlowSpec one_gigabyte{.bytes = 1e9};

/// Several copies of a random case side by side, whose flows cross over between the copies, then
/// everything renumbered: symmetric in ways that no order shows.
RandomCase lifted(CaseGenerator& generator, const RandomCase& base, std::uint32_t copies) {
  const auto links = static_cast<std::uint32_t>(base.network.size());
  std::vector<std::uint32_t> link_order(std::size_t{links} * copies);
  std::iota(link_order.begin(), link_order.end(), 0U);
  std::mt19937 engine(static_cast<std::uint32_t>(generator.one_of(0, 1 << 20)));
  std::shuffle(link_order.begin(), link_order.end(), engine);
  RandomCase lift;
  lift.network.capacity.resize(link_order.size());
  for (std::uint32_t i = 0; i < link_order.size(); ++i)
    lift.network.capacity[link_order[i]] = base.network.capacity[i % links];
  std::vector<std::uint32_t> shift(base.flows.link.size());
  for (std::uint32_t& s : shift)
    s = static_cast<std::uint32_t>(generator.one_of(0, copies - 1));
  std::vector<std::uint32_t> flow_order(base.flows.size() * copies);
  std::iota(flow_order.begin(), flow_order.end(), 0U);
  std::shuffle(flow_order.begin(), flow_order.end(), engine);
  for (const std::uint32_t i : flow_order) {
    const auto f = static_cast<std::uint32_t>(i % base.flows.size());
    const auto copy = static_cast<std::uint32_t>(i / base.flows.size());
    std::uint32_t u = base.flows.first_use[f];
    const auto crossed_over = [&](std::size_t link) {
      const std::uint32_t to = (copy + shift[u++]) % copies;
      return link_order[to * links + link];
    };
    lift.flows.add(renumbered(base.flows.uses(f), crossed_over), base.flows.spec(f));
  }
  return lift;
}

/// The flow is at its cap, or its bottleneck is on its path, full, and has nobody faster.
void require_held(const RandomCase& c, const Allocation& allocation) {
  const std::vector<double> load = link_load(c.network, c.flows, allocation.rate);
  std::vector<double> fastest(c.network.size(), 0.0);
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    for (std::uint32_t u = c.flows.first_use[f]; u < c.flows.first_use[f + 1]; ++u) {
      double& level = fastest[index(c.flows.link[u])];
      level = std::max(level, allocation.rate[f] / c.flows.weight[f]);
    }
  }
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    const LinkId holder = allocation.bottleneck[f];
    if (holder == no_link) {
      REQUIRE(allocation.rate[f] == Approx(c.flows.cap_per_s[f]).epsilon(refolded));
      continue;
    }
    const auto path =
        std::span(c.flows.link)
            .subspan(c.flows.first_use[f], c.flows.first_use[f + 1] - c.flows.first_use[f]);
    REQUIRE(std::find(path.begin(), path.end(), holder) != path.end());
    REQUIRE(load[index(holder)] == Approx(c.network.capacity[index(holder)]).epsilon(refolded));
    REQUIRE(allocation.rate[f] / c.flows.weight[f] ==
            Approx(fastest[index(holder)]).epsilon(refolded));
  }
}

/// Folded and not, solved and simulated: the same.
FoldSummary require_same(const RandomCase& c) {
  FoldSummary summary;
  const Allocation folded = solve(c.network, c.flows, Folding::automatic, &summary);
  const Allocation plain = solve(c.network, c.flows, Folding::off);
  REQUIRE(refute(c.network, c.flows, folded.rate) == std::nullopt);
  REQUIRE(difference(folded.rate, plain.rate) < refolded);
  require_held(c, folded);

  const Completion run = simulate(c.network, c.flows, Folding::automatic, &summary);
  const Completion plain_run = simulate(c.network, c.flows, Folding::off);
  REQUIRE(difference(run.end_s, plain_run.end_s) < refolded);
  REQUIRE(difference(run.link_amount, plain_run.link_amount) < refolded);
  REQUIRE(run.makespan_s == Approx(plain_run.makespan_s).epsilon(refolded));
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    const std::span path =
        std::span(c.flows.link)
            .subspan(c.flows.first_use[f], c.flows.first_use[f + 1] - c.flows.first_use[f]);
    const bool on_path = std::find(path.begin(), path.end(), run.bottleneck[f]) != path.end();
    REQUIRE((on_path || run.bottleneck[f] == no_link));
  }
  return summary;
}

FoldSummary require_same(const Listed& listed) {
  return require_same(RandomCase{listed.network, listed.flows});
}

FoldSummary require_same(const Network& network, const TaskGraph& graph) {
  FoldSummary summary;
  const auto run = simulate(network, graph, Folding::automatic, &summary);
  const auto plain = simulate(network, graph, Folding::off);
  REQUIRE(run);
  REQUIRE(plain);
  REQUIRE(difference(run->start_s, plain->start_s) < refolded);
  REQUIRE(difference(run->end_s, plain->end_s) < refolded);
  REQUIRE(difference(run->flow_end_s, plain->flow_end_s) < refolded);
  REQUIRE(difference(run->link_amount, plain->link_amount) < refolded);
  REQUIRE(run->makespan_s == Approx(plain->makespan_s).epsilon(refolded));
  return summary;
}

/// Collectives that overlap, wait for each other and repeat. A tree tells all nodes apart.
TaskGraph training_step(const Cluster& cluster, bool with_tree) {
  TaskGraph graph;
  const auto add = [&](const char* name, const Listed& listed, double delay_s,
                       const std::vector<TaskId>& after, std::uint32_t repeat) {
    for (std::uint32_t f = 0; f < listed.flows.size(); ++f)
      graph.flows.add(listed.flows.uses(f), listed.flows.spec(f));
    return graph.add(name, delay_s, after, repeat);
  };
  const auto gigabytes = [](double n) { return FlowSpec{.bytes = n * 1e9}; };
  const TaskId steps =
      add("ring", list_pairs(cluster, ring(cluster), gigabytes(0.25)), 0.001, {}, 3);
  const TaskId nvls = add("nvls", list_nvls(cluster, gigabytes(2.0)), 0.0, {}, 2);
  const TaskId rails =
      add("rails", list_pairs(cluster, rail_groups(cluster, 4), gigabytes(0.5)), 0.0, {steps}, 1);
  if (with_tree) {
    add("tree", list_pairs(cluster, double_tree(cluster), gigabytes(1.0)), 0.002, {nvls}, 2);
  }
  add("all-to-all", list_all_to_all(cluster, gigabytes(0.01)), 0.0, {nvls, rails}, 1);
  return graph;
}

/// The flows of a case as the tasks of a graph: up to three flows a task, each of which waits for
/// some of those before it.
TaskGraph as_tasks(CaseGenerator& generator, const FlowSet& flows) {
  TaskGraph graph;
  for (std::uint32_t f = 0; f < flows.size();) {
    for (std::size_t n = generator.one_of(1, 24); n > 0 && f < flows.size(); --n, ++f) {
      graph.flows.add(flows.uses(f), flows.spec(f));
    }
    std::vector<TaskId> after;
    for (std::uint32_t t = 0; t < graph.tasks.size(); ++t) {
      if (generator.one_of(0, 2) == 0) after.push_back(TaskId{t});
    }
    graph.add("task", generator.one_of(0, 1) == 0 ? 0.0 : 0.5, after,
              static_cast<std::uint32_t>(generator.one_of(1, 3)));
  }
  return graph;
}

}  // namespace

TEST_CASE("irregular cases come out the same whether or not they fold") {
  CaseGenerator generator(3);
  for (int i = 0; i < 2000; ++i)
    require_same(generator(i % 2 == 0 ? Extras::none : Extras::all));
}

TEST_CASE("symmetric cases fold, and come out the same") {
  CaseGenerator generator(4);
  int folded = 0;
  for (int i = 0; i < 500; ++i) {
    const RandomCase base = generator(i % 2 == 0 ? Extras::none : Extras::all);
    const FoldSummary summary =
        require_same(lifted(generator, base, static_cast<std::uint32_t>(generator.one_of(2, 20))));
    CHECK(summary.outcome != Outcome::too_many);
    CHECK(summary.flow_classes <= base.flows.size());
    folded += summary.flow_classes > 0 ? 1 : 0;
  }
  CHECK(folded == 500);
}

TEST_CASE("a slow link, a late start or an odd flow is felt, folded or not") {
  CaseGenerator generator(5);
  for (int i = 0; i < 600; ++i) {
    RandomCase c = lifted(generator, generator(i % 2 == 0 ? Extras::none : Extras::all), 24);
    const std::size_t f = generator.one_of(0, c.flows.size() - 1);
    switch (i % 3) {
      case 0:
        c.network.capacity[generator.one_of(0, c.network.size() - 1)] *= 0.5;
        break;
      case 1:
        c.flows.start_s.set(f, c.flows.start_s[f] + 0.25);
        break;
      case 2:
        c.flows.bytes[f] = 3.0 * c.flows.bytes[f] + 1.0;
        break;
    }
    require_same(c);
  }
}

TEST_CASE("collectives on clusters come out the same, folded or not") {
  for (const bool scatter : {false, true}) {
    for (const bool slow : {false, true}) {
      Cluster cluster = contiguous(37, 4, 5, 3);
      if (scatter) cluster = scattered(cluster, 9);
      if (slow) cluster.slow_nic = {18, 2};
      CAPTURE(scatter, slow);
      for (const auto& pairs : {ring(cluster), double_tree(cluster), rail_groups(cluster, 7)})
        require_same(list_pairs(cluster, pairs, one_gigabyte));
      require_same(list_nvls(cluster, one_gigabyte));
    }
  }
  require_same(list_all_to_all(contiguous(7, 3, 3, 2), one_gigabyte));
}

TEST_CASE("collectives that overlap, wait and repeat come out the same, folded or not") {
  const Cluster as_built = contiguous(16, 4, 4, 2);
  Cluster slow = as_built;
  slow.slow_nic = {5, 1};
  const Cluster scattered_nodes = scattered(as_built, 9);
  int folded = 0;
  const auto makespan = [&folded](const Cluster& cluster, bool with_tree) {
    const Network network = list_nvls(cluster, one_gigabyte).network;
    const TaskGraph graph = training_step(cluster, with_tree);
    const FoldSummary summary = require_same(network, graph);
    folded += summary.flow_classes > 0 ? 1 : 0;
    const auto run = simulate(network, graph);
    REQUIRE(run);
    CHECK(run->events > graph.tasks.size());
    return run->makespan_s;
  };
  const double usual_s = makespan(as_built, false);
  CHECK(makespan(slow, false) > 1.01 * usual_s);
  for (const bool with_tree : {false, true})
    makespan(scattered_nodes, with_tree);
  CHECK(makespan(slow, true) > 1.01 * makespan(as_built, true));
  CHECK(folded == 6);
}

TEST_CASE("a ring in one leaf is one class") {
  const Cluster cluster = contiguous(16, 4, 16, 1);
  const Listed listed = list_pairs(cluster, ring(cluster), one_gigabyte);
  FoldSummary summary;
  const Completion run = simulate(listed.network, listed.flows, Folding::automatic, &summary);
  CHECK(run.makespan_s == Approx(1e9 / Cluster::nic));
  CHECK(summary.flow_classes == 1);
  CHECK(summary.link_classes <= 2);
  CHECK(summary.outcome == Outcome::certified);
}

TEST_CASE("a slow NIC in a ring holds the two flows that cross it") {
  // 50 GB/s NICs and 16 nodes of 4 rails under one leaf; one NIC at 25 GB/s, up and down.
  Cluster cluster = contiguous(16, 4, 16, 1);
  cluster.slow_nic = {3, 1};
  const Listed listed = list_pairs(cluster, ring(cluster), one_gigabyte);
  const Completion run = simulate(listed.network, listed.flows, Folding::automatic);
  int slow = 0;
  for (const double end : run.end_s) {
    const bool late = end == Approx(0.04);
    slow += late ? 1 : 0;
    CHECK((late || end == Approx(0.02)));
  }
  CHECK(slow == 2);
  CHECK(run.makespan_s == Approx(0.04));
}

TEST_CASE("a deep tree needs no classes for its depth") {
  // Two rates, but the equitable partition tells the levels of the tree apart.
  const Cluster cluster = contiguous(500, 2, 500, 1);
  const Listed listed = list_pairs(cluster, double_tree(cluster), one_gigabyte);
  FoldSummary summary;
  const Allocation folded = solve(listed.network, listed.flows, Folding::automatic, &summary);
  CHECK(refute(listed.network, listed.flows, folded.rate) == std::nullopt);
  CHECK(summary.outcome == Outcome::certified);
  CHECK(summary.flow_classes <
        refine(listed.network, listed.flows, {.over_time = false, .label = {}}).flow_classes);
}

TEST_CASE("flows of random sizes are not folded") {
  CaseGenerator generator(6);
  FlowSet flows;
  for (int f = 0; f < 100; ++f)
    flows.add(std::vector<Use>{{LinkId{0}}}, {.bytes = generator.uniform(1.0, 2.0)});
  FoldSummary summary;
  const Network network{{1.0}};
  CHECK(simulate(network, flows, Folding::automatic, &summary).end_s ==
        simulate(network, flows).end_s);
  CHECK(summary.outcome == Outcome::too_many);
  CHECK(summary.flow_classes == 0);
  // Their sizes do not matter for one solve.
  (void)solve(network, flows, Folding::automatic, &summary);
  CHECK(summary.flow_classes == 1);
}

TEST_CASE("a long chain is given up, not refined link by link") {
  FlowSet flows;
  constexpr std::uint32_t size = 2000;
  for (std::uint32_t f = 0; f + 1 < size; ++f)
    flows.add(std::vector<Use>{{LinkId{f}}, {LinkId{f + 1}}}, {.bytes = f < 2 ? 2.0 : 1.0});
  FoldSummary summary;
  const Network network{std::vector<double>(size, 1.0)};
  const Completion run = simulate(network, flows, Folding::automatic, &summary);
  CHECK(summary.rounds <= most_rounds);
  CHECK(difference(run.end_s, simulate(network, flows).end_s) < refolded);
}

TEST_CASE("an empty set and a single flow run as they are") {
  FoldSummary summary;
  CHECK(simulate({}, FlowSet{}, Folding::automatic, &summary).makespan_s == 0.0);
  CHECK(summary.outcome == Outcome::off);
  FlowSet one;
  one.add(std::vector<Use>{{LinkId{0}}}, {.bytes = 6.0});
  CHECK(simulate({{2.0}}, one, Folding::automatic, &summary).makespan_s == 3.0);
}

TEST_CASE("flows fold within their tasks, in random graphs of symmetric flows") {
  CaseGenerator generator(7);
  int folded = 0;
  for (int i = 0; i < 500; ++i) {
    RandomCase base = generator(i % 2 == 0 ? Extras::none : Extras::all);
    // The flows of the copies next to each other, so that tasks get several of a kind.
    RandomCase c;
    c.network = base.network;
    for (std::uint32_t f = 0; f < base.flows.size(); ++f) {
      for (std::size_t copy = generator.one_of(1, 8); copy > 0; --copy) {
        c.flows.add(base.flows.uses(f), base.flows.spec(f));
      }
    }
    if (i % 3 == 0) c.network.capacity[generator.one_of(0, c.network.size() - 1)] *= 0.5;
    const TaskGraph graph = as_tasks(generator, c.flows);
    folded += require_same(c.network, graph).flow_classes > 0 ? 1 : 0;
  }
  CHECK(folded > 250);
}

TEST_CASE("tasks without flows and unsound graphs are as they are without folding") {
  TaskGraph graph;
  const TaskId wait = graph.add("wait", 1.0);
  for (int f = 0; f < 4; ++f)
    graph.flows.add(std::vector<Use>{{LinkId{0}}}, {.bytes = 1.0});
  const TaskId send = graph.add("send", 0.0, std::vector{wait});
  const TaskId rest = graph.add("rest", 0.5, std::vector{send});
  const Network network{{2.0}};
  FoldSummary summary;
  const auto run = simulate(network, graph, Folding::automatic, &summary);
  REQUIRE(run);
  CHECK(summary.flow_classes == 1);
  // 1 s, 4 bytes at 2 a second, half a second.
  CHECK(run->makespan_s == Approx(3.5));

  graph.dependencies.emplace_back(rest, wait);
  const auto refused = simulate(network, graph, Folding::automatic);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().front().code == flowplan::Code::task_cycle);
}

}  // namespace fold_test
