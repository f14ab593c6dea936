#include "flowplan/planner/posttraining_plan.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace flowplan::planner::posttraining_plan_test {

namespace {

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

scenario::Scenario scenario_of(const std::string& more) {
  const std::string text =
      R"({"cluster": {"instance": "p5.48xlarge", "count": 2}, "workload": {"kind": "posttraining",
          "model": "qwen2.5-7b", "recompute": "full", "steps": 10, "prompt_tokens": 100,
          "response_tokens": {"mean": 800, "kind": "lognormal", "spread": 0.8, "most": 3900},
          "pack_tokens": 4096, "parallelism": {"tp": 1, "pp": 1})" +
      more + "}";
  const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json").value();
  auto read = scenario::read(shipped(), JsonDocument::parse(text, "plan.json").value(), schema,
                             scenario::ReadFor::search);
  if (!read) FAIL(render(read.error()));
  return std::move(*read);
}

const std::string rollout =
    R"(, "method": "grpo", "rollout": {"prompts": 16, "group": 8, "parallelism": {"tp": 1}})";

}  // namespace

TEST_CASE("placements and splits are ranked by the step", "[slow]") {
  const auto plan = plan_posttraining(shipped(), scenario_of(rollout + "}"), 1);
  REQUIRE(plan);
  REQUIRE(plan->ranked.size() > 4);
  for (std::size_t i = 1; i < plan->ranked.size(); ++i)
    CHECK(plan->ranked[i - 1].step_s <= plan->ranked[i].step_s);
  for (const PosttrainingCandidate& one : plan->ranked)
    CHECK(one.rollout_gpus < one.gpus);
  // The best is what a run of it says.
  const PosttrainingCandidate& best = plan->ranked.front();
  scenario::Scenario same = scenario_of(rollout + "}");
  same.posttraining->placement = best.placement;
  same.posttraining->rollout_gpus = best.rollout_gpus;
  const auto answer = scenario::run(shipped(), same, "test");
  REQUIRE(answer);
  CHECK(*answer->estimate.value("posttraining.step_time") == Approx(best.step_s));
}

TEST_CASE("what is stated is not searched, limits leave candidates out") {
  const auto stated = plan_posttraining(
      shipped(),
      scenario_of(rollout + R"(, "pools": {"kind": "one_step_off", "rollout_gpus": 8}})"), 1);
  REQUIRE(stated);
  REQUIRE(stated->ranked.size() == 1);
  CHECK(stated->ranked.front().rollout_gpus == 8);
  const auto none =
      plan_posttraining(shipped(), scenario_of(rollout + R"(}, "search": {"deadline": "1s"})"), 1);
  REQUIRE(none);
  CHECK(none->ranked.empty());
  CHECK(none->refused.front().lost == "later than the deadline");
}

TEST_CASE("fine-tuning has no split to plan") {
  const auto plan = plan_posttraining(shipped(), scenario_of("}"), 1);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().front().code == Code::unsupported_feature);
}

}  // namespace flowplan::planner::posttraining_plan_test
