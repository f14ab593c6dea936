#include "flowplan/storage/checkpoint.hpp"

#include "fixture.hpp"
#include "flowplan/model/transformer.hpp"

namespace flowplan::storage::checkpoint_test {

namespace {

CheckpointTimes times(const Clients& who, const CheckpointPlan& plan) {
  const auto found = checkpoint(who, plan);
  INFO((found ? std::string() : render(found.error())));
  REQUIRE(found.has_value());
  return *found;
}

CheckpointPlan plan_of(double bytes, SaveMode mode, const Mount& store) {
  CheckpointPlan plan;
  plan.bytes = Bytes(bytes);
  plan.mode = mode;
  plan.store = store;
  return plan;
}

double parameters(const char* model) {
  return model::count_parameters(**our_catalog().transformer(model)).total;
}

}  // namespace

TEST_CASE("a full state in bf16 with fp32 Adam is 14 bytes a parameter") {
  CHECK(checkpoint_bytes_per_parameter(model::bf16_states()) == 14.0);
  CHECK(checkpoint_bytes_per_parameter(model::bf16_states(), true) == 2.0);
  CHECK(checkpoint_bytes_per_parameter(model::lean_bf16_states()) == 10.0);
  CHECK(checkpoint_bytes_per_parameter(model::fp32_states()) == 12.0);
}

TEST_CASE("published checkpoints have 14 bytes a parameter") {
  const double full = checkpoint_bytes_per_parameter(model::bf16_states());
  // GLM-5.2: 650 GB on each of 16 nodes.
  CHECK(full * 744e9 / 16.0 == Approx(650e9).epsilon(0.002));
  // MLPerf Storage v2.0: 105 GB, 912 GB, 5.29 TB, in binary units.
  CHECK(full * parameters("llama3.1-8b") / 1073741824.0 == Approx(105).epsilon(0.01));
  CHECK(full * parameters("llama3.1-70b") / 1073741824.0 == Approx(912).epsilon(0.02));
  CHECK(full * parameters("llama3.1-405b") / 1099511627776.0 == Approx(5.29).epsilon(0.03));
  // BLOOM: 2.3 TB for 176B, between decimal and binary.
  CHECK(full * 176e9 > 2.3e12);
  CHECK(full * 176e9 < 2.3 * 1099511627776.0);
}

TEST_CASE("a synchronous save stalls for the slower of the nodes and the store") {
  const Clients who = clients("p5.48xlarge", 256);
  const double bytes = 14.0 * parameters("llama3.1-405b");
  const CheckpointTimes t =
      times(who, plan_of(bytes, SaveMode::sync, lustre("fsx-persistent2-1000", 96000)));
  CHECK(t.save_limit == "disks of the file system");
  CHECK(t.stall.value() == Approx(bytes / (93750.0 * 1048576.0)).epsilon(1e-3));
  CHECK(t.stall == t.persist);
  CHECK(t.per_node.value() == Approx(bytes / 256.0));
  CHECK(t.stall_time.time() == t.stall);
  CHECK_FALSE(t.restore_local.has_value());
}

TEST_CASE("an asynchronous save stalls for the copy into host memory only") {
  const Clients who = clients("p5en.48xlarge", 256);
  const double bytes = 14.0 * parameters("llama3.1-405b");
  const CheckpointTimes t =
      times(who, plan_of(bytes, SaveMode::async, lustre("fsx-persistent2-1000", 96000)));
  // 2.77 GB a GPU at 54.8 GB/s: torchtitan's "under 1 s" with pinned memory.
  CHECK(t.stall.value() == Approx(bytes / 2048.0 / 54.8e9).epsilon(0.01));
  CHECK(t.stall.value() < 1.0);
  CHECK(t.persist > t.stall);
  CHECK(t.staged.value() == Approx(bytes / 256.0));
  CHECK(t.fits);
  REQUIRE(t.restore_local.has_value());
  CHECK(*t.restore_local < t.restore);
}

TEST_CASE("a 744B save at 650 GB a node does not fit hosts of 780 GB, before any timing") {
  Clients who = clients("p6-b200.48xlarge", 16);
  who.host_memory = gigabytes(780);
  const CheckpointTimes t =
      times(who, plan_of(14.0 * 744e9, SaveMode::async, lustre("fsx-persistent2-1000", 96000)));
  CHECK_FALSE(t.fits);
  CHECK(t.does_not_fit.find("host memory: staging 651 GB a node") != std::string::npos);
  CHECK(t.does_not_fit.find("80 % of its 780 GB are 624 GB") != std::string::npos);
  CHECK(t.stall.value() == 0.0);
  CHECK(t.persist.value() == 0.0);
  // Synchronously, or on the hosts as they are, it fits.
  CHECK(times(who, plan_of(14.0 * 744e9, SaveMode::sync, lustre("fsx-persistent2-1000", 96000)))
            .fits);
  who.host_memory = clients("p6-b200.48xlarge", 1).host_memory;
  CHECK(times(who, plan_of(14.0 * 744e9, SaveMode::async, lustre("fsx-persistent2-1000", 96000)))
            .fits);
}

TEST_CASE("two staged copies take twice the memory") {
  Clients who = clients("p6-b200.48xlarge", 16);
  who.host_memory = gigabytes(1000);
  CheckpointPlan plan =
      plan_of(14.0 * 744e9, SaveMode::async, lustre("fsx-persistent2-1000", 96000));
  CHECK(times(who, plan).fits);
  plan.staged_copies = 2;
  CHECK_FALSE(times(who, plan).fits);
}

TEST_CASE("local disks take the save first, the store gets it behind") {
  const Clients who = clients("p5.48xlarge", 16);
  CheckpointPlan plan = plan_of(1e12, SaveMode::sync, lustre("fsx-persistent2-1000", 4800));
  plan.first = store("local-nvme");
  const CheckpointTimes t = times(who, plan);
  CHECK(t.stall.value() == Approx(1e12 / 16.0 / 9.01e9).epsilon(1e-3));
  CHECK(t.persist.value() == Approx(t.stall.value() + 1e12 / (4687.5 * 1048576.0)).epsilon(1e-3));
  REQUIRE(t.restore_local.has_value());
  CHECK(t.restore_local->value() == Approx(1e12 / 16.0 / 18.02e9).epsilon(1e-3));
  plan.bytes = Bytes(16.0 * 20e12);
  const CheckpointTimes large = times(who, plan);
  CHECK_FALSE(large.fits);
  CHECK(large.does_not_fit.find("local disks") != std::string::npos);
  CHECK(large.does_not_fit.find("store: ") != std::string::npos);
}

TEST_CASE("one writer has one client's rate") {
  const Clients who = clients("p5.48xlarge", 16);
  CheckpointPlan plan = plan_of(1e12, SaveMode::sync, lustre("fsx-persistent2-1000", 96000));
  plan.sharded = false;
  const CheckpointTimes t = times(who, plan);
  CHECK(t.save_limit == "Lustre client over EFA");
  CHECK(t.stall.value() == Approx(1e12 / 87.5e9).epsilon(1e-3));
  plan.store.access = Access::ena;
  CHECK(times(who, plan).stall.value() == Approx(1e12 / 12.5e9).epsilon(1e-3));
}

TEST_CASE("replicas that each read the weights make a restore longer") {
  const Clients who = clients("p5.48xlarge", 16);
  CheckpointPlan plan = plan_of(1.4e12, SaveMode::sync, lustre("fsx-persistent2-1000", 9600));
  const Seconds once = times(who, plan).restore;
  plan.weights = Bytes(0.2e12);
  plan.weight_readers = 8.0;
  CHECK(times(who, plan).restore.value() == Approx(2.0 * once.value()).epsilon(1e-3));
}

TEST_CASE("an export follows the persisted checkpoint at the given rate") {
  const Clients who = clients("p5.48xlarge", 16);
  CheckpointPlan plan = plan_of(1e12, SaveMode::sync, lustre("fsx-persistent2-1000", 9600));
  plan.export_to = store("s3");
  plan.export_rate = gigabytes_per_second(2);
  const CheckpointTimes t = times(who, plan);
  REQUIRE(t.exported.has_value());
  CHECK(t.exported->value() == Approx(t.persist.value() + 500.0));
  CHECK(t.warnings.empty());
  plan.export_rate = {};
  CHECK(times(who, plan).warnings.size() == 1);
}

TEST_CASE("mistakes of all tiers are told at once") {
  CheckpointPlan plan = plan_of(1e12, SaveMode::sync, lustre("fsx-scratch2", 5000));
  plan.first = store("local-nvme");
  const auto found = checkpoint(clients("dgx-h100", 2), plan);
  REQUIRE_FALSE(found.has_value());
  CHECK(found.error().size() >= 3);
}

}  // namespace flowplan::storage::checkpoint_test
