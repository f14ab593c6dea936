#include "flowplan/posttraining/fine_tuning.hpp"

#include "fixture.hpp"

namespace flowplan::posttraining::fine_tuning_test {

namespace {

const topology::Cluster& one_node() {
  static const topology::Cluster cluster = nodes_of("p5.48xlarge", 1);
  return cluster;
}

FineTuning tuning_7b(Method method) {
  FineTuning tuning;
  tuning.method = method;
  tuning.job = trainer_7b(8);
  tuning.job.recompute = training::Recompute::none;
  tuning.job.sharding = training::Sharding::fsdp;
  tuning.pack_tokens = 2048;
  tuning.prompt = {inference::TokenCount::Kind::fixed, 128.0, 0.0};
  tuning.response = {inference::TokenCount::Kind::fixed, 384.0, 0.0};
  tuning.samples = 256;
  return tuning;
}

FineTuningStep must_tune(const FineTuning& tuning) {
  auto step = estimate(shipped(), one_node(), tuning);
  if (!step) FAIL(render(step.error()));
  return std::move(*step);
}

}  // namespace

TEST_CASE("samples are packed, and the loss counts the answers") {
  const FineTuningStep step = must_tune(tuning_7b(Method::sft));
  CHECK(step.rows.rows == 64);  // four samples of 512 in a row of 2,048
  CHECK(step.tokens == 256.0 * 512.0);
  CHECK(step.response_share == Approx(0.75));
  CHECK(step.rows.waste() == Approx(0.0).margin(1e-12));
  CHECK(sum_of_leaves(step.time) == Approx(step.step.value()));
  CHECK(step.step.value() == Approx(step.iteration.step.value()));
}

TEST_CASE("padding costs what packing saves") {
  FineTuning tuning = tuning_7b(Method::sft);
  tuning.response = with_mean({inference::TokenCount::Kind::lognormal, 1.0, 1.0, 1900.0}, 384.0);
  const FineTuningStep packed = must_tune(tuning);
  tuning.batching = Batching::padded_to_longest;
  const FineTuningStep padded = must_tune(tuning);
  CHECK(padded.rows.waste() > 0.6);
  CHECK(packed.rows.waste() < 0.1);
  CHECK(padded.step.value() > 2.0 * packed.step.value());
}

TEST_CASE("pairs are two sequences, DPO asks its reference for both") {
  FineTuning tuning = tuning_7b(Method::orpo);
  tuning.samples = 128;
  const FineTuningStep orpo = must_tune(tuning);
  CHECK(orpo.tokens == 256.0 * 512.0);
  CHECK(orpo.samples == 128.0);
  tuning.method = Method::dpo;
  const FineTuningStep dpo = must_tune(tuning);
  CHECK(dpo.step.value() == Approx((orpo.step + dpo.reference).value()));
  // (3 + 1) / 3 of an update, less what the reference does not need.
  CHECK(dpo.step / orpo.step > 1.15);
  CHECK(dpo.step / orpo.step < 1.45);
  tuning.precomputed_reference = true;
  CHECK(must_tune(tuning).step == orpo.step);
  tuning.method = Method::reward_model;
  CHECK(must_tune(tuning).step == orpo.step);
}

TEST_CASE("a student waits for its teacher's forward pass") {
  FineTuning tuning = tuning_7b(Method::distillation);
  CHECK(estimate(shipped(), one_node(), tuning).error().front().code == Code::missing_key);
  tuning.teacher = tuning.job;
  const FineTuningStep like = must_tune(tuning);
  tuning.teacher->model = model_of("qwen2.5-32b");
  const FineTuningStep larger = must_tune(tuning);
  CHECK(like.teacher.value() > 0.0);
  CHECK(larger.teacher.value() > 3.0 * like.teacher.value());
  CHECK(larger.step.value() == Approx((larger.iteration.step + larger.teacher).value()));
}

TEST_CASE("adapters save the gradients of frozen weights") {
  FineTuning tuning = tuning_7b(Method::sft);
  const FineTuningStep full = must_tune(tuning);
  tuning.job.adapters = training::Adapters{};
  const FineTuningStep lora = must_tune(tuning);
  CHECK(lora.step / full.step < 0.85);
  CHECK(lora.iteration.memory.front().optimizer.value() <
        0.05 * full.iteration.memory.front().optimizer.value());
}

}  // namespace flowplan::posttraining::fine_tuning_test
