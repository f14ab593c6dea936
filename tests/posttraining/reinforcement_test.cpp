#include "flowplan/posttraining/reinforcement.hpp"

#include <algorithm>

#include "fixture.hpp"

namespace flowplan::posttraining::reinforcement_test {

namespace {

const topology::Cluster& two_nodes() {
  static const topology::Cluster cluster = nodes_of("p5.48xlarge", 2);
  return cluster;
}

/// Half of the GPUs train, half generate.
RlJob apart(Placement placement) {
  RlJob job = grpo_7b(8);
  job.placement = placement;
  job.rollout_gpus = 8;
  return job;
}

}  // namespace

TEST_CASE("leaves of a step sum to it whatever the placement") {
  for (const Placement placement : {Placement::colocated, Placement::disaggregated,
                                    Placement::one_step_off, Placement::asynchronous}) {
    const RlStep step =
        must_step(two_nodes(), placement == Placement::colocated ? grpo_7b(16) : apart(placement));
    CAPTURE(name(placement));
    REQUIRE(step.does_not_fit.empty());
    CHECK(sum_of_leaves(step.time) == Approx(step.step.value()));
    CHECK(step.samples == 128.0);
    CHECK_FALSE(step.limit.empty());
    for (const PoolUse& pool : step.pools) {
      CHECK(pool.idle_share >= 0.0);
      CHECK(pool.idle_share < 1.0);
    }
  }
}

TEST_CASE("taking turns is the sum of its parts") {
  const RlStep step = must_step(two_nodes(), apart(Placement::disaggregated));
  CHECK(step.step.value() == Approx((step.generation + step.scoring + step.log_prob +
                                     step.reference + step.update + step.controller + step.sync)
                                        .value()));
}

TEST_CASE("overlapping pools are at best as fast as the slower of them") {
  const RlStep turns = must_step(two_nodes(), apart(Placement::disaggregated));
  const RlStep off = must_step(two_nodes(), apart(Placement::one_step_off));
  const RlStep free = must_step(two_nodes(), apart(Placement::asynchronous));
  const double trainer =
      (turns.log_prob + turns.reference + turns.update + turns.controller + turns.sync).value();
  CHECK(off.step < turns.step);
  CHECK(free.step.value() <= off.step.value() * 1.001);
  CHECK(free.step.value() >= trainer * 0.999);
  CHECK(turns.mean_staleness == 0.0);
  CHECK(off.mean_staleness == Approx(1.0).margin(0.01));
}

TEST_CASE("the limit is the pool that the other one waits for") {
  RlJob job = apart(Placement::asynchronous);
  job.load.response = {inference::TokenCount::Kind::fixed, 8192.0, 0.0};
  job.pack_tokens = 16384;
  job.staleness = 1.0;
  job.log_prob_micro_batch = 1;
  const RlStep long_answers = must_step(two_nodes(), job);
  CAPTURE(long_answers.pools[0].idle_share, long_answers.pools[1].idle_share);
  CHECK(long_answers.pools[0].idle_share > 0.1);
  CHECK(long_answers.limit == "generation");  // equal lengths have no stragglers

  const auto waiting = [](const RlStep& step) {
    return std::find_if(step.time.children.begin(), step.time.children.end(),
                        [](const Breakdown& part) { return part.id == "step.wait"; })
        ->limit;
  };
  CHECK(waiting(long_answers) == "decoding");

  job.load.response = {inference::TokenCount::Kind::lognormal, 1000.0, 2.0, 16000.0};
  const RlStep spread = must_step(two_nodes(), job);
  REQUIRE(spread.tail > spread.generation / 2.0);
  CHECK(spread.limit == "stragglers");
  CHECK(waiting(spread) == "longest responses");

  job.load.response = {inference::TokenCount::Kind::fixed, 64.0, 0.0};
  job.epochs = 64;  // so that the controller does not count
  const RlStep much_training = must_step(two_nodes(), job);
  CHECK(much_training.pools[1].idle_share > much_training.pools[0].idle_share);
  CHECK(much_training.limit == "training");
}

TEST_CASE("each model that an algorithm needs costs its passes") {
  RlJob job = grpo_7b(16);
  const RlStep grpo = must_step(two_nodes(), job);
  job.reference = false;
  const RlStep without = must_step(two_nodes(), job);
  CHECK(grpo.step.value() - without.step.value() == Approx(grpo.reference.value()));
  job.old_log_prob = false;
  CHECK(must_step(two_nodes(), job).log_prob.value() == 0.0);
  job = grpo_7b(16);
  job.algorithm = Algorithm::ppo;
  const RlStep ppo = must_step(two_nodes(), job);
  CHECK(ppo.values.value() == Approx(grpo.log_prob.value()));
  CHECK(ppo.update.value() == Approx(2.0 * grpo.update.value()));  // a critic like the policy
  job.reward_model = job.actor;
  CHECK(must_step(two_nodes(), job).reward_model.value() == Approx(grpo.log_prob.value()));
}

TEST_CASE("epochs and mini-batches multiply updates") {
  RlJob job = grpo_7b(16);
  const RlStep once = must_step(two_nodes(), job);
  CHECK(once.updates == 1);
  job.epochs = 3;
  const RlStep thrice = must_step(two_nodes(), job);
  CHECK(thrice.updates == 3);
  CHECK(thrice.update.value() == Approx(3.0 * once.update.value()));
  job.mini_batch = 32;
  CHECK(must_step(two_nodes(), job).updates == 12);
}

TEST_CASE("over-sampling generates more than it trains on") {
  RlJob job = grpo_7b(16);
  const RlStep plain = must_step(two_nodes(), job);
  job.over_sampling = 2.0;
  const RlStep doubled = must_step(two_nodes(), job);
  CHECK(doubled.samples == plain.samples);
  CHECK(doubled.generated_tokens > 1.7 * plain.generated_tokens);
  CHECK(doubled.generation >= plain.generation);
  job.stop_early = true;
  CHECK(must_step(two_nodes(), job).generation < plain.generation);
}

TEST_CASE("doubling colocated GPUs brings little where the tail binds") {
  const topology::Cluster four = nodes_of("p5.48xlarge", 4);
  const RlStep small = must_step(two_nodes(), grpo_7b(16));
  const RlStep large = must_step(four, grpo_7b(32));
  REQUIRE(small.tail.value() > 0.5 * small.generation.value());
  CHECK(large.generation.value() > 0.8 * small.generation.value());
  CHECK(large.step.value() > 0.7 * small.step.value());
}

TEST_CASE("what does not fit is an answer that says why") {
  RlJob job = grpo_7b(16);
  job.actor.model = model_of("llama3-70b");  // whole on every GPU
  const RlStep step = must_step(two_nodes(), job);
  CHECK_FALSE(step.does_not_fit.empty());
  CHECK(step.binding == "memory");
}

TEST_CASE("pools, batches and engines that do not add up are refused") {
  RlJob job = apart(Placement::asynchronous);
  job.rollout_gpus = 16;
  CHECK(estimate(shipped(), two_nodes(), job).error().front().code == Code::layout_mismatch);
  job.rollout_gpus = 7;
  job.engine_layout.tp = 2;
  CHECK(estimate(shipped(), two_nodes(), job).error().front().code == Code::not_divisible);
  job = grpo_7b(16);
  job.mini_batch = 1000;
  CHECK(estimate(shipped(), two_nodes(), job).error().front().code == Code::not_divisible);
  job = grpo_7b(16);
  job.over_sampling = 0.5;
  CHECK(estimate(shipped(), two_nodes(), job).error().front().code == Code::value_out_of_range);
  job = grpo_7b(16);
  job.profile = "nobody";
  CHECK(estimate(shipped(), two_nodes(), job).error().front().code == Code::unknown_name);
}

}  // namespace flowplan::posttraining::reinforcement_test
