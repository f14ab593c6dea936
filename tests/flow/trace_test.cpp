#include "flowplan/flow/trace.hpp"

#include <map>
#include <set>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "case_schema.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/recipe.hpp"

namespace trace_test {

using namespace flowplan;
using namespace flowplan::flow;
using nlohmann::json;

namespace {

json trace(const Case& c, const TraceLimits& limits = {}) {
  const auto result = replay(c);
  REQUIRE(result);
  return json::parse(chrome_trace(c, *result, limits));
}

std::vector<json> of_phase(const json& trace, const std::string& phase) {
  std::vector<json> found;
  for (const json& event : trace["traceEvents"]) {
    if (event["ph"] == phase) found.push_back(event);
  }
  return found;
}

/// What the Trace Event Format asks of each kind of event, and what makes them a picture: known
/// processes, lanes in order, nothing after the end.
void require_well_formed(const json& trace, const Replay& replay) {
  CHECK((trace["displayTimeUnit"] == "ms" || trace["displayTimeUnit"] == "ns"));
  const double end_us = replay.flows.makespan_s * 1e6 + 1e-3;
  std::set<int> named, used;
  std::map<std::pair<int, int>, double> lane_at;
  double counted_at = 0.0;
  for (const json& event : trace["traceEvents"]) {
    CAPTURE(event.dump());
    REQUIRE(event["name"].is_string());
    REQUIRE(event["pid"].is_number_integer());
    const int pid = event["pid"];
    const std::string phase = event["ph"];
    if (phase == "M") {
      if (event["name"] == "process_name") {
        REQUIRE(event["args"]["name"].is_string());
        REQUIRE(named.insert(pid).second);
      }
      continue;
    }
    used.insert(pid);
    REQUIRE(event["ts"].is_number());
    const double at = event["ts"];
    REQUIRE(at >= 0.0);
    if (phase == "X") {
      REQUIRE(event["tid"].is_number_integer());
      REQUIRE(event["cat"].is_string());
      REQUIRE(event["args"].is_object());
      const double length = event["dur"];
      REQUIRE(length >= 0.0);
      REQUIRE(at + length <= end_us);
      double& last = lane_at[{pid, event["tid"]}];
      REQUIRE(last <= at);
      last = at;
    } else {
      REQUIRE(phase == "C");
      REQUIRE(event["args"]["flows"].is_number());
      REQUIRE(counted_at <= at);
      counted_at = at;
    }
  }
  CHECK(named == used);
}

Case all_to_all(std::uint32_t hosts) {
  return *generate(
      full_fat_tree(hosts),
      {.pattern = Pattern::all_to_all, .sizes = Sizes::random, .seed = 5, .spread_s = 0.01});
}

}  // namespace

TEST_CASE("traces are what Perfetto reads: complete events, counters and named processes") {
  for (const TraceLimits& limits : {TraceLimits{}, TraceLimits{.spans = 30, .samples = 10}}) {
    const Case flows = all_to_all(8);
    require_well_formed(trace(flows, limits), *replay(flows));
    Case tasks = flows;
    tasks.tasks = {{"one", 0.5, 0, 20, 2}, {"wait", 0.25, 20, 20}, {"two \"last\"", 0.0, 20, 56}};
    tasks.dependencies = {{TaskId{0}, TaskId{1}}, {TaskId{1}, TaskId{2}}};
    const json shown = trace(tasks, limits);
    require_well_formed(shown, *replay(tasks));
    const std::size_t spans = of_phase(shown, "X").size();
    CHECK(spans == std::min<std::size_t>(limits.spans, 3 + 56));
  }
}

TEST_CASE("a trace shows tasks and flows when they ran") {
  const auto document = JsonDocument::parse(R"({"format": "flowplan-flow-1",
    "links": [{"name": "l \"1\"", "from": "a", "to": "b", "gbytes_per_s": 1}],
    "flows": [{"id": "f", "source": "a", "target": "b", "gbytes": 2}],
    "tasks": [{"name": "wait", "delay_s": 0.5}, {"name": "send", "flows": ["f"], "after": ["wait"]}]})",
                                            "case.json");
  const auto c = read_case(*document, flow_case_schema());
  REQUIRE(c);
  const json shown = trace(*c);
  const auto spans = of_phase(shown, "X");
  REQUIRE(spans.size() == 3);
  CHECK(spans[0]["name"] == "wait");
  CHECK(spans[0]["dur"] == 500000.0);
  CHECK(spans[1]["name"] == "send");
  CHECK(spans[1]["ts"] == 500000.0);
  CHECK(spans[1]["pid"] == 1);
  CHECK(spans[2]["name"] == "f to b");
  CHECK(spans[2]["ts"] == 500000.0);
  CHECK(spans[2]["dur"] == 2000000.0);
  CHECK(spans[2]["args"]["held_by"] == "l \"1\"");
  CHECK(spans[2]["pid"] == 2);
  const auto counts = of_phase(shown, "C");
  REQUIRE(counts.size() == 2);
  CHECK(counts[0]["args"]["flows"] == 1);
  CHECK(counts[1]["args"]["flows"] == 0);
  CHECK(shown["otherData"]["makespan_s"] == 2.5);
}

TEST_CASE("spans of one lane do not overlap, and lanes are no more than needed") {
  const Case c = all_to_all(16);
  const auto spans = of_phase(trace(c), "X");
  CHECK(spans.size() == 240);
  std::map<std::pair<int, int>, double> free;  // lane: end of its last span
  std::map<int, std::vector<std::pair<double, int>>> changes;
  std::map<int, int> lanes;
  for (const json& s : spans) {
    const int process = s["pid"], lane = s["tid"];
    const double start = s["ts"], end = start + s["dur"].get<double>();
    const auto [at, is_new] = free.try_emplace({process, lane}, 0.0);
    lanes[process] += is_new;
    CHECK(at->second <= start + 1e-6);
    at->second = end;
    changes[process].insert(changes[process].end(), {{start, 1}, {end - 1e-4, -1}});
  }
  for (auto& [process, list] : changes) {
    std::sort(list.begin(), list.end());
    int running = 0, most = 0;
    for (const auto& change : list)
      most = std::max(most, running += change.second);
    CHECK(lanes[process] == most);
  }
}

TEST_CASE("a large run is reduced to its longest spans and still counts all flows") {
  const Case c = all_to_all(16);
  const auto full = of_phase(trace(c), "X");
  const json reduced = trace(c, {.spans = 40, .samples = 10});
  const auto spans = of_phase(reduced, "X");
  REQUIRE(spans.size() == 40);
  std::vector<double> all, kept;
  for (const json& s : full)
    all.push_back(s["dur"]);
  for (const json& s : spans)
    kept.push_back(s["dur"]);
  std::sort(all.rbegin(), all.rend());
  CHECK(*std::min_element(kept.begin(), kept.end()) == all[39]);
  const auto counts = of_phase(reduced, "C");
  CHECK(counts.size() <= 11);
  CHECK(counts.size() >= 8);
  CHECK(counts.back()["args"]["flows"] == 0);
  CHECK(reduced["otherData"]["flows"] == 240);
  CHECK(reduced["otherData"]["flows_drawn"] == 40);
}

TEST_CASE("an empty case has an empty trace, and the same case the same trace") {
  CHECK(trace(Case{})["traceEvents"].empty());
  const Case c = all_to_all(8);
  CHECK(chrome_trace(c, *replay(c)) == chrome_trace(c, *replay(c)));
}

}  // namespace trace_test
