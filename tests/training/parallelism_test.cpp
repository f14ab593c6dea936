#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>
#include <vector>

#include "fixture.hpp"
#include "flowplan/training/evaluator.hpp"

namespace parallelism_test {

using namespace flowplan;
using namespace flowplan::training;

namespace {

double part(const Iteration& iteration, const std::string& id) {
  const Breakdown* found = find(iteration.time, id);
  return found == nullptr ? 0.0 : found->time().value();
}

/// 48 layers of 128 experts, 8 a token.
Job small_moe(int gpus) {
  Job job = llama_70b(gpus);
  job.model.name = "moe";
  job.model.layers = 48;
  job.model.hidden = 2048;
  job.model.heads = 32;
  job.model.kv_heads = 4;
  job.model.head_dim = 128;
  job.model.ffn = 6144;
  job.model.experts = model::Experts{128, 8, 768};
  job.layout = {1, 1, 1, 1, gpus, true};
  job.layout.ep = 8;
  job.seq_len = 4096;
  job.global_batch = 8 * gpus;
  return job;
}

std::vector<Job> random_jobs(int count, int gpus) {
  std::mt19937 random(17);
  const auto pick = [&](std::vector<int> from) {
    return from[std::uniform_int_distribution<std::size_t>(0, from.size() - 1)(random)];
  };
  std::vector<Job> jobs;
  while (static_cast<int>(jobs.size()) < count) {
    const bool experts = pick({0, 1}) == 1;
    Job job = experts ? small_moe(gpus) : llama_70b(gpus);
    job.layout.tp = pick({1, 2, 4});
    job.layout.pp = pick({1, 2, 4});
    job.layout.vp = job.layout.pp > 1 ? pick({1, 2, 4}) : 1;
    job.layout.cp = pick({1, 2});
    job.layout.dp = gpus / (job.layout.tp * job.layout.pp * job.layout.cp);
    if (experts) {
      job.layout.ep = pick({1, 2, 4, 8});
      job.layout.etp = pick({1, 2});
      const int ranks = job.layout.tp * job.layout.cp * job.layout.dp;
      if (ranks % (job.layout.ep * job.layout.etp) != 0) job.layout.etp = 1;
    }
    if (job.layout.pp > 1 && job.layout.vp == 1)
      job.schedule = static_cast<Schedule>(pick({0, 1, 2}));
    job.offload_layers = pick({0, 0, 4});
    job.micro_batch = pick({1, 2});
    job.global_batch = static_cast<std::int64_t>(job.layout.dp) * job.micro_batch * pick({8, 32});
    job.sharding = static_cast<Sharding>(pick({0, 1, 2, 3, 4}));
    job.recompute = static_cast<Recompute>(pick({0, 1, 2, 3}));
    job.context_parallel = static_cast<ContextParallel>(pick({0, 1, 2, 3}));
    job.routing.deduplicated = pick({0, 1}) == 1;
    if (pick({0, 3}) == 3) job.adapters = Adapters{};
    jobs.push_back(job);
  }
  return jobs;
}

}  // namespace

TEST_CASE("every kind of parallelism gives a step that is the sum of its parts") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(60, 64)) {
    const Iteration result = estimated(cluster, job);
    CHECK(result.time.time().value() == Approx(result.step.value()).epsilon(1e-12));
    for (const TierUse& use : result.tiers)
      CHECK(use.utilisation <= 1.0);
  }
}

TEST_CASE("more network bandwidth never slows any kind of parallelism") {
  const topology::Cluster faster = with_twice_the_network(8);
  const topology::Cluster base = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(40, 64)) {
    CHECK(estimated(faster, job).step <= estimated(base, job).step);
  }
}

TEST_CASE("more memory or NVLink bandwidth never slows any kind of parallelism") {
  namespace fs = std::filesystem;
  const topology::Cluster base = cluster_of("p5.48xlarge", 8);
  for (const char* figure : {R"("hbm_gbytes_per_s": [5025, "test"])",
                             R"("nvlink_gbytes_per_s_per_direction": [900, "test"])"}) {
    const fs::path overlay = fs::temp_directory_path() / "flowplan_parallelism_test.json";
    std::ofstream(overlay) << R"({"sources": {"test": "half as much again, or twice as much"},
      "gpus": [{"id": "H100-SXM-80GB", "figures": {)"
                           << figure << "}}]}";
    const auto faster = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs", {overlay.string()});
    fs::remove(overlay);
    if (!faster) FAIL(render(faster.error()));
    topology::ClusterSpec spec;
    spec.instance = *faster->instance("p5.48xlarge");
    spec.count = 8;
    const auto cluster = topology::Cluster::build(*faster, spec);
    REQUIRE(cluster);
    bool any_faster = false;
    for (const Job& job : random_jobs(25, 64)) {
      INFO(figure << " tp " << job.layout.tp << " pp " << job.layout.pp << " cp " << job.layout.cp);
      const auto after = estimate(*faster, *cluster, job);
      REQUIRE(after);
      const Seconds before = estimated(base, job).step;
      CHECK(after->step.value() <= before.value() * (1.0 + 1e-12));
      any_faster = any_faster || after->step < before;
    }
    CHECK(any_faster);
  }
}

TEST_CASE("adapters are counted by the matrices that they are on") {
  // Llama 3 8B: 32 layers, 4096 wide, 8 heads of 128 for keys and values, MLP of 14336.
  Job job = llama_70b(64);
  job.model.layers = 32;
  job.model.hidden = 4096;
  job.model.ffn = 14336;
  job.model.heads = 32;
  job.model.kv_heads = 8;
  job.adapters = Adapters{};
  job.adapters->rank = 8;
  const auto trained = [&](AdapterTargets targets) {
    job.adapters->targets = targets;
    return trainable_parameters(job);
  };
  AdapterTargets query_value{false, false};
  query_value.query = query_value.value = true;
  // PEFT's usual ones: 8 (4096 + 4096) and 8 (4096 + 1024) a layer.
  CHECK(trained(query_value) == 3407872.0);
  // NeMo's: q, k and v share what goes in; 8 (4096 + 6144) and 8 (4096 + 4096).
  CHECK(trained({}) == 32.0 * 8.0 * (4096 + 6144 + 4096 + 4096));
  AdapterTargets mlp{false, false};
  mlp.gate = mlp.up = mlp.down = true;
  CHECK(trained(mlp) == 32.0 * 8.0 * 3.0 * (4096 + 14336));
  mlp.gate = mlp.up = false;
  mlp.fused_up = true;
  CHECK(trained(mlp) == 32.0 * 8.0 * (4096 + 2 * 14336 + 4096 + 14336));
  job.adapters.reset();
  CHECK(trainable_parameters(job) == model::count_parameters(job.model).total);
}

TEST_CASE("recurrence and simulation agree within 1 % on 200 random layouts") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (const Job& job : random_jobs(200, 64)) {
    auto evaluator = Evaluator::on(the_catalog(), cluster, job);
    REQUIRE(evaluator);
    const auto closed = evaluator->evaluate(job);
    const auto played = evaluator->simulate(job);
    REQUIRE((closed && played));
    INFO("pp " << job.layout.pp << " vp " << job.layout.vp << " dp " << job.layout.dp << " "
               << name(job.schedule) << " batch " << job.global_batch);
    CHECK(played->value() == Approx(closed->step.value()).epsilon(0.01));
  }
}

TEST_CASE("an evaluator says what `estimate` and `check` say") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  const std::vector<Job> jobs = random_jobs(40, 64);
  for (const Job& job : jobs) {
    auto evaluator = Evaluator::on(the_catalog(), cluster, job);
    REQUIRE(evaluator);
    CHECK(evaluator->valid(job));
    const auto quick = evaluator->evaluate(job);
    REQUIRE(quick);
    const Iteration slow = estimated(cluster, job);
    CHECK(quick->step == slow.step);
    CHECK(quick->fits == slow.fits);
    Job odd = job;
    odd.layout.tp = 3;
    CHECK_FALSE(evaluator->valid(odd));
  }
}

TEST_CASE("FSDP needs less memory than ZeRO-2, that less than ZeRO-1, that less than none") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {4, 1, 1, 1, 16, true};
  job.global_batch = 64;
  const auto states = [&](Sharding sharding) {
    job.sharding = sharding;
    const auto use = memory(the_catalog(), cluster, job);
    REQUIRE(use);
    const StageMemory& stage = use->stages.front();
    return (stage.weights + stage.gradients + stage.optimizer).value();
  };
  const double none = states(Sharding::none), zero1 = states(Sharding::distributed_optimizer),
               zero2 = states(Sharding::zero2), kept = states(Sharding::fsdp_no_reshard),
               fsdp = states(Sharding::fsdp);
  CHECK(zero1 < none);
  CHECK(zero2 < zero1);
  CHECK(fsdp < kept);
  CHECK(fsdp < zero2);
}

TEST_CASE("sharding more never needs more memory, whatever the layout") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (Job job : random_jobs(40, 64)) {
    const auto states = [&](Sharding sharding) {
      job.sharding = sharding;
      const auto use = memory(the_catalog(), cluster, job);
      REQUIRE(use);
      std::vector<double> all;
      for (const StageMemory& stage : use->stages)
        all.push_back((stage.weights + stage.gradients + stage.optimizer).value());
      return all;
    };
    const std::vector<double> none = states(Sharding::none),
                              zero1 = states(Sharding::distributed_optimizer),
                              zero2 = states(Sharding::zero2), fsdp = states(Sharding::fsdp);
    INFO("tp " << job.layout.tp << " pp " << job.layout.pp << " cp " << job.layout.cp << " dp "
               << job.layout.dp << " ep " << job.layout.ep);
    for (std::size_t i = 0; i < none.size(); ++i) {
      CHECK(zero1[i] <= none[i]);
      CHECK(zero2[i] <= zero1[i]);
      // In a pipeline the weights stay gathered for all its micro-batches, beside the shard.
      if (job.layout.pp == 1) CHECK(fsdp[i] <= zero2[i]);
    }
  }
}

TEST_CASE("recomputation never lowers computation, whatever the layout and mode") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  for (Job job : random_jobs(25, 64)) {
    job.recompute = Recompute::none;
    const double none = part(estimated(cluster, job), "step.compute");
    for (const Recompute mode : {Recompute::selective, Recompute::operators, Recompute::full}) {
      job.recompute = mode;
      CHECK(part(estimated(cluster, job), "step.compute") >= none * (1.0 - 1e-12));
    }
  }
}

TEST_CASE("resharding costs a second gather of every layer") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {1, 1, 1, 1, 64, true};
  job.framework = "composer";
  job.sharding = Sharding::fsdp;
  const double twice = part(estimated(cluster, job), "step.communication.shard");
  job.sharding = Sharding::fsdp_no_reshard;
  const double once = part(estimated(cluster, job), "step.communication.shard");
  CHECK(once > 0.0);
  // Two gathers of 2 bytes and a scatter of 4 against one gather and the scatter.
  CHECK(twice > once);
  CHECK(twice < 1.5 * once);
}

TEST_CASE("sharding inside a node keeps gathers off a slow network") {
  // A p4d node has 50 GB/s of network. Two gathers and a scatter of two bytes a parameter across it
  // are 6 bytes, the all-reduce of what each GPU of a node holds 4 and the rest is on NVLink.
  const topology::Cluster cluster = cluster_of("p4d.24xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {1, 1, 1, 1, 64, true};
  job.framework = "composer-pure";
  job.sharding = Sharding::fsdp;
  const double everywhere = part(estimated(cluster, job), "step.communication.shard");
  job.shard_group = 8;
  const double inside = part(estimated(cluster, job), "step.communication.shard");
  CHECK(inside < everywhere);
}

TEST_CASE("adapters save the weight gradients, a third of the products, and the optimizer") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 1);
  Job job = llama_70b(8);
  job.layout = {8, 1, 1, 1, 1, true};
  job.global_batch = 8;
  const Iteration full = estimated(cluster, job);
  job.adapters = Adapters{};
  const Iteration adapted = estimated(cluster, job);
  const double backward = part(full, "step.compute.gemm_backward");
  CHECK(part(adapted, "step.compute.gemm_backward") == Approx(0.5 * backward).epsilon(0.15));
  CHECK(part(adapted, "step.optimizer") < 0.01 * part(full, "step.optimizer"));
  CHECK(adapted.memory.front().optimizer < full.memory.front().optimizer * 0.01);
  CHECK(adapted.memory.front().weights < full.memory.front().weights * 1.02);
}

TEST_CASE("experts: copies, imbalance and capacity scale their products") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 1);
  Job job = small_moe(8);
  job.micro_batch = 4;
  job.global_batch = 256;
  const auto experts = [&] { return part(estimated(cluster, job), "step.compute.experts"); };
  const double balanced = experts();
  job.routing.imbalance = 1.5;
  CHECK(experts() > 1.2 * balanced);
  job.routing.capacity = 1.0;  // drops what is beyond the mean
  CHECK(experts() == Approx(balanced));
}

TEST_CASE("de-duplicated and node-limited exchanges are never slower") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = small_moe(64);
  job.layout.ep = 64;
  const auto exchange = [&] { return part(estimated(cluster, job), "step.communication.ep"); };
  const double copies = exchange();
  job.routing.deduplicated = true;
  const double once = exchange();
  job.routing.nodes_per_token = 2;
  const double limited = exchange();
  CHECK(copies > 0.0);
  CHECK(once < copies);
  CHECK(limited < once);
}

TEST_CASE("context parallelism divides attention; a ring hides more than a gather") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {8, 1, 1, 1, 8, true};
  job.global_batch = 8;
  job.seq_len = 32768;
  const Iteration one = estimated(cluster, job);
  job.layout.cp = 2;
  job.layout.dp = 4;
  const Iteration two = estimated(cluster, job);
  // Half the attention of a sequence on each rank, but twice the sequences a replica.
  CHECK(part(two, "step.compute.attention_forward") ==
        Approx(part(one, "step.compute.attention_forward")).epsilon(1e-9));
  const double ring = part(two, "step.communication.cp");
  job.context_parallel = ContextParallel::all_gather;
  CHECK(ring > 0.0);
  CHECK(ring < part(estimated(cluster, job), "step.communication.cp"));
}

TEST_CASE("ZB-H1 and DualPipe shorten the bubble; DualPipe holds two stages") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  job.layout = {4, 8, 1, 1, 2, true};
  job.global_batch = 64;
  const auto with = [&](Schedule schedule) {
    job.schedule = schedule;
    return estimated(cluster, job);
  };
  const Iteration plain = with(Schedule::one_forward_one_backward);
  const Iteration zero = with(Schedule::zero_bubble_1);
  const Iteration dual = with(Schedule::dual_pipe);
  CHECK(part(zero, "step.pipeline_bubble") < part(plain, "step.pipeline_bubble"));
  CHECK(part(dual, "step.pipeline_bubble") < part(plain, "step.pipeline_bubble"));
  CHECK(dual.memory[3].weights.value() == Approx(2.0 * plain.memory[3].weights.value()));
}

TEST_CASE("latent attention, windows and prediction modules are charged") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  const auto model = the_catalog().transformer("deepseek-v3");
  REQUIRE(model);
  Job job = small_moe(64);
  job.model = **model;
  job.layout = {1, 4, 1, 1, 16, true};
  job.layout.ep = 16;
  job.layout.uneven_stages = true;
  job.global_batch = 16 * 16;
  job.model.mtp_layers = 0;
  const Iteration without = estimated(cluster, job);
  job.model.mtp_layers = 1;
  const Iteration with = estimated(cluster, job);
  CHECK(with.step > without.step);
  CHECK(with.step < without.step * 1.2);
  Job windowed = llama_70b(64);
  const double all = part(estimated(cluster, windowed), "step.compute.attention_forward");
  windowed.model.sliding_window = 128;
  windowed.model.sliding_share = 0.5;
  const double half = part(estimated(cluster, windowed), "step.compute.attention_forward");
  // Half of the layers read a band of 256 keys instead of the causal half of 8192.
  CHECK(half / all == Approx(0.5 + 0.5 * 512.0 / 8192.0).epsilon(1e-9));
}

TEST_CASE("offloaded layers leave the GPU's memory") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  Job job = llama_70b(64);
  const auto before = memory(the_catalog(), cluster, job);
  job.offload_layers = 10;
  const auto after = memory(the_catalog(), cluster, job);
  REQUIRE((before && after));
  CHECK(part(estimated(cluster, job), "step.communication.offload") >= 0.0);
  CHECK(estimated(cluster, job).time.time().value() ==
        Approx(estimated(cluster, job).step.value()).epsilon(1e-12));
  // 10 of 20 layers a stage
  CHECK(after->stages[0].activations.value() ==
        Approx(0.5 * before->stages[0].activations.value()));
}

}  // namespace parallelism_test
