#include "flowplan/planner/serving_plan.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "flowplan/scenario/run.hpp"

namespace flowplan::planner::serving_plan_test {

namespace {

const catalog::Catalog& fleet_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

Result<ServingPlan> planned(const std::string& workload,
                            const std::string& instances = R"(["p5.48xlarge", "p5e.48xlarge"])") {
  static const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  const std::string text = R"({"cluster": {}, "workload": {"kind": "serving", "model": "llama3-8b",
      "precision": "fp8", )" +
                           workload + R"(}, "search": {"instances": )" + instances + "}}";
  const auto scenario =
      scenario::read(fleet_catalog(), JsonDocument::parse(text, "fleet.json").value(), *schema,
                     scenario::ReadFor::search);
  if (!scenario) return fail(scenario.error());
  return plan_serving(fleet_catalog(), *scenario, 2);
}

const std::string goal = R"("load": {"rate_per_s": 100, "input_tokens": 512, "output_tokens": 128},
    "slo": {"ttft": "1s", "tpot": "40ms", "share": 0.9})";

}  // namespace

TEST_CASE("a fleet is as many engines as the rate needs, with headroom and one to spare") {
  const auto plan = planned(goal + R"(, "parallelism": {"tp": 1})");
  if (!plan) FAIL(render(plan.error()));
  REQUIRE(plan->ranked.size() == 2);
  for (const ServingCandidate& one : plan->ranked) {
    CHECK(one.replicas == static_cast<int>(std::ceil(100.0 / (0.8 * one.capacity_per_s))) + 1);
    CHECK(one.machines == (one.replicas + 7) / 8);
    CHECK(one.at_capacity.good_share >= 0.9);
    CHECK(one.at_capacity.tpot_s.p50 <= 0.040);
  }
  CHECK(*plan->ranked[0].usd_per_hour <= *plan->ranked[1].usd_per_hour);
}

TEST_CASE("open layouts are all tried, and nothing on the front is beaten in both") {
  const auto plan = planned(goal);
  REQUIRE(plan);
  CHECK(plan->ranked.size() + plan->refused.size() == 2 * 4);  // tp 1, 2, 4, 8 on two types
  for (std::size_t i = 1; i < plan->ranked.size(); ++i)
    CHECK(*plan->ranked[i - 1].usd_per_hour <= *plan->ranked[i].usd_per_hour);
  REQUIRE_FALSE(plan->pareto.empty());
  for (const ServingCandidate& mine : plan->pareto)
    for (const ServingCandidate& other : plan->ranked)
      CHECK_FALSE((*other.usd_per_hour < *mine.usd_per_hour &&
                   other.at_capacity.tpot_s.p50 < mine.at_capacity.tpot_s.p50));
}

TEST_CASE("a tighter limit never makes the fleet cheaper") {
  const auto loose = planned(goal);
  const auto tight = planned(R"("load": {"rate_per_s": 100, "input_tokens": 512,
      "output_tokens": 128}, "slo": {"ttft": "1s", "tpot": "8ms", "share": 0.9})");
  REQUIRE(loose);
  REQUIRE(tight);
  REQUIRE_FALSE(tight->ranked.empty());
  CHECK(*tight->ranked[0].usd_per_hour >= *loose->ranked[0].usd_per_hour);
}

TEST_CASE("limits that nothing can keep leave no fleet, and each says why") {
  const auto plan = planned(R"("load": {"rate_per_s": 1}, "slo": {"tpot": "10us"})");
  REQUIRE(plan);
  CHECK(plan->ranked.empty());
  for (const ServingCandidate& one : plan->refused)
    CHECK(one.lost == "cannot keep the limits at any rate");
}

TEST_CASE("a plan needs a rate and limits") {
  const auto plan = planned(R"("load": {"concurrency": 4})");
  REQUIRE_FALSE(plan);
  CHECK(plan.error().size() == 2);
  CHECK(plan.error().front().code == Code::missing_key);
  CHECK(plan.error().front().place.line > 0);
}

}  // namespace flowplan::planner::serving_plan_test
