// Datasets, first epochs, model loads, repositories, sizing, money.
#include "fixture.hpp"
#include "flowplan/storage/cost.hpp"
#include "flowplan/storage/data_stream.hpp"
#include "flowplan/storage/model_load.hpp"
#include "flowplan/storage/repository.hpp"
#include "flowplan/storage/sizing.hpp"

namespace flowplan::storage::operations_test {

namespace {

double detail(const Answer& answer, const std::string& id) {
  for (const Detail& d : answer.details) {
    if (d.id == id) return d.value;
  }
  FAIL("no detail " << id);
  return 0.0;
}

template <class T>
T good(const Result<T>& result) {
  INFO((result ? std::string() : render(result.error())));
  REQUIRE(result.has_value());
  return *result;
}

}  // namespace

TEST_CASE("demand of MLPerf Storage's workloads on an H100") {
  const Clients who = clients("p5.48xlarge", 1);
  const auto rate = [&](const char* name) {
    return good(benchmark_demand(*who.defaults, name)).per_gpu().value() / 1e9;
  };
  CHECK(rate("unet3d") == Approx(3.18).epsilon(0.002));
  CHECK(rate("resnet50") == Approx(0.205).epsilon(0.002));
  CHECK(rate("cosmoflow") == Approx(0.81).epsilon(0.002));
  CHECK(good(benchmark_demand(*who.defaults, "cosmoflow")).floor == 0.7);
  const auto none = benchmark_demand(*who.defaults, "unet");
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().front().hint.find("unet3d") != std::string::npos);
}

TEST_CASE("a dataset that comes too slowly leaves the GPUs waiting, and the answer says so") {
  const Clients who = clients("p5.48xlarge", 4);
  StreamPlan plan;
  plan.source = lustre("fsx-persistent2-1000", 9600);
  plan.demand = good(benchmark_demand(*who.defaults, "unet3d"));
  const Answer answer = good(stream(who, plan));
  const double supply = 2.0 * 4687.5 * 1048576.0, demand = 32.0 * 146.6e6 * 7.0 / 0.323;
  CHECK(answer.rate.value() == Approx(supply).epsilon(1e-3));
  CHECK(detail(answer, "utilisation") == Approx(supply / demand).epsilon(1e-3));
  CHECK(answer.time.value() == Approx(0.323 * demand / supply).epsilon(1e-3));
  CHECK(answer.breakdown.time().value() == Approx(answer.time.value()));
  REQUIRE_FALSE(answer.warnings.empty());
  CHECK(answer.warnings.back().id == "io_bound");
  plan.source.capacity = gibibytes(120000);
  const Answer fast = good(stream(who, plan));
  CHECK(detail(fast, "utilisation") == 1.0);
  CHECK(detail(fast, "stall_s") == 0.0);
  CHECK(detail(fast, "gpus_fed") > 32.0);
}

TEST_CASE("tokens are never the limit") {
  const Clients who = clients("p5.48xlarge", 256);
  StreamPlan plan;
  plan.source = lustre("fsx-persistent2-125", 2400, Access::ena);
  plan.demand = {Bytes(4.0), 400.0, Seconds(1.0), 0.0};  // 400 tokens/s of 4 bytes a GPU
  CHECK(detail(good(stream(who, plan)), "utilisation") == 1.0);
}

TEST_CASE("a cache of local disks feeds later epochs and has to hold its share") {
  const Clients who = clients("p5.48xlarge", 4);
  StreamPlan plan;
  plan.source = lustre("fsx-persistent2-125", 9600, Access::ena);
  plan.demand = good(benchmark_demand(*who.defaults, "resnet50"));
  plan.cache = store("local-nvme");
  plan.dataset = gigabytes(50000);
  const Answer answer = good(stream(who, plan));
  CHECK(answer.feasible);
  CHECK(detail(answer, "utilisation") < 1.0);
  CHECK(detail(answer, "cached_utilisation") == 1.0);
  plan.dataset = gigabytes(200000);
  const Answer large = good(stream(who, plan));
  CHECK_FALSE(large.feasible);
  CHECK(large.why_not.find("50 TB of the dataset a node") != std::string::npos);
}

TEST_CASE("a first epoch takes the longer of bytes and objects at the given rates") {
  const Clients who = clients("p5.48xlarge", 8);
  FirstEpoch plan;
  plan.file_system = lustre("fsx-persistent2-1000", 48000);
  plan.bytes = gigabytes(10000);
  plan.rates = {gigabytes_per_second(5), 1000.0};
  const Answer by_bytes = good(first_epoch(who, plan));
  CHECK(by_bytes.time.value() == Approx(2000.0).epsilon(1e-3));
  CHECK(by_bytes.limit == "import link to S3");
  plan.objects = 4e6;
  plan.computing = Seconds(1000.0);
  const Answer by_objects = good(first_epoch(who, plan));
  CHECK(by_objects.time.value() == Approx(4000.0).epsilon(1e-3));
  CHECK(detail(by_objects, "first_epoch_s") == Approx(4000.0).epsilon(1e-3));
  CHECK(detail(by_objects, "waiting_share") == Approx(0.75).epsilon(1e-3));
  CHECK(by_objects.warnings.back().id == "io_bound");
  CHECK(detail(by_objects, "later_epoch_s") < 500.0);
}

TEST_CASE("the user's import is reproduced by the catalog's rates") {
  // 345 GB in 37,000 objects in 5 to 6 minutes on 28.8 TB of PERSISTENT_1 200.
  const Answer answer = good(move_repository(clients("p5.48xlarge", 1),
                                             lustre("fsx-persistent1-200", 28800, Access::ena),
                                             Direction::read, {}, gigabytes(345), 37000));
  CHECK(answer.time.value() / 60.0 > 5.0);
  CHECK(answer.time.value() / 60.0 < 6.0);
  REQUIRE(answer.warnings.size() == 1);
  CHECK(answer.warnings[0].id == "repository_rates");
  CHECK_FALSE(
      move_repository(clients("p5.48xlarge", 1), store("s3"), Direction::read, {}, gigabytes(1), 1)
          .has_value());
}

TEST_CASE("weights sharded beforehand are read once, others by every rank") {
  const Clients who = clients("p5en.48xlarge", 4);
  LoadPlan plan;
  plan.weights = gigabytes(405);
  plan.ranks = 8;
  plan.store = lustre("fsx-persistent2-125", 38400);
  const Answer sharded = good(load_model(who, plan));
  CHECK(detail(sharded, "replicas") == 4.0);
  CHECK(sharded.bytes.value() == Approx(4 * 405e9));
  plan.presharded = false;
  const Answer whole = good(load_model(who, plan));
  CHECK(detail(whole, "delivered_bytes") == Approx(32 * 405e9));
  CHECK(whole.time.value() == Approx(8.0 * sharded.time.value()).epsilon(1e-3));
  CHECK(whole.warnings.back().id == "read_amplification");
}

TEST_CASE("replicas read weights that fit the file servers' memory once from disk") {
  LoadPlan plan;
  plan.weights = gigabytes(405);
  plan.ranks = 8;
  plan.store = lustre("fsx-persistent2-1000", 19200);  // 512 GiB of memory
  const Answer one = good(load_model(clients("p5en.48xlarge", 1), plan));
  const Answer many = good(load_model(clients("p5en.48xlarge", 16), plan));
  CHECK(one.limit == "disks of the file system");
  CHECK(many.limit == "network of the file servers");
  CHECK(many.time < 16.0 * one.time / 2.0);
}

TEST_CASE("an engine's start comes beside reading; ranks divide the GPUs; a rank's part fits") {
  const Clients who = clients("p5.48xlarge", 1);
  LoadPlan plan;
  plan.weights = gigabytes(16);
  plan.store = lustre("fsx-persistent2-1000", 4800);
  plan.engine_start = Seconds(20.0);
  const Answer answer = good(load_model(who, plan));
  CHECK(answer.breakdown.time().value() == Approx(answer.time.value()));
  CHECK(answer.time.value() > 20.0);
  plan.weights = gigabytes(810);
  CHECK_FALSE(good(load_model(who, plan)).feasible);
  plan.ranks = 3;
  CHECK_FALSE(load_model(who, plan).has_value());
}

TEST_CASE("a month costs the provisioned GiB times the price") {
  const Cost small = monthly_cost(our_catalog(), lustre("fsx-persistent2-125", 1200, Access::ena),
                                  {}, "us-east-1");
  REQUIRE(small.usd.has_value());
  CHECK(small.usd->value() == Approx(174.0));
  CHECK(monthly_cost(our_catalog(), lustre("fsx-persistent2-1000", 96000), {}, "us-east-1")
            .usd->value() == Approx(57600.0));
  // 9,600 GiB of tier 1000 for 11.16 USD an hour.
  CHECK(monthly_cost(our_catalog(), lustre("fsx-persistent2-1000", 9600), {}, "ap-northeast-1")
            .usd->value() == Approx(11.16 * 730.0).epsilon(1e-3));
  const Cost unknown = monthly_cost(our_catalog(), lustre("fsx-persistent2-125", 1200, Access::ena),
                                    {}, "eu-west-1");
  CHECK_FALSE(unknown.usd.has_value());
  CHECK(unknown.why_not == "no storage price of fsx-persistent2-125 is known in eu-west-1");
  CHECK(monthly_cost(our_catalog(), store("s3"), gibibytes(1000), "us-east-1").usd->value() ==
        Approx(23.0));
}

TEST_CASE("requests of an object store cost by the part") {
  const auto cost = [](const char* name, bool writes, Bytes bytes) {
    return request_cost(our_catalog(), store(name), writes, bytes, "us-east-1").usd->value();
  };
  CHECK(cost("s3", true, gigabytes(8)) == Approx(0.005));
  CHECK(cost("s3", false, gigabytes(8)) == Approx(0.0004));
  CHECK(cost("s3-express", true, gibibytes(1)) ==
        Approx(0.0032 + 0.00113 * 135.0 / 1000.0).epsilon(1e-6));
}

TEST_CASE("sizing finds the smallest step that meets a target, and one less does not") {
  const Clients who = clients("p5.48xlarge", 64);
  SizingQuestion question;
  question.target = Seconds(30.0);
  question.region = "us-east-1";
  question.time = [&](const Mount& mount) -> Result<Timed> {
    CheckpointPlan plan;
    plan.bytes = Bytes(14.0 * 70.6e9);
    plan.store = mount;
    const auto t = checkpoint(who, plan);
    if (!t) return fail(t.error());
    return Timed{t->stall, t->save_limit, t->save_next, t->fits};
  };
  const std::vector<SizingRow> rows = good(size_file_system(our_catalog(), question));
  REQUIRE(rows.size() == 5);  // four tiers and Intelligent-Tiering
  CHECK(rows[0].meets);
  // 988.4 GB in 30 s: 32.95 GB/s, 6.7 steps of 4.915 GB/s.
  for (const SizingRow& row : rows) {
    INFO(row.mount.service->id);
    CHECK(row.meets);
    CHECK(row.timed.time <= question.target);
    if (row.mount.capacity.value() > 0.0) CHECK(row.steps == 7);
  }
  CHECK(rows[0].mount.service->id == "fsx-persistent2-1000");
  CHECK(rows[0].month.usd->value() == Approx(7 * 4800 * 0.6));
  Mount less = rows[0].mount;
  less.capacity -= gibibytes(4800);
  CHECK(good(question.time(less)).time > question.target);
}

TEST_CASE("sizing says what binds when no file system helps") {
  const Clients who = clients("p5.48xlarge", 1);
  SizingQuestion question;
  question.target = Seconds(1.0);
  question.access = Access::ena;
  question.region = "us-east-1";
  question.time = [&](const Mount& mount) -> Result<Timed> {
    const auto found = path(who, mount, {});
    if (!found) return fail(found.error());
    const Transfer t = run_alone({"read", *found, 1, gigabytes(400)});
    return Timed{t.time, t.limit, t.next, true};
  };
  const std::vector<SizingRow> rows = good(size_file_system(our_catalog(), question));
  REQUIRE_FALSE(rows.empty());
  CHECK_FALSE(rows[0].meets);
  CHECK(rows[0].timed.limit == "Lustre client over ENA");
  question.target = Seconds(0.0);
  CHECK_FALSE(size_file_system(our_catalog(), question).has_value());
}

}  // namespace flowplan::storage::operations_test
