#include "flowplan/flow/task_graph.hpp"

#include <catch2/catch.hpp>

#include "flow_sets.hpp"
#include "flowplan/flow/simulate.hpp"
#include "random_case.hpp"

namespace task_graph_test {

using namespace flowplan;
using namespace flowplan::flow;

namespace {

void add_flow(TaskGraph& graph, std::uint32_t link, double bytes, double start_s = 0.0) {
  graph.flows.add(std::vector<Use>{{LinkId{link}}}, {.bytes = bytes, .start_s = start_s});
}

Timeline run(const Network& network, const TaskGraph& graph) {
  const Result<Timeline> timeline = simulate(network, graph);
  REQUIRE(timeline.has_value());
  return *timeline;
}

void require_times(const std::vector<double>& times, const std::vector<double>& expected) {
  REQUIRE(times.size() == expected.size());
  for (std::size_t t = 0; t < expected.size(); ++t) {
    CAPTURE(t);
    CHECK(times[t] == Approx(expected[t]).epsilon(tight).margin(0.0));
  }
}

}  // namespace

TEST_CASE("an empty graph takes no time") {
  const Timeline timeline = run(Network{{1.0}}, TaskGraph{});
  CHECK(timeline.makespan_s == 0.0);
  CHECK(timeline.link_amount == std::vector<double>{0.0});
}

TEST_CASE("a task without flows is a delay") {
  TaskGraph graph;
  const TaskId a = graph.add("a", 2.0);
  const TaskId b = graph.add("b", 0.0, std::vector{a});
  graph.add("c", 1.5, std::vector{b});
  const Timeline timeline = run(Network{}, graph);
  require_times(timeline.start_s, {0, 2, 2});
  require_times(timeline.end_s, {2, 2, 3.5});
  CHECK(timeline.events == 0);
}

TEST_CASE("a task waits for its delay and then for its last flow") {
  // Delay 1 s, 10 bytes at 10 / s, and a flow 3 s after the release.
  TaskGraph graph;
  add_flow(graph, 0, 10.0);
  add_flow(graph, 0, 5.0, 3.0);
  graph.add("a", 1.0);
  const Timeline timeline = run(Network{{10.0}}, graph);
  require_times(timeline.start_s, {0});
  require_times(timeline.end_s, {4.5});
  CHECK(timeline.link_amount == std::vector<double>{15.0});
}

TEST_CASE("the branches of a diamond share the link and the last one releases the join") {
  // a: 10 / 10 = 1 s. Then b and c at 5 each: b's 5 bytes end at 2 s; c has 10 - 5 left at 10: 2.5
  // s. d starts at 2.5 s and takes 2 s.
  TaskGraph graph;
  add_flow(graph, 0, 10.0);
  const TaskId a = graph.add("a", 0.0);
  add_flow(graph, 0, 5.0);
  const TaskId b = graph.add("b", 0.0, std::vector{a});
  add_flow(graph, 0, 10.0);
  const TaskId c = graph.add("c", 0.0, std::vector{a});
  add_flow(graph, 0, 20.0);
  graph.add("d", 0.0, std::vector{b, c});
  const Timeline timeline = run(Network{{10.0}}, graph);
  require_times(timeline.start_s, {0, 1, 1, 2.5});
  require_times(timeline.end_s, {1, 2, 2.5, 4.5});
  CHECK(timeline.makespan_s == timeline.end_s[3]);
  CHECK(timeline.events == 4);
}

TEST_CASE("compute on its own link overlaps with communication for free") {
  TaskGraph graph;
  add_flow(graph, 0, 30.0);
  graph.add("network", 0.0);
  add_flow(graph, 1, 20.0);
  graph.add("compute", 0.0);
  require_times(run(Network{{10.0, 10.0}}, graph).end_s, {3, 2});
}

TEST_CASE("a task alone repeats its delay and flows without being simulated again") {
  // 1,000,000 times 0.5 s + 10 / 10 s.
  TaskGraph graph;
  add_flow(graph, 0, 10.0);
  const TaskId a = graph.add("a", 0.5, {}, 1'000'000);
  graph.add("b", 1.0, std::vector{a});
  const Timeline timeline = run(Network{{10.0}}, graph);
  require_times(timeline.end_s, {1.5e6, 1.5e6 + 1});
  CHECK(timeline.link_amount == std::vector<double>{1e7});
  CHECK(timeline.events == 1);
}

TEST_CASE("a repeated task shares with what else is running, run by run") {
  // a repeats 10 bytes 4 times, b moves 15 bytes, link of 10. At 5 each a's first run ends at 2 s;
  // b's 5 left end at 3 s, when a has 5 of its second run left: 3.5 s, then 4.5 and 5.5 s.
  TaskGraph graph;
  add_flow(graph, 0, 10.0);
  graph.add("a", 0.0, {}, 4);
  add_flow(graph, 0, 15.0);
  graph.add("b", 0.0);
  const Timeline timeline = run(Network{{10.0}}, graph);
  require_times(timeline.end_s, {5.5, 3});
  CHECK(timeline.link_amount == std::vector<double>{55.0});
}

TEST_CASE("a repeated delay is that many delays") {
  TaskGraph graph;
  graph.add("a", 0.25, {}, 8);
  graph.add("nothing", 0.0, {}, 4'000'000'000U);
  require_times(run(Network{}, graph).end_s, {2, 0});
}

TEST_CASE("tasks of no bytes end when their last flow starts") {
  TaskGraph graph;
  add_flow(graph, 0, 0.0);
  add_flow(graph, 0, 0.0, 2.0);
  const TaskId a = graph.add("a", 1.0);
  add_flow(graph, 0, 10.0);
  add_flow(graph, 0, 0.0, 5.0);
  graph.add("b", 0.0, std::vector{a});
  require_times(run(Network{{10.0}}, graph).end_s, {3, 8});
}

TEST_CASE("a chain of a hundred thousand empty tasks ends at once") {
  TaskGraph graph;
  TaskId last = graph.add("0", 0.0);
  for (int t = 1; t < 100'000; ++t)
    last = graph.add({}, 0.0, std::vector{last});
  CHECK(run(Network{}, graph).makespan_s == 0.0);
}

TEST_CASE("a graph of one task is its flow set") {
  CaseGenerator next_case(31);
  for (int i = 0; i < 300; ++i) {
    const auto [network, flows] = next_case(CaseGenerator::Extras::all);
    TaskGraph graph;
    graph.flows = flows;
    graph.add("all", 0.0);
    const Completion completion = simulate(network, flows);
    const Timeline timeline = run(network, graph);
    CAPTURE(i);
    REQUIRE(timeline.makespan_s == Approx(completion.makespan_s).epsilon(tight).margin(0.0));
    REQUIRE(timeline.link_amount == completion.link_amount);
  }
}

TEST_CASE("a task a flow ends each as in the flow set") {
  CaseGenerator next_case(32);
  for (int i = 0; i < 300; ++i) {
    const auto [network, flows] = next_case(CaseGenerator::Extras::all);
    TaskGraph graph;
    graph.flows = flows;
    for (std::uint32_t f = 0; f < flows.size(); ++f) {
      graph.tasks.push_back({.name = {}, .flow_begin = f, .flow_end = f + 1});
    }
    CAPTURE(i);
    REQUIRE(difference(run(network, graph).end_s, simulate(network, flows).end_s) <= tight);
  }
}

TEST_CASE("repeats are the same as tasks in a row") {
  CaseGenerator next_case(33);
  for (int i = 0; i < 200; ++i) {
    const auto drawn = next_case(CaseGenerator::Extras::all);
    const Network& network = drawn.network;
    const FlowSet& flows = drawn.flows;
    // The first half of the flows is repeated three times while the other half runs twice.
    const auto half = static_cast<std::uint32_t>(flows.size() / 2);
    const auto size = static_cast<std::uint32_t>(flows.size());
    TaskGraph repeated;
    repeated.flows = flows;
    repeated.tasks.push_back({"a", 0.5, 0, half, 3});
    repeated.tasks.push_back({"b", 0.25, half, size, 2});
    TaskGraph unrolled;
    const auto append = [&](std::uint32_t begin, std::uint32_t end, double delay, bool first) {
      for (std::uint32_t f = begin; f < end; ++f) {
        unrolled.flows.add(flows.uses(f), flows.spec(f));
      }
      const TaskId before{static_cast<std::uint32_t>(unrolled.tasks.size()) - 1};
      return unrolled.add({}, delay, first ? std::vector<TaskId>{} : std::vector{before});
    };
    for (int k = 0; k < 3; ++k)
      append(0, half, 0.5, k == 0);
    for (int k = 0; k < 2; ++k)
      append(half, size, 0.25, k == 0);
    const Timeline a = run(network, repeated);
    const Timeline b = run(network, unrolled);
    CAPTURE(i);
    REQUIRE(difference(a.end_s, std::vector{b.end_s[2], b.end_s[4]}) <= tight);
    REQUIRE(difference(a.link_amount, b.link_amount) <= tight);
  }
}

TEST_CASE("a cycle is refused and its tasks are named") {
  TaskGraph graph;
  const TaskId start = graph.add("start", 0.0);
  const TaskId b = graph.add("b", 0.0, std::vector{start});
  const TaskId c = graph.add("c", 0.0, std::vector{b});
  const TaskId d = graph.add("d", 0.0, std::vector{c});
  graph.add("after", 0.0, std::vector{d});
  graph.dependencies.emplace_back(d, b);
  const Result<Timeline> result = simulate(Network{}, graph);
  REQUIRE_FALSE(result);
  REQUIRE(result.error().size() == 1);
  CHECK(result.error()[0].code == Code::task_cycle);
  CHECK(result.error()[0].message == "tasks wait for each other: `b` -> `c` -> `d` -> `b`");
}

TEST_CASE("a task that waits for itself is a cycle") {
  TaskGraph graph;
  const TaskId a = graph.add("a", 0.0);
  graph.dependencies.emplace_back(a, a);
  const Result<Timeline> result = simulate(Network{}, graph);
  REQUIRE_FALSE(result);
  CHECK(result.error()[0].message == "tasks wait for each other: `a` -> `a`");
}

TEST_CASE("of a long cycle only some tasks are named") {
  TaskGraph graph;
  TaskId last = graph.add("first", 0.0);
  for (int t = 1; t < 1000; ++t)
    last = graph.add("t" + std::to_string(t), 0.0, std::vector{last});
  graph.dependencies.emplace_back(last, TaskId{0});
  const Result<Timeline> result = simulate(Network{}, graph);
  REQUIRE_FALSE(result);
  CHECK_THAT(result.error()[0].message,
             Catch::Contains("`first` -> `t1`") && Catch::EndsWith("988 more -> `first`"));
}

TEST_CASE("dependencies on tasks that do not exist are refused, all of them") {
  TaskGraph graph;
  const TaskId a = graph.add("a", 0.0);
  graph.dependencies.emplace_back(a, TaskId{7});
  graph.dependencies.emplace_back(TaskId{9}, a);
  const Result<Timeline> result = simulate(Network{}, graph);
  REQUIRE_FALSE(result);
  REQUIRE(result.error().size() == 2);
  CHECK(result.error()[0].code == Code::dangling_dependency);
  CHECK(result.error()[0].message == "dependency 0 of `a` names task 7, which does not exist");
  CHECK(result.error()[1].message == "dependency 1 of `a` names task 9, which does not exist");
  CHECK(result.error()[0].hint == "there are 1 tasks");
}

}  // namespace task_graph_test
