#include <catch2/catch.hpp>

#include "case_schema.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/replay.hpp"

namespace flowplan_case_test {

using namespace flowplan;
using namespace flowplan::flow;

namespace {

Result<Case> read(const std::string& body) {
  const auto document =
      JsonDocument::parse("{\"format\": \"flowplan-flow-1\",\n" + body + "}", "case.json");
  REQUIRE(document);
  return read_case(*document, flow_case_schema());
}

const std::string square = R"("links": [
  {"from": "a", "to": "b", "gbytes_per_s": 1, "both_ways": true},
  {"from": "a", "to": "c", "bytes_per_s": 2e9},
  {"from": "b", "to": "d", "gbits_per_s": 8},
  {"from": "c", "to": "d", "gbytes_per_s": 1},
  {"name": "slow", "from": "a", "to": "b", "gbytes_per_s": 0.5, "both_ways": true},
  {"name": "hbm", "from": "d", "to": "d", "gbytes_per_s": 4}
],
)";

Case sound(const std::string& body) {
  const auto result = read(body);
  if (!result) FAIL(render(result.error()));
  return *result;
}

Diagnostic only_fault(const std::string& body) {
  const auto result = read(body);
  REQUIRE_FALSE(result);
  CAPTURE(render(result.error()));
  REQUIRE(result.error().size() == 1);
  return result.error()[0];
}

Diagnostic fault_of_flow(const std::string& fields) {
  return only_fault(square + "\"flows\": [\n{" + fields + "}]");
}

Diagnostic fault_of_tasks(const std::string& tasks) {
  return only_fault(square + R"("flows": [{"source": "a", "target": "b", "bytes": 1}],
"tasks": [)" + tasks +
                    "]");
}

std::vector<std::string> path(const Case& c, std::size_t flow) {
  std::vector<std::string> names;
  for (std::uint32_t u = c.flows.first_use[flow]; u < c.flows.first_use[flow + 1]; ++u) {
    names.push_back(c.link_name(index(c.flows.link[u])));
  }
  return names;
}

using Path = std::vector<std::string>;

}  // namespace

TEST_CASE("links have units, names and ways back") {
  const Case c = sound(square + R"("flows": [])");
  CHECK(c.network.capacity == std::vector<double>{1e9, 1e9, 2e9, 1e9, 1e9, 0.5e9, 0.5e9, 4e9});
  CHECK(c.nodes.size() == 4);
  CHECK(c.link_name(0) == "a->b");
  CHECK(c.link_name(1) == "b->a");
  CHECK(c.link_name(6) == "slow.back");
  CHECK(c.link_from[6] == c.link_to[5]);
}

TEST_CASE("a flow has an amount, a start, a cap, a weight and coefficients") {
  const Case c = sound(square + R"("flows": [
    {"id": 7, "source": "a", "target": "b", "gbytes": 2, "path": ["slow"], "start_s": 0.5,
     "cap_gbits_per_s": 4, "weight": 3, "coefficients": {"slow": 2}},
    {"source": "d", "target": "d", "bytes": 5, "path": ["hbm"]},
    {"source": "d", "target": "d", "bytes": 5, "cap_bytes_per_s": 5}])");
  CHECK(c.flow_name(0) == "7");
  CHECK(c.flow_name(1) == "1");
  CHECK(c.flows.bytes == std::vector<double>{2e9, 5, 5});
  CHECK(c.flows.start_s.list() == std::vector<double>{0.5, 0, 0});
  CHECK(c.flows.cap_per_s.list() == std::vector<double>{0.5e9, unlimited, 5});
  CHECK(c.flows.weight.list() == std::vector<double>{3, 1, 1});
  CHECK(c.flows.coefficient.list() == std::vector<double>{2, 1});
  CHECK(c.flows.first_use == std::vector<std::uint32_t>{0, 1, 2, 2});
  // 2e9 bytes; twice the rate on 0.5e9 is 0.25e9, under the cap: 8 s after 0.5 s.
  CHECK(replay(c)->flows.end_s[0] == Approx(8.5));
}

TEST_CASE("a path that is left out has fewest links and is the first of equals") {
  const Case c = sound(square + R"("flows": [
    {"source": "a", "target": "d", "bytes": 1},
    {"source": "c", "target": "d", "bytes": 1},
    {"source": "a", "target": "b", "bytes": 1},
    {"source": "b", "target": "c", "bytes": 1},
    {"source": "a", "target": "d", "bytes": 1, "path": ["slow", "b->d", "hbm"]}])");
  CHECK(path(c, 0) == Path{"a->b", "b->d"});  // b is found before c
  CHECK(path(c, 1) == Path{"c->d"});
  CHECK(path(c, 2) == Path{"a->b"});
  CHECK(path(c, 3) == Path{"b->a", "a->c"});
  CHECK(path(c, 4) == Path{"slow", "b->d", "hbm"});
}

TEST_CASE("tasks own their flows, in their order") {
  const Case c = sound(square + R"("flows": [
    {"id": "x", "source": "a", "target": "b", "gbytes": 1},
    {"id": "y", "source": "a", "target": "c", "gbytes": 2},
    {"id": "z", "source": "c", "target": "d", "gbytes": 3}],
  "tasks": [{"name": "late", "flows": ["z", "x"], "after": ["early", "wait"], "delay_s": 1},
            {"name": "early", "flows": ["y"], "repeat": 2},
            {"name": "wait", "delay_s": 0.5}])");
  CHECK(c.flow_name(0) == "z");
  CHECK(c.flow_name(1) == "x");
  CHECK(c.flow_name(2) == "y");
  CHECK(c.dependencies == std::vector{std::pair{TaskId{1}, TaskId{0}}, {TaskId{2}, TaskId{0}}});
  const auto result = replay(c);
  REQUIRE(result);
  // y: 2 GB at 2 GB/s, twice: 2 s. Then 1 s of delay, z 3 s and x 1 s.
  CHECK(result->task_start_s == std::vector<double>{2, 0, 0});
  CHECK(result->task_end_s == std::vector<double>{6, 2, 0.5});
  CHECK(result->flow_start_s == std::vector<double>{3, 3, 0});
  CHECK(result->flows.end_s == std::vector<double>{6, 4, 1});
  CHECK(c.link_name(index(result->flows.bottleneck[2])) == "a->c");
  CHECK(result->flows.makespan_s == 6.0);
  const auto unfolded = replay(c, Folding::off);
  CHECK(unfolded->flows.end_s == result->flows.end_s);
  CHECK(unfolded->flows.bottleneck == result->flows.bottleneck);
}

TEST_CASE("flows of no bytes end in their task") {
  const auto result = replay(sound(square + R"("flows": [
    {"source": "a", "target": "b", "bytes": 0, "start_s": 2},
    {"source": "a", "target": "b", "gbytes": 0},
    {"source": "a", "target": "b", "gbytes": 1}],
  "tasks": [{"name": "empty", "flows": [0], "delay_s": 1, "repeat": 2},
            {"name": "mixed", "flows": [1, 2], "after": ["empty"]}])"));
  REQUIRE(result);
  CHECK(result->flows.end_s == std::vector<double>{3, 6, 7});
  CHECK(result->task_end_s == std::vector<double>{6, 7});
}

TEST_CASE("faults of the schema are placed") {
  CHECK(fault_of_flow(R"("source": "a", "target": "b", "byte": 1)").code == Code::unknown_key);
  CHECK(fault_of_flow(R"("source": "a", "bytes": 1)").code == Code::missing_key);
  CHECK(fault_of_flow(R"("source": "a", "target": "b", "bytes": -1)").code ==
        Code::value_out_of_range);
  CHECK(fault_of_flow(R"("source": "a", "target": "b", "bytes": 1, "path": "slow")").code ==
        Code::wrong_type);
  const Diagnostic weight =
      fault_of_flow(R"("source": "a", "target": "b", "bytes": 1, "weight": 0)");
  CHECK(weight.place.pointer == "/flows/0/weight");
  CHECK(weight.place.line == 11);
}

TEST_CASE("names must exist") {
  const Diagnostic node = fault_of_flow(R"("source": "a", "target": "e", "bytes": 1)");
  CHECK(node.code == Code::bad_flow_case);
  CHECK(node.place.pointer == "/flows/0/target");
  const Diagnostic link =
      fault_of_flow(R"("source": "a", "target": "b", "bytes": 1, "path": ["slwo"])");
  CHECK(link.message == "there is no link `slwo`");
  CHECK_THAT(link.hint, Catch::Contains("slow"));
  const Diagnostic listed =
      only_fault(R"("nodes": ["a", "b"], "links": [{"from": "a", "to": "B", "bytes_per_s": 1}],
      "flows": [])");
  CHECK(listed.message == "there is no node `B`");
  CHECK(listed.hint == "did you mean `b`?");
}

TEST_CASE("names do not repeat") {
  CHECK(only_fault(R"("nodes": ["a", "a"], "links": [], "flows": [])").message ==
        "node `a` is listed twice");
  CHECK(only_fault(R"("links": [{"from": "a", "to": "b", "bytes_per_s": 1},
                                {"from": "a", "to": "b", "bytes_per_s": 1}], "flows": [])")
            .hint == "parallel links need a `name` each");
  CHECK(only_fault(square + R"("flows": [{"source": "a", "target": "b", "bytes": 1},
     {"id": 0, "source": "a", "target": "b", "bytes": 1}])")
            .place.pointer == "/flows/1/id");
}

TEST_CASE("units contradict each other or are missing") {
  CHECK(fault_of_flow(R"("source": "a", "target": "b", "bytes": 1, "gbytes": 1)").message ==
        "both `bytes` and `gbytes` are given");
  CHECK(fault_of_flow(R"("source": "a", "target": "b")").code == Code::missing_key);
  CHECK(only_fault(R"("links": [{"from": "a", "to": "b"}], "flows": [])").code ==
        Code::missing_key);
  CHECK(only_fault(R"("links": [{"from": "a", "to": "b", "gbytes_per_s": 1e20}], "flows": [])")
            .code == Code::value_out_of_range);
}

TEST_CASE("paths must lead from source to target") {
  const auto message = [](const std::string& fields) {
    return fault_of_flow("\"bytes\": 1, " + fields).message;
  };
  CHECK(message(R"("source": "a", "target": "d", "path": ["slow"])") ==
        "the path ends at `b`, but the flow's target is `d`");
  CHECK(message(R"("source": "a", "target": "d", "path": ["c->d"])") ==
        "the path is at `a`, but link `c->d` leaves from `c`");
  CHECK(message(R"("source": "a", "target": "a", "path": ["a->b", "b->a", "a->b"])") ==
        "the path crosses link `a->b` twice");
  CHECK(message(R"("source": "a", "target": "a")") == "nothing limits flow 0");
  CHECK(message(R"("source": "a", "target": "b", "coefficients": {"hbm": 2})") ==
        "flow 0 does not cross a link `hbm`");
  const Diagnostic none = fault_of_flow(R"("source": "d", "target": "a", "bytes": 1)");
  CHECK(none.code == Code::no_route);
  CHECK(none.message == "no links lead from `d` to `a`");
}

TEST_CASE("tasks must agree with flows and with each other") {
  CHECK(fault_of_tasks(R"({"name": "t"})").message == "no task has flow 0");
  CHECK(fault_of_tasks(R"({"name": "t", "flows": [0, 1]})").message == "there is no flow 1");
  CHECK(fault_of_tasks(R"({"name": "t", "flows": [0]}, {"name": "u", "flows": [0]})").message ==
        "task `t` has flow 0 already");
  CHECK(fault_of_tasks(R"({"name": "t", "flows": [0]}, {"name": "t"})").message ==
        "there is an earlier task `t`");
  const Diagnostic dangling = fault_of_tasks(R"({"name": "t", "flows": [0], "after": ["tt"]})");
  CHECK(dangling.code == Code::dangling_dependency);
  CHECK(dangling.place.pointer == "/tasks/0/after/0");
  CHECK(fault_of_tasks(R"({"name": "t", "flows": [0], "repeat": 0})").code ==
        Code::value_out_of_range);
}

TEST_CASE("tasks that wait for each other are refused when they are run") {
  const auto result = replay(sound(square + R"("flows": [],
    "tasks": [{"name": "t", "after": ["u"]}, {"name": "u", "after": ["t"]}])"));
  REQUIRE_FALSE(result);
  CHECK(result.error()[0].code == Code::task_cycle);
}

TEST_CASE("the first rates are checked") {
  const Case c = sound(square + R"("flows": [
    {"source": "a", "target": "b", "gbytes": 1, "start_s": 1},
    {"source": "a", "target": "b", "gbytes": 1, "start_s": 1, "weight": 2},
    {"source": "a", "target": "b", "bytes": 0},
    {"source": "a", "target": "b", "gbytes": 1, "start_s": 3}])");
  CHECK_FALSE(refute_first_rates(c, *replay(c)));
}

}  // namespace flowplan_case_test
