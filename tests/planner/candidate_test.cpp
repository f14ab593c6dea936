#include "flowplan/planner/candidate.hpp"

#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/scenario/overrides.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::planner::candidate_test {

namespace {

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

const JsonDocument& schema() {
  static const auto read =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  return *read;
}

JsonDocument document_of(const std::string& text) {
  auto document = JsonDocument::parse(text, "searched.json");
  if (!document) FAIL(render(document.error()));
  return std::move(*document);
}

/// The searched scenario with a candidate's overrides, run.
scenario::Answer answer_with(const JsonDocument& searched,
                             const std::vector<std::string>& overrides) {
  const auto document = scenario::with_overrides(searched, schema(), overrides);
  if (!document) FAIL(render(document.error()));
  const auto read = scenario::read(shipped(), *document, schema());
  if (!read) FAIL(render(read.error()));
  auto answer = scenario::run(shipped(), *read, "test", scenario::Depth::metrics);
  if (!answer) FAIL(render(answer.error()));
  return std::move(*answer);
}

}  // namespace

TEST_CASE("every row of a plan is a scenario with that step, memory and money") {
  const JsonDocument searched = document_of(
      R"({"cluster": {}, "workload": {"kind": "pretraining", "model": "qwen3-30b-a3b",
          "seq_len": 4096, "global_batch": 256, "tokens": "1T"},
          "search": {"instances": ["p5.48xlarge"], "counts": [2], "top": 3, "per_cluster": 3}})");
  const auto scenario = scenario::read(shipped(), searched, schema(), scenario::ReadFor::search);
  REQUIRE(scenario);
  const auto found = plan(shipped(), *scenario, 1);
  REQUIRE(found);
  REQUIRE(found->ranked.size() == 3);
  for (const PlanRow& row : found->ranked) {
    const scenario::Answer answer = answer_with(searched, overrides_of(*found, row));
    CHECK(answer.feasible());
    CHECK(answer.iteration.step.value() == Approx(row.step.value()));
    CHECK(*answer.estimate.value("training.memory_peak") == Approx(row.memory.value()));
    CHECK(*answer.estimate.value("training.cost_usd") == Approx(row.cost()->total->value()));
  }
}

TEST_CASE("a fleet is a scenario on its machines") {
  ServingCandidate candidate;
  candidate.instance = *shipped().instance("p5en.48xlarge");
  candidate.machines = 2;
  candidate.weights = inference::WeightFormat::fp8;
  candidate.layout.tp = 4;
  candidate.replicas = 3;  // of the 4 that 16 GPUs hold
  candidate.purchase = "on_demand";
  const scenario::Answer answer = answer_with(
      document_of(R"({"cluster": {}, "workload": {"kind": "serving", "model": "llama3-8b",
          "load": {"concurrency": 8, "requests": 32, "input_tokens": 64, "output_tokens": 8}}})"),
      overrides_of(candidate));
  CHECK(answer.instance == "p5en.48xlarge");
  CHECK(answer.count == 2);
  CHECK(answer.purchase == "on_demand");
  CHECK(answer.serving->layout.tp == 4);
  CHECK(answer.serving->replicas == 3);
  CHECK(answer.serving->formats.ffn == inference::WeightFormat::fp8);
}

TEST_CASE("a split of GPUs is a scenario with those pools") {
  const JsonDocument searched = document_of(
      R"({"cluster": {}, "workload": {"kind": "posttraining", "model": "qwen2.5-7b",
          "method": "grpo", "recompute": "full", "prompt_tokens": 100, "response_tokens": 200,
          "pack_tokens": 4096, "parallelism": {"tp": 1, "pp": 1},
          "rollout": {"prompts": 16, "group": 8}}})");
  PosttrainingCandidate candidate;
  candidate.instance = *shipped().instance("p5.48xlarge");
  candidate.count = 2;
  candidate.placement = posttraining::Placement::one_step_off;
  candidate.gpus = 16;
  candidate.rollout_gpus = 8;
  candidate.engine_tp = 2;
  const scenario::Answer apart = answer_with(searched, overrides_of(candidate));
  CHECK(apart.posttraining->job.placement == posttraining::Placement::one_step_off);
  CHECK(apart.posttraining->job.rollout_gpus == 8);
  CHECK(apart.posttraining->rl->replicas == 4);
  candidate.placement = posttraining::Placement::colocated;
  const scenario::Answer together = answer_with(searched, overrides_of(candidate));
  CHECK(together.posttraining->job.placement == posttraining::Placement::colocated);
  CHECK(together.posttraining->rl->replicas == 8);
}

}  // namespace flowplan::planner::candidate_test
