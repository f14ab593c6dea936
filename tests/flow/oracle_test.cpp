// What an independent simulator says (tests/flow/cases/README.md), through the case reader.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "case_schema.hpp"
#include "flowplan/flow/case_file.hpp"
#include "flowplan/flow/max_min.hpp"
#include "flowplan/flow/simulate.hpp"
#include "random_case.hpp"

namespace oracle_test {

using namespace flowplan;
using namespace flowplan::flow;

namespace {

std::string case_path(const std::string& name) {
  return std::string(FLOWPLAN_SOURCE_DIR) + "/tests/flow/cases/" + name + ".json";
}

}  // namespace

TEST_CASE("every oracle case ends as SimGrid says") {
  const std::string name =
      GENERATE("bottleneck-levels", "fat-tree-64-alltoall-16-random", "fat-tree-64-permutation",
               "identical-flows", "incast-16", "leaf-spine-2to1", "parking-lot", "separate-islands",
               "shared-link", "staggered-arrivals", "two-tier-ring");
  CAPTURE(name);
  const Result<JsonDocument> document = JsonDocument::read(case_path(name));
  REQUIRE(document);
  const Result<Case> read = read_case(*document, flow_case_schema());
  REQUIRE(read);
  const nlohmann::ordered_json& root = document->root();
  CHECK(read->name == name);
  REQUIRE(read->flows.size() == root["flows"].size());
  REQUIRE(read->network.size() == root["links"].size());
  REQUIRE(read->own_flow_names.size() == root["flows"].size());

  std::vector<double> ends, first_rates;
  bool at_once = true;
  for (const auto& flow : root["flows"]) {
    ends.push_back(flow["end_s"]);
    first_rates.push_back(flow["first_rate_bytes_per_s"]);
    at_once &= flow["start_s"] == 0.0;
  }
  const double tolerance = root["tolerance_rel"];
  const Completion completion = simulate(read->network, read->flows);
  CHECK(difference(completion.end_s, ends) <= tolerance);
  CHECK(completion.makespan_s == Approx(root["makespan_s"].get<double>()).epsilon(tolerance));
  if (at_once) {
    const Allocation allocation = solve(read->network, read->flows);
    CHECK(difference(allocation.rate, first_rates) <= tolerance);
    CHECK_FALSE(refute(read->network, read->flows, allocation.rate));
  }
}

TEST_CASE("an equal all-to-all over a full fat tree ends at once, when the host links say") {
  // 64 hosts in 4 pods of 4 edge switches with 4 hosts each, 4 aggregation switches a pod, 16
  // cores: as many links up as down on every tier. Spreading flows by target, every switch link
  // carries at most the 63 flows that its host link carries, so all run at 50e9 / 63 and 100e6
  // bytes take 63 x 100e6 / 50e9 = 0.126 s.
  constexpr std::uint32_t hosts = 64, radix = 4, per_pod = radix * radix;
  constexpr double capacity = 50e9, bytes = 100e6;
  // Each tier is a block of 64 links up and 64 down: host, edge to aggregation, aggregation to
  // core.
  const Network network{std::vector<double>(6 * hosts, capacity)};
  const auto up = [](std::uint32_t tier, std::uint32_t i) { return LinkId{2 * tier * hosts + i}; };
  const auto down = [](std::uint32_t tier, std::uint32_t i) {
    return LinkId{(2 * tier + 1) * hosts + i};
  };
  FlowSet flows;
  for (std::uint32_t s = 0; s < hosts; ++s) {
    for (std::uint32_t t = 0; t < hosts; ++t) {
      if (s == t) continue;
      // The target picks the aggregation switch by its port and the core by its edge switch.
      const std::uint32_t aggregation = t % radix, core = t / radix % radix;
      const auto at_edge = [&](std::uint32_t h) { return h / radix * radix + aggregation; };
      const auto at_pod = [&](std::uint32_t h) {
        return h / per_pod * per_pod + aggregation * radix + core;
      };
      std::vector<Use> uses{{up(0, s)}};
      if (s / radix != t / radix) uses.push_back({up(1, at_edge(s))});
      if (s / per_pod != t / per_pod) {
        uses.push_back({up(2, at_pod(s))});
        uses.push_back({down(2, at_pod(t))});
      }
      if (s / radix != t / radix) uses.push_back({down(1, at_edge(t))});
      uses.push_back({down(0, t)});
      flows.add(uses, {.bytes = bytes});
    }
  }
  const Completion completion = simulate(network, flows);
  CHECK(completion.events == 1);
  CHECK(difference(completion.end_s, std::vector<double>(hosts * (hosts - 1), 0.126)) <= 1e-12);
}

}  // namespace oracle_test
