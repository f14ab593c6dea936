#include "flowplan/storage/path.hpp"

#include <algorithm>
#include <cmath>
#include <random>

#include "fixture.hpp"

namespace flowplan::storage::path_test {

TEST_CASE("one p5en reads what 96 TiB at 1000 have: 94 GiB/s were measured") {
  const Clients who = clients("p5en.48xlarge", 1);
  const Transfer t =
      moved(who, lustre("fsx-persistent2-1000", 96000, Access::gds), {}, gigabytes(10000));
  CHECK(t.limit == "disks of the file system");
  CHECK(t.next == "Lustre client over EFA with GDS");
  // 93.75 x 2^40 byte x 1000 MiB/s; AWS's 96 TiB at face value would be 93.75 GiB/s.
  CHECK(t.rate.value() / 1073741824.0 == Approx(91.55).epsilon(0.001));
  CHECK(t.rate.value() / 1073741824.0 == Approx(94.0).epsilon(0.03));
}

TEST_CASE("405B in FP8 loads in about 6 s with GPUDirect Storage, in 10 to 20 minutes by mmap") {
  const Clients who = clients("p5en.48xlarge", 1);
  const Mount fs = lustre("fsx-persistent2-1000", 96000, Access::gds);
  Pattern direct;
  direct.loader = loader("gds-streamer");
  CHECK(moved(who, fs, direct, gigabytes(400)).time.value() == Approx(6.0).epsilon(0.02));
  Pattern mmap;
  mmap.loader = loader("safetensors-mmap");
  mmap.amplification = 8.0;  // every rank reads the whole
  const double minutes =
      moved(who, lustre("fsx-persistent2-1000", 96000), mmap, gigabytes(400)).time.value() / 60.0;
  CHECK(minutes > 10.0);
  CHECK(minutes < 25.0);
}

TEST_CASE("a prefix of S3 gives 44 GB/s of GET and 28 GB/s of PUT with 8 MB parts") {
  const Clients who = clients("p6-b200.48xlarge", 64);
  const Transfer get = moved(who, store("s3"), {}, gigabytes(10000));
  CHECK(get.limit == "GET requests of the store");
  CHECK(get.rate.value() == Approx(44e9).epsilon(1e-4));
  const Transfer put = moved(who, store("s3"), write_pattern(), gigabytes(10000));
  CHECK(put.limit == "PUT requests of the store");
  CHECK(put.rate.value() == Approx(28e9).epsilon(1e-4));
  Mount many = store("s3");
  many.prefixes = 4;
  CHECK(moved(who, many, {}, gigabytes(10000)).rate.value() == Approx(176e9).epsilon(1e-4));
}

TEST_CASE("connections to S3 go at the rates measured by their number") {
  const Clients who = clients("p5.48xlarge", 1);
  const auto rate = [&](int connections) {
    Mount s3 = store("s3");
    s3.connections = connections;
    return moved(who, s3, {}, gigabytes(10000)).rate.value() / 1e6;
  };
  CHECK(rate(4) == Approx(4 * 133).epsilon(1e-3));
  CHECK(rate(16) == Approx(16 * 111).epsilon(1e-3));
  CHECK(rate(32) == Approx(32 * 96).epsilon(1e-3));
  CHECK(rate(10) == Approx(10 * 122).epsilon(1e-3));
  CHECK(rate(64) == Approx(64 * 96).epsilon(1e-3));
}

TEST_CASE("small objects are bound by requests or by their latency, not by bytes") {
  const Clients who = clients("p5.48xlarge", 1);
  Pattern small;
  small.file = Bytes(114660);  // an image of ResNet-50
  // 64 connections, a request as long as a part of 8 MB was seen to take: 83.3 ms.
  const Transfer one = moved(who, store("s3"), small, gigabytes(1000));
  CHECK(one.limit == "connections of a node");
  CHECK(one.rate.value() == Approx(64.0 * 114660.0 / (8.0 / 96.0)).epsilon(1e-3));
  const Transfer many = moved(clients("p5.48xlarge", 64), store("s3"), small, gigabytes(1000));
  CHECK(many.limit == "GET requests of the store");
  CHECK(many.rate.value() == Approx(5500.0 * 114660.0).epsilon(1e-3));
  // Express answers in milliseconds.
  CHECK(moved(who, store("s3-express"), small, gigabytes(1000)).rate > 10.0 * one.rate);
}

TEST_CASE(
    "S3 goes over ENA, FSx over EFA shares the devices of collectives, over ENA it does not") {
  const Clients who = clients("p5.48xlarge", 4);
  const auto uses = [&](const Mount& mount, const std::string& id) {
    const auto found = path(who, mount, {});
    REQUIRE(found.has_value());
    return std::any_of(found->limits.begin(), found->limits.end(),
                       [&](const Limit& l) { return l.id == id; });
  };
  CHECK(uses(lustre("fsx-persistent2-1000", 4800), "node.efa_read"));
  CHECK_FALSE(uses(lustre("fsx-persistent2-1000", 4800), "node.ena_read"));
  CHECK(uses(lustre("fsx-persistent2-1000", 4800, Access::ena), "node.ena_read"));
  CHECK_FALSE(uses(lustre("fsx-persistent2-1000", 4800, Access::ena), "node.efa_read"));
  CHECK(uses(store("s3"), "node.ena_read"));
  CHECK_FALSE(uses(store("s3"), "node.efa_read"));
}

TEST_CASE("a client reaches 100, 700 and 1200 Gbit/s over ENA, EFA and EFA with GDS") {
  const Clients who = clients("p6-b300.48xlarge", 1);
  const auto rate = [&](Access access) {
    return moved(who, lustre("fsx-persistent2-1000", 960000, access), {}, gigabytes(100000))
               .rate.value() *
           8e-9;
  };
  CHECK(rate(Access::ena) == Approx(100).epsilon(1e-3));
  CHECK(rate(Access::efa) == Approx(700).epsilon(1e-3));
  CHECK(rate(Access::gds) == Approx(1200).epsilon(1e-3));
}

TEST_CASE("a file of one stripe is on one target") {
  const Clients who = clients("p5.48xlarge", 8);
  Pattern one;
  one.files = 1;
  one.file = gibibytes(20);
  one.stripes = 1;
  const Transfer t = moved(who, lustre("fsx-persistent2-1000", 96000), one, gigabytes(1000));
  CHECK(t.limit == "targets that the files are on");
  CHECK(t.rate.value() / 1048576.0 == Approx(4687.5).epsilon(1e-3));
  // 16 stripes of 20 targets.
  one.stripes = 0;
  CHECK(moved(who, lustre("fsx-persistent2-1000", 96000), one, gigabytes(1000)).rate.value() /
            1048576.0 ==
        Approx(16 * 4687.5).epsilon(1e-3));
}

TEST_CASE("reads out of the file servers' memory are bound by their network") {
  const Clients who = clients("p5.48xlarge", 64);
  Pattern cached;
  cached.disk_share = 0.0;
  const Transfer t = moved(who, lustre("fsx-persistent2-1000", 48000), cached, gigabytes(100));
  CHECK(t.limit == "network of the file servers");
  CHECK(t.rate.value() / 1048576.0 == Approx(46.875 * 2600).epsilon(1e-2));
}

TEST_CASE("SCRATCH_2 writes at half its reading rate") {
  const Clients who = clients("p5.48xlarge", 4);
  const Mount scratch = lustre("fsx-scratch2", 24000, Access::ena);
  CHECK(moved(who, scratch, {}, gigabytes(1000)).rate.value() ==
        Approx(2.0 * moved(who, scratch, write_pattern(), gigabytes(1000)).rate.value())
            .epsilon(1e-3));
}

TEST_CASE("volumes, EFS and local disks go at what was measured or is listed") {
  const Clients who = clients("p5en.48xlarge", 2);
  const auto node_rate = [&](const char* name) {
    return moved(who, store(name), {}, gigabytes(10000)).rate.value() / 2.0;
  };
  CHECK(node_rate("ebs-gp3") / 1048576.0 == Approx(998).epsilon(1e-3));
  CHECK(node_rate("ebs-io2") / 1048576.0 == Approx(1880).epsilon(1e-3));
  // 894 GiB by two nodes in about 43 minutes.
  CHECK(moved(who, store("efs-elastic"), {}, gibibytes(447)).time.value() / 60.0 ==
        Approx(43.0).epsilon(0.02));
  CHECK(node_rate("local-nvme") == Approx(18.02e9).epsilon(1e-3));
  const auto found = path(who, store("local-nvme"), {});
  REQUIRE(found->warnings.size() == 1);
  CHECK(found->warnings[0].id == "nvme_assumed");
}

TEST_CASE("nobody is told a limit that is not known") {
  const auto found = path(clients("p5en.48xlarge", 1), store("s3"), {});
  REQUIRE(found.has_value());
  REQUIRE(found->warnings.size() == 1);
  CHECK(found->warnings[0].id == "ena_unknown");
}

TEST_CASE("loaders hold back what the storage could give") {
  const Clients who = clients("p5.48xlarge", 1);
  Pattern pattern;
  pattern.loader = loader("mountpoint");
  Mount s3 = store("s3");
  s3.connections = 500;
  CHECK(moved(who, s3, pattern, gigabytes(1000)).rate.value() == Approx(4.3e9).epsilon(1e-3));
  pattern.loader = loader("torch-save");
  pattern.direction = Direction::write;
  // 8B in one process: 112 GB in 394 s.
  Clients single = who;
  single.gpus_per_node = 1;
  CHECK(moved(single, lustre("fsx-persistent2-1000", 4800), pattern, gigabytes(112)).time.value() ==
        Approx(400).epsilon(0.02));
}

TEST_CASE("more clients never move less in sum, and nothing is above its links") {
  std::mt19937 random(7);
  const char* instances[] = {"p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge", "p6-b300.48xlarge"};
  const char* services[] = {"fsx-persistent2-125", "fsx-persistent2-1000", "fsx-scratch2", "s3",
                            "s3-express",          "local-nvme",           "ebs-gp3"};
  for (int round = 0; round < 200; ++round) {
    const std::string instance = instances[random() % 4];
    const std::string name = services[random() % 7];
    Mount mount = store(name);
    if (mount.service->kind == catalog::StorageKind::lustre) {
      const bool efa = mount.service->get("efa", 0.0) != 0.0 && random() % 2 == 0;
      mount.access = efa ? Access::efa : Access::ena;
      mount.capacity = gibibytes((efa ? 38400.0 : 2400.0) * static_cast<double>(1 + random() % 20));
    }
    Pattern pattern;
    pattern.direction = random() % 2 == 0 ? Direction::read : Direction::write;
    if (random() % 2 == 0) pattern.file = Bytes(std::pow(10.0, 4 + random() % 6));
    double before = 0.0;
    for (const int nodes : {1, 3, 16, 128}) {
      const Transfer t = moved(clients(instance, nodes), mount, pattern, gigabytes(1000));
      INFO(instance << " " << name << " " << nodes);
      CHECK(t.rate.value() >= before * (1.0 - 1e-9));
      before = t.rate.value();
      for (const LimitUse& use : t.limits)
        CHECK(t.rate.value() <= use.ceiling.value() * (1.0 + 1e-9));
      CHECK(t.next_time <= t.time * (1.0 + 1e-9));
      const bool full = std::any_of(t.limits.begin(), t.limits.end(), [&](const LimitUse& use) {
        return use.limit.name == t.limit && use.utilisation > 1.0 - 1e-9;
      });
      CHECK(full);
    }
  }
}

}  // namespace flowplan::storage::path_test
