#include "flowplan/scenario/run.hpp"

#include <algorithm>
#include <cmath>

#include "catalog_for_tests.hpp"

namespace run_test {

using namespace flowplan;

namespace {

scenario::Answer must_run(const std::string& text) {
  auto answer = scenario::run(real_catalog(), must_read(text), "test");
  INFO((answer ? "" : render(answer.error())));
  REQUIRE(answer);
  return std::move(*answer);
}

std::string llama(const std::string& cluster, const std::string& workload = "") {
  return R"({"cluster": {"instance": "p5.48xlarge", "nodes": 64)" + cluster +
         R"(}, "workload": {"kind": "pretraining", "model": "llama3-70b", "global_batch": 1024,
             "parallelism": {"tp": 4, "pp": 4, "vp": 5})" +
         workload + "}}";
}

constexpr const char* too_big = R"({"cluster": {"instance": "p5.48xlarge", "nodes": 64},
  "workload": {"kind": "pretraining", "model": "llama3.1-405b", "recompute": "none",
    "global_batch": 512, "parallelism": {"tp": 8, "pp": 8}}})";

}  // namespace

TEST_CASE("the step's leaves sum to the step and speeds follow from it") {
  const auto answer = must_run(llama(""));
  const double step = answer.iteration.step.value();
  CHECK(answer.estimate.time.time().value() == Approx(step).epsilon(1e-9));
  CHECK(*answer.estimate.value("training.step_time") == step);
  const double tokens = 1024.0 * 8192.0;
  CHECK(*answer.estimate.value("training.tokens_per_second") == Approx(tokens / step));
  CHECK(*answer.estimate.value("training.tokens_per_second_per_gpu") ==
        Approx(tokens / step / 512));
}

TEST_CASE("a token budget takes whole steps, time and money") {
  const auto answer = must_run(llama("", R"(, "tokens": "15T")"));
  REQUIRE(answer.budget);
  // 15e12 / (1024 x 8192) = 1788139.3, so 1788140 steps.
  CHECK(answer.budget->steps == 1788140);
  CHECK(answer.budget->time.value() == Approx(1788140 * answer.iteration.step.value()));
  const double hours_of_run = answer.budget->time.value() / 3600.0;
  CHECK(answer.purchase == "on_demand");
  CHECK(*answer.estimate.value("training.cost_usd") == Approx(64 * 55.04 * hours_of_run));
  CHECK(*answer.estimate.value("training.days") == Approx(hours_of_run / 24));
}

TEST_CASE("without a budget there are no days and no cost") {
  const auto answer = must_run(llama(""));
  CHECK(!answer.budget);
  CHECK(answer.estimate.value("training.days") == nullptr);
  CHECK(answer.estimate.value("training.cost_usd") == nullptr);
}

TEST_CASE("the stated purchase model makes the cost") {
  const auto answer = must_run(llama(R"(, "purchase": "capacity_block")", R"(, "tokens": "15T")"));
  CHECK(answer.purchase == "capacity_block");
  const double hours_of_run = answer.budget->time.value() / 3600.0;
  CHECK(*answer.estimate.value("training.cost_usd") == Approx(64 * 47.757 * hours_of_run));
}

TEST_CASE("answers at 1:1 and 2:1 are given, and 2:1 is never faster") {
  const auto answer = must_run(llama(""));
  REQUIRE(answer.fabric_cases.size() == 2);
  CHECK(answer.fabric_cases[0].oversubscription == 1.0);
  CHECK(answer.fabric_cases[1].oversubscription == 2.0);
  CHECK(answer.fabric_cases[0].step == answer.iteration.step);
  CHECK(answer.fabric_cases[1].step >= answer.fabric_cases[0].step);
}

TEST_CASE("a stated oversubscription is the answer, both are still shown") {
  const auto stated = must_run(llama(R"(, "fabric": {"leaf_oversubscription": 2})"));
  const auto usual = must_run(llama(""));
  CHECK(stated.iteration.step == usual.fabric_cases[1].step);
  CHECK(stated.fabric_cases[0].step == usual.iteration.step);
}

TEST_CASE("a job that does not fit is an answer without speeds that names the reason") {
  const auto answer = must_run(too_big);
  CHECK(!answer.feasible());
  CHECK(!answer.iteration.does_not_fit.empty());
  CHECK(!answer.least_change.empty());
  CHECK(*answer.estimate.value("training.memory_headroom") < 0);
  CHECK(answer.estimate.value("training.mfu") == nullptr);
  CHECK(answer.fabric_cases.empty());
  CHECK(answer.costs.empty());
}

TEST_CASE("where nothing helps on the same GPUs, the least change is more of them") {
  // 8.03e9 parameters x 18 bytes of states are 144 GB: never on one GPU of 80 GB.
  const auto answer = must_run(R"({"cluster": {"instance": "p5.4xlarge", "nodes": 1},
    "workload": {"kind": "pretraining", "model": "llama3.1-8b"}})");
  CHECK(!answer.feasible());
  CHECK(answer.least_change.find(" x p5.4xlarge instead of 1") != std::string::npos);
}

TEST_CASE("an answer says what it was made with") {
  const auto answer = must_run(llama("", R"(, "tokens": "15T")"));
  const Provenance& provenance = answer.estimate.provenance;
  CHECK(provenance.program_version == "test");
  CHECK(provenance.catalog_version == real_catalog().version());
  CHECK(provenance.scenario_sha.size() == 16);
  CHECK(!provenance.profiles.empty());
  CHECK(!provenance.figures.empty());
  for (const UsedFigure& figure : provenance.figures) {
    INFO(figure.name);
    CHECK(!figure.source.text.empty());
    CHECK(std::isfinite(figure.value));
  }
}

TEST_CASE("a checkpoint of another size is warned of, one of the model's only mentioned") {
  auto scenario = must_read(llama(""));
  const auto run_with = [&](model::CheckpointCheck::Agreement agreement) {
    scenario.workload.checkpoint.emplace();
    scenario.workload.checkpoint->agreement = agreement;
    scenario.workload.checkpoint->explanation = "what the index holds";
    return scenario::run(real_catalog(), scenario, "test").value().estimate;
  };
  const auto warned = [](const Estimate& estimate) {
    return std::any_of(estimate.warnings.begin(), estimate.warnings.end(),
                       [](const Warning& w) { return w.id == "checkpoint_differs"; });
  };
  const auto mentioned = [](const Estimate& estimate) {
    const auto& figures = estimate.provenance.figures;
    return std::any_of(figures.begin(), figures.end(), [](const UsedFigure& figure) {
      return figure.source.text == "what the index holds";
    });
  };
  const Estimate other = run_with(model::CheckpointCheck::Agreement::differs);
  CHECK(warned(other));
  CHECK(mentioned(other));
  const Estimate same = run_with(model::CheckpointCheck::Agreement::equal);
  CHECK_FALSE(warned(same));
  CHECK(mentioned(same));
}

TEST_CASE("the scenario's hash changes with its content, not with its name of file") {
  const auto a = must_run(llama(""));
  const auto b = must_run(llama(""));
  const auto c = must_run(llama("", R"(, "micro_batch": 1)"));
  CHECK(a.estimate.provenance.scenario_sha == b.estimate.provenance.scenario_sha);
  CHECK(a.estimate.provenance.scenario_sha != c.estimate.provenance.scenario_sha);
}

}  // namespace run_test
