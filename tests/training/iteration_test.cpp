#include "flowplan/training/iteration.hpp"

#include <random>
#include <vector>

#include "fixture.hpp"

namespace iteration_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

double leaves(const Breakdown& tree) {
  if (tree.children.empty()) return tree.leaf_time.value();
  double sum = 0.0;
  for (const Breakdown& child : tree.children)
    sum += leaves(child);
  return sum;
}

double part(const Iteration& iteration, const std::string& id) {
  const Breakdown* found = find(iteration.time, id);
  return found == nullptr ? 0.0 : found->time().value();
}

double gemms(const Iteration& iteration) {
  return part(iteration, "step.compute.gemm_forward") +
         part(iteration, "step.compute.gemm_backward");
}

std::vector<Job> random_jobs(int count, int gpus) {
  std::mt19937 random(5);
  const auto pick = [&](std::vector<int> from) {
    return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
  };
  std::vector<Job> jobs;
  while (static_cast<int>(jobs.size()) < count) {
    Job job = llama_70b(gpus);
    job.layout.tp = pick({1, 2, 4, 8});
    job.layout.pp = pick({1, 2, 4, 8});
    job.layout.vp = job.layout.pp > 1 ? pick({1, 2, 5}) : 1;
    job.layout.dp = gpus / (job.layout.tp * job.layout.pp);
    job.layout.sequence_parallel = pick({0, 1}) == 1;
    job.micro_batch = pick({1, 2});
    job.global_batch = static_cast<std::int64_t>(job.layout.dp) * job.micro_batch * 8;
    job.recompute = static_cast<Recompute>(pick({0, 1, 2}));
    job.sharding = static_cast<Sharding>(pick({0, 1}));
    job.precision = pick({0, 1}) == 1 ? model::Precision::fp8 : model::Precision::bf16;
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace

TEST_CASE("the leaves of a step sum to it and each names its limit") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(25, 64)) {
    const Iteration result = estimated(cluster, job);
    CHECK(leaves(result.time) == Approx(result.step.value()).epsilon(1e-12));
    CHECK(result.time.time().value() == Approx(result.step.value()).epsilon(1e-12));
    for (const LimitShare& share : limits(result.time)) {
      CHECK_FALSE(share.limit.empty());
      CHECK(share.time.value() >= 0.0);
    }
  }
}

TEST_CASE("rates follow from the step") {
  const Job job = llama_70b(64);
  const Iteration result = estimated(cluster_of("p5.48xlarge", 8), job);
  // 64 sequences of 8192 tokens a step
  const double tokens = 64.0 * 8192.0 / result.step.value();
  CHECK(result.tokens_per_second == Approx(tokens));
  const double flops = model::training_flops_per_token(job.model, 8192).value() * tokens / 64.0;
  CHECK(result.model_tflops_per_gpu == Approx(flops / 1e12));
  CHECK(result.mfu == Approx(flops / 989e12));
  CHECK(result.mfu > 0.2);
  CHECK(result.mfu < 0.6);
}

TEST_CASE("the bubble of an interleaved pipeline is (p - 1) / (m v) of its layers") {
  Job job = llama_70b(64);
  job.model.vocab = 32;  // no output head to speak of
  const Iteration result = estimated(cluster_of("p5.48xlarge", 8), job);
  const double tp = part(result, "step.communication.tp");
  const double steady = part(result, "step.compute") + tp;
  CHECK(part(result, "step.pipeline_bubble") / steady == Approx(3.0 / (16 * 4)).epsilon(0.01));
}

TEST_CASE("estimates are deterministic") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(5, 64)) {
    CHECK(estimated(cluster, job).step == estimated(cluster, job).step);
  }
}

TEST_CASE("recomputation never lowers computation and never needs more memory") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (Job job : random_jobs(15, 64)) {
    job.recompute = Recompute::none;
    const Iteration none = estimated(cluster, job);
    job.recompute = Recompute::selective;
    const Iteration selective = estimated(cluster, job);
    job.recompute = Recompute::full;
    const Iteration full = estimated(cluster, job);
    CHECK(selective.step >= none.step);
    CHECK(full.step >= selective.step);
    for (std::size_t i = 0; i < none.memory.size(); ++i) {
      CHECK(selective.memory[i].activations <= none.memory[i].activations);
    }
  }
}

TEST_CASE("a model all of whose layers stay wide takes what bf16 takes, one half way between") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout.vp = 1;
  job.layout.pp = 1;
  job.layout.tp = 8;
  job.layout.dp = 8;
  job.global_batch = 64;
  const auto layers = [&](const Job& one) {
    const Iteration iteration = estimated(cluster, one);
    CHECK(iteration.time.time().value() == Approx(iteration.step.value()));
    return iteration.step.value();
  };
  const double wide = layers(job);
  job.precision = model::Precision::fp8;
  const double narrow = layers(job);
  CHECK(narrow < 0.9 * wide);
  job.wide_layers = {40, 40};
  const double left = layers(job);
  job.wide_layers = {20, 20};
  const double half = layers(job);
  // Gathering FP8 weights is the same; half of the layers take half of what all of them add.
  CHECK(left == Approx(wide).epsilon(0.02));
  CHECK(half == Approx((narrow + left) / 2.0).epsilon(0.002));
}

TEST_CASE("narrower gradients are reduced faster, and the optimizer moves fewer bytes") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  const auto part = [](const Iteration& of, std::string_view id) {
    for (const Breakdown& group : of.time.children) {
      if (group.id == id) return group.time().value();
      for (const Breakdown& leaf : group.children)
        if (leaf.id == id) return leaf.time().value();
    }
    return 0.0;
  };
  const Iteration usual = estimated(cluster, job);
  job.states.gradient_bytes = 2.0;
  job.states.moments_bytes = 4.0;
  const Iteration lean = estimated(cluster, job);
  CHECK(part(lean, "step.communication.dp") < 0.8 * part(usual, "step.communication.dp"));
  // Gradient and weight once, master and moments there and back: 2 + 2 + 2 (4 + 4) bytes of the
  // usual 4 + 2 + 2 (4 + 8).
  CHECK(part(lean, "step.optimizer") / part(usual, "step.optimizer") ==
        Approx(20.0 / 30.0).epsilon(0.03));
}

TEST_CASE("full recomputation adds one forward pass") {
  Job job = llama_70b(64);
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  const Iteration none = estimated(cluster, job);
  job.recompute = Recompute::full;
  const Iteration full = estimated(cluster, job);
  CHECK(gemms(full) == Approx(gemms(none)));
  CHECK(part(full, "step.compute.recompute") > part(none, "step.compute.gemm_forward"));
  CHECK(part(full, "step.compute.recompute") < 0.5 * part(none, "step.compute"));
}

TEST_CASE("more network bandwidth never makes a step slower") {
  const topology::Cluster faster = with_twice_the_network(8);
  const topology::Cluster base = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(15, 64)) {
    CHECK(estimated(faster, job).step <= estimated(base, job).step);
  }
}

TEST_CASE("an oversubscribed fabric never makes a step faster") {
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 2;
  const topology::Cluster even = cluster_of("p5.48xlarge", 8, fabric);
  fabric.leaf_oversubscription = 4.0;
  const topology::Cluster tight = cluster_of("p5.48xlarge", 8, fabric);
  for (const Job& job : random_jobs(10, 64)) {
    CHECK(estimated(tight, job).step >= estimated(even, job).step);
  }
}

TEST_CASE("no tier carries more than it can") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(15, 64)) {
    for (const TierUse& use : estimated(cluster, job).tiers) {
      CHECK(use.utilisation >= 0.0);
      CHECK(use.utilisation <= 1.0);
    }
  }
}

TEST_CASE("tensor parallelism uses NVLink, data parallelism across nodes the network") {
  Job job = llama_70b(64);
  job.layout = {8, 1, 1, 1, 8, true};
  job.global_batch = 64;
  const Iteration result = estimated(cluster_of("p5.48xlarge", 8), job);
  const auto use = [&](topology::Tier tier) {
    for (const TierUse& one : result.tiers) {
      if (one.tier == tier) return one.utilisation;
    }
    return 0.0;
  };
  CHECK(use(topology::Tier::nvlink) > 0.0);
  CHECK(use(topology::Tier::efa) > 0.0);
}

TEST_CASE("sequence parallelism gathers as often as it scatters, and once more") {
  Job job = llama_70b(64);
  job.layout = {8, 1, 1, 1, 8, true};
  job.global_batch = 64;
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  const double with = part(estimated(cluster, job), "step.communication.tp");
  job.layout.sequence_parallel = false;
  const double without = part(estimated(cluster, job), "step.communication.tp");
  CHECK(with > 0.0);
  CHECK(without > 0.0);
  CHECK(part(estimated(cluster, job), "step.compute.memory_bound") > 0.0);
}

TEST_CASE("a part of a cluster can be used") {
  Job job = llama_70b(32);
  job.gpus = 32;
  const Iteration part_of_it = estimated(cluster_of("p5.48xlarge", 8), job);
  const Iteration all_of_it = estimated(cluster_of("p5.48xlarge", 4), job);
  CHECK(part_of_it.step.value() == Approx(all_of_it.step.value()).epsilon(0.02));
}

}  // namespace iteration_test
