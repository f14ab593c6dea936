#include "flowplan/scenario/posttraining.hpp"

#include <string>

#include "catalog_for_tests.hpp"
#include "flowplan/scenario/run.hpp"

namespace flowplan::scenario::posttraining_test {

namespace {

std::string text_of(const std::string& workload, int count = 2, const std::string& more = "") {
  return R"({"cluster": {"instance": "p5.48xlarge", "count": )" + std::to_string(count) +
         R"(}, "workload": {"kind": "posttraining", )" + workload + "}" + more + "}";
}

Answer answer_of(const std::string& workload, int count = 2) {
  auto answer = run(real_catalog(), must_read(text_of(workload, count)), "test");
  if (!answer) FAIL(render(answer.error()));
  return std::move(*answer);
}

double metric(const Answer& answer, const char* id) {
  const double* const value = answer.estimate.value(id);
  if (value == nullptr) FAIL(id);
  return *value;
}

const std::string small = R"("model": "qwen2.5-7b", "recompute": "full", )";
const std::string grpo = small + R"("method": "grpo", "steps": 10, "prompt_tokens": 100,
    "response_tokens": {"mean": 800, "kind": "lognormal", "spread": 0.8, "most": 3900},
    "pack_tokens": 4096, "parallelism": {"tp": 1, "pp": 1},
    "rollout": {"prompts": 16, "group": 8, "parallelism": {"tp": 1}})";

}  // namespace

TEST_CASE("fine-tuning is an update on rows of samples") {
  const Answer answer =
      answer_of(small + R"("samples_per_step": 256, "prompt_tokens": 128, "response_tokens": 384,
                 "pack_tokens": 2048, "parallelism": {"tp": 1, "pp": 1}, "steps": 100)");
  REQUIRE(answer.feasible());
  CHECK(answer.kind == "posttraining");
  CHECK(answer.posttraining->method == "sft");
  CHECK(metric(answer, "posttraining.response_share") == Approx(0.75));
  CHECK(metric(answer, "posttraining.samples_per_second") ==
        Approx(256.0 / metric(answer, "posttraining.step_time")));
  CHECK(metric(answer, "posttraining.tokens_per_second") ==
        Approx(512.0 * metric(answer, "posttraining.samples_per_second")));
  CHECK(metric(answer, "posttraining.days") * 86400.0 ==
        Approx(100.0 * metric(answer, "posttraining.step_time")));
  CHECK(metric(answer, "posttraining.cost_usd") > 0.0);
  CHECK(answer.estimate.time.time().value() == Approx(metric(answer, "posttraining.step_time")));
}

TEST_CASE("failures interrupt the steps of every pool") {
  const char* const often = R"(, "operations": {"failures": {"job_mtbf": "2h"}, "spares": 1,
      "checkpoint": {"save_time": "20s", "restore_time": "60s"}})";
  const auto with = [&](const std::string& workload) {
    auto answer = run(real_catalog(), must_read(text_of(workload, 2, often)), "test");
    if (!answer) FAIL(render(answer.error()));
    return std::move(*answer);
  };
  for (const char* pools : {"", R"(, "pools": {"kind": "asynchronous", "rollout_gpus": 8})"}) {
    const Answer answer = with(grpo + pools);
    REQUIRE(answer.operations);
    const OperationsAnswer& run = *answer.operations;
    CHECK(run.nodes == 2.0);  // those that generate too
    CHECK(run.idle == 0);
    const double ettr = run.goodput.ettr();
    CHECK(ettr > 0.5);
    CHECK(ettr < 1.0);
    CHECK(run.wall->value() * ettr == Approx(10.0 * metric(answer, "posttraining.step_time")));
    CHECK(run.effective_tokens_per_second ==
          Approx(ettr * metric(answer, "posttraining.tokens_per_second")));
    CHECK(answer.estimate.value("operations.effective_mfu") == nullptr);
    CHECK(metric(answer, "operations.cost_usd") > metric(answer, "posttraining.cost_usd"));
  }
}

TEST_CASE("a checkpoint of PPO holds the critic as well") {
  const char* const saves = R"(, "operations": {"checkpoint": {"write_bandwidth": "10GB/s"}})";
  const auto bytes_of = [&](const std::string& workload) {
    auto answer = run(real_catalog(), must_read(text_of(workload, 2, saves)), "test");
    if (!answer) FAIL(render(answer.error()));
    return answer->operations->checkpoint_bytes.value();
  };
  const std::string rest = R"("prompt_tokens": 100, "response_tokens": 400, "pack_tokens": 4096,
      "parallelism": {"tp": 1, "pp": 1}, "rollout": {"prompts": 64, "parallelism": {"tp": 1}})";
  const double one = bytes_of(small + R"("method": "rloo", )" + rest);
  const double two = bytes_of(small + R"("method": "ppo", )" + rest);
  const double mixed =
      bytes_of(small + R"("method": "ppo", "update": {"critic": "mpt-3b"}, )" + rest);
  CHECK(one == Approx(7615616512.0 * 14.0));  // bf16 weights; fp32 master copy and two moments
  CHECK(two == Approx(2.0 * one));
  CHECK(mixed > one);
  CHECK(mixed < two);
}

TEST_CASE("a step with rollouts says who waits and what limits") {
  const Answer together = answer_of(grpo);
  REQUIRE(together.feasible());
  CHECK(metric(together, "posttraining.staleness_max") == 0.0);
  const Answer apart =
      answer_of(grpo + R"(, "pools": {"kind": "asynchronous", "rollout_gpus": 8})");
  REQUIRE(apart.feasible());
  CHECK(apart.posttraining->rl->pools.size() == 2);
  CHECK(apart.job.gpus == 8);
  CHECK(apart.gpus == 16);
  CHECK_FALSE(apart.posttraining->rl->timeline.empty());
  CHECK(metric(apart, "posttraining.trainer_idle_share") >= 0.0);
}

TEST_CASE("the links' use over a step is that of its updates and of the weights that are sent") {
  const Answer apart = answer_of(
      grpo + R"(, "pools": {"kind": "disaggregated", "rollout_gpus": 8}, "sync": "reshard")");
  REQUIRE(apart.feasible());
  const posttraining::RlStep& rl = *apart.posttraining->rl;
  bool updates = false, weights = false;
  for (const LinkLoad& load : apart.links.known) {
    REQUIRE(load.over_all);
    REQUIRE(load.while_it_is);
    const bool update = load.what == "updates of the policy";
    const Seconds lasts = update ? rl.iteration.step * static_cast<double>(rl.updates) : rl.sync;
    CHECK(*load.over_all == Approx(*load.while_it_is * (lasts / rl.step)));
    updates = updates || update;
    if (load.what != "weights to the engines" || load.tier != "efa") continue;
    // 7.6 10^9 parameters of 2 bytes to each of 8 engines, out of and into 2 x 3,200 Gbit/s of
    // both directions.
    weights = true;
    const double bytes = 2.0 * 8.0 * 2.0 * apart.parameters;
    CHECK(*load.over_all == Approx(bytes / (2.0 * 2.0 * 400e9) / rl.step.value()));
  }
  CHECK(updates);
  CHECK(weights);
  CHECK_FALSE(apart.links.unknown.empty());
}

TEST_CASE("an answer to a scenario much like this one does not change it") {
  const std::string pools = R"(, "pools": {"kind": "asynchronous", "rollout_gpus": 8})";
  const Answer base = answer_of(grpo + pools);
  // Another micro-batch changes the training alone, another seed the rollout too.
  for (const std::string& more :
       {std::string(R"(, "micro_batch": 2)"), std::string(R"(, "seed": 7)"), std::string()}) {
    const Scenario scenario = must_read(text_of(grpo + pools + more));
    const auto cold = run(real_catalog(), scenario, "test");
    const auto warm = run(real_catalog(), scenario, "test", Depth::full, &base);
    REQUIRE(cold);
    REQUIRE(warm);
    REQUIRE(warm->estimate.metrics.size() == cold->estimate.metrics.size());
    for (std::size_t i = 0; i < cold->estimate.metrics.size(); ++i)
      CHECK(warm->estimate.metrics[i].value == cold->estimate.metrics[i].value);
  }
}

TEST_CASE("what a workload leaves open is chosen and written down") {
  const Answer answer = answer_of(small + R"("method": "dapo", "parallelism": {"tp": 1, "pp": 1})");
  const auto has = [&](const std::string& path) {
    for (const Defaulted& one : answer.estimate.defaulted)
      if (one.path == path) return true;
    return false;
  };
  CHECK(has("workload.rollout.prompts"));
  CHECK(has("workload.rollout.parallelism.tp"));
  CHECK_FALSE(has("workload.seq_len"));
  CHECK(answer.posttraining->rl->reference.value() == 0.0);  // DAPO has none
}

TEST_CASE("a model that does not fit is an answer with what binds") {
  const Answer answer =
      answer_of(R"("model": "llama3-70b", "method": "sft", "parallelism": {"tp": 1, "pp": 1})");
  CHECK_FALSE(answer.feasible());
  CHECK(answer.binding() == "memory");
  CHECK(answer.estimate.value("posttraining.step_time") == nullptr);
}

TEST_CASE("keys that say nothing for the method are refused") {
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b", "rollout": {"group": 4})")).front().code ==
        Code::value_not_allowed);
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b", "method": "grpo", "samples_per_step": 8)"))
            .front()
            .code == Code::value_not_allowed);
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b", "method": "distillation")")).front().code ==
        Code::missing_key);
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b", "profile": "nobody")")).front().code ==
        Code::unknown_name);
  CHECK(
      faults_of(text_of(R"("model": "qwen2.5-7b", "response_tokens": {"mean": 6000, "most": 10})"))
          .front()
          .code == Code::value_out_of_range);
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b", "seq_len": 8)")).front().code ==
        Code::unknown_key);
  CHECK(faults_of(text_of(R"("model": "qwen2.5-7b")", 2,
                          R"(, "storage": {"checkpoint": {"store": {"service": "s3"}}})"))
            .front()
            .code == Code::unsupported_feature);
}

TEST_CASE("each pool needs GPUs") {
  const auto answer =
      run(real_catalog(),
          must_read(text_of(grpo + R"(, "pools": {"kind": "asynchronous", "rollout_gpus": 16})")),
          "test");
  REQUIRE_FALSE(answer);
  CHECK(answer.error().front().code == Code::layout_mismatch);
  CHECK(answer.error().front().place.pointer == "/workload/pools/rollout_gpus");
}

TEST_CASE("a teacher and tools are read") {
  const Scenario scenario = must_read(text_of(
      R"("model": "qwen2.5-7b", "method": "ppo", "rollout": {"tools": {"calls": 4, "tool_ms":
         {"mean": 2000, "kind": "exponential"}}, "verifier": {"latency": "3s", "workers": 8}},
         "update": {"reward_model": "qwen2.5-7b"})"));
  const PosttrainingSection& section = *scenario.posttraining;
  REQUIRE(section.tools);
  CHECK(section.tools->calls.mean == 4.0);
  CHECK(section.tools->tool_ms.mean == Approx(2000.0));
  CHECK(section.verifier.latency.value() == 3.0);
  CHECK(section.reward_model.has_value());
}

}  // namespace flowplan::scenario::posttraining_test
