#include "flowplan/posttraining/weight_sync.hpp"

#include <algorithm>

#include "fixture.hpp"

namespace flowplan::posttraining::weight_sync_test {

namespace {

/// From the first `trainer` GPUs to the last `rollout` ones of a cluster.
WeightSync sync_of(const topology::Cluster& cluster, const model::Transformer& model,
                   std::uint32_t trainer, std::uint32_t rollout, int engine_tp) {
  WeightSync sync;
  sync.model = &model;
  sync.trainer.dp = static_cast<int>(trainer);
  sync.sharding = training::Sharding::fsdp;
  sync.engine.tp = engine_tp;
  for (std::uint32_t i = 0; i < trainer; ++i)
    sync.trainer_gpus.push_back(topology::GpuId{i});
  for (std::uint32_t i = cluster.gpus() - rollout; i < cluster.gpus(); ++i)
    sync.rollout_gpus.push_back(topology::GpuId{i});
  return sync;
}

SyncTime must_sync(const topology::Cluster& cluster, const WeightSync& sync) {
  auto time = sync_time(shipped(), cluster, sync);
  if (!time) FAIL(render(time.error()));
  return std::move(*time);
}

}  // namespace

TEST_CASE("experts are tensors of their own") {
  // Embedding, output, final norm; 28 layers of 4 projections, 3 matrices and 2 norms.
  CHECK(tensor_count(model_of("qwen2.5-7b")) == 3.0 + 28.0 * (4.0 + 3.0 + 2.0));
  // 48 layers: 4 projections, 2 norms of the width and 2 of heads, 128 x 3 and a router.
  CHECK(tensor_count(model_of("qwen3-30b-a3b")) == 3.0 + 48.0 * (4.0 + 4.0 + 128.0 * 3.0 + 1.0));
}

TEST_CASE("resharding moves each GPU's shard only, limited by the network") {
  const topology::Cluster cluster = nodes_of("p5.48xlarge", 2);
  const model::Transformer model = model_of("qwen2.5-7b");
  WeightSync sync = sync_of(cluster, model, 8, 8, 8);
  sync.path = SyncPath::reshard;
  const SyncTime resharded = must_sync(cluster, sync);
  const double weights = 2.0 * model::count_parameters(model).total;
  CHECK(resharded.moved.value() == Approx(weights));
  // Eight GPUs send an eighth each over 50 GB/s of network.
  CHECK(resharded.time.value() == Approx(weights / 8.0 / 50e9).epsilon(0.02));
  CHECK(resharded.parts.children.front().limit == "efa");
  // Out of one NIC and into another: each byte counts twice of what both directions carry.
  double network = 0.0;
  for (const auto& [tier, bytes] : resharded.carried)
    if (tier == topology::Tier::efa) network += bytes.value();
  CHECK(network == Approx(2.0 * weights));
  sync.path = SyncPath::broadcast;
  CHECK(must_sync(cluster, sync).time > resharded.time);
}

TEST_CASE("tensors cost host time each") {
  const topology::Cluster cluster = nodes_of("p5.48xlarge", 2);
  const model::Transformer model = model_of("qwen2.5-7b");
  WeightSync sync = sync_of(cluster, model, 8, 8, 1);
  const SyncTime none = must_sync(cluster, sync);
  sync.per_tensor = milliseconds(1.0);
  CHECK((must_sync(cluster, sync).time - none.time).value() == Approx(1e-3 * tensor_count(model)));
}

TEST_CASE("published synchronisations lie in the range of the fast and the slow path") {
  // verl, H20: 30B-A3B from 16 to 16 GPUs in 4.4 to 15.8 s; 0.2 and 0.8 ms a tensor.
  const topology::Cluster cluster = nodes_of("h20-node", 4);
  const model::Transformer model = model_of("qwen3-30b-a3b");
  WeightSync sync = sync_of(cluster, model, 16, 16, 8);
  sync.per_tensor = milliseconds(0.2);
  CHECK(must_sync(cluster, sync).time.value() == Approx(4.4).epsilon(0.25));
  sync.per_tensor = milliseconds(0.8);
  CHECK(must_sync(cluster, sync).time.value() == Approx(15.8).epsilon(0.25));
}

TEST_CASE("weights through storage need some") {
  const topology::Cluster cluster = nodes_of("p5.48xlarge", 2);
  const model::Transformer model = model_of("qwen2.5-7b");
  WeightSync sync = sync_of(cluster, model, 8, 8, 1);
  sync.path = SyncPath::storage;
  CHECK(sync_time(shipped(), cluster, sync).error().front().code == Code::bad_storage);
  storage::Mount mount;
  const auto service = shipped().storage("fsx-persistent2-1000");
  REQUIRE(service);
  mount.service = *service;
  mount.capacity = gibibytes(96000.0);
  mount.access = storage::Access::efa;
  sync.mount = &mount;
  const SyncTime through = must_sync(cluster, sync);
  CHECK(find(through.parts, "step.sync.write") != nullptr);
  CHECK(find(through.parts, "step.sync.read") != nullptr);
  CHECK(sum_of_leaves(through.parts) == Approx(through.time.value()));
}

}  // namespace flowplan::posttraining::weight_sync_test
