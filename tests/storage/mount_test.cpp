#include "flowplan/storage/mount.hpp"

#include "fixture.hpp"

namespace flowplan::storage::mount_test {

namespace {

std::string said(const Mount& mount, const Clients& who) {
  return render(check(mount, who));
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("rates of a file system grow with its TiB, MBps of the guide read as MiB/s") {
  // 1,200 GiB at 200: AWS's own table says 234 MBps.
  const Mount small = lustre("fsx-scratch2", 1200, Access::ena);
  CHECK(disk_read_rate(small).value() / 1048576.0 == Approx(234.375));
  CHECK(disk_write_rate(small).value() / 1048576.0 == Approx(117.1875));
  // An EFA step of every tier: 4687.5 MiB/s of disk, 12.0 to 12.2 GB/s of network in decimal GBps.
  const auto step = [](const char* name, double gib) {
    const Mount one = lustre(name, gib);
    CHECK(disk_read_rate(one).value() / 1048576.0 == Approx(4687.5));
    CHECK(network_rate(one).value() / 1048576.0 >= 11900.0);
    CHECK(network_rate(one).value() / 1048576.0 <= 12200.0);
    CHECK(targets(one) == 1);
  };
  step("fsx-persistent2-125", 38400);
  step("fsx-persistent2-250", 19200);
  step("fsx-persistent2-500", 9600);
  step("fsx-persistent2-1000", 4800);
}

TEST_CASE("burst rates hold where there are some") {
  Mount mount = lustre("fsx-persistent2-125", 2400, Access::ena);
  mount.burst = true;
  const double tib = 2400.0 / 1024.0;
  CHECK(network_rate(mount).value() / 1048576.0 == Approx(tib * 1300.0));
  CHECK(disk_read_rate(mount).value() / 1048576.0 == Approx(tib * 500.0));
  mount.service = &service("fsx-persistent2-1000");
  CHECK(disk_read_rate(mount).value() / 1048576.0 == Approx(tib * 1000.0));
}

TEST_CASE("memory of the file servers is the working set that needs no disk") {
  CHECK(server_cache(lustre("fsx-persistent2-1000", 96000)).value() / 1073741824.0 ==
        Approx(93.75 * 27.3));
  CHECK(server_cache(store("s3")).value() == 0.0);
}

TEST_CASE("a capacity that is not on a step is refused with the nearest that are") {
  const Clients who = clients("p5.48xlarge", 2);
  CHECK(said(lustre("fsx-persistent2-125", 1200, Access::ena), who).empty());
  CHECK(said(lustre("fsx-persistent2-125", 4800, Access::ena), who).empty());
  const std::string off = said(lustre("fsx-persistent2-125", 3600, Access::ena), who);
  CHECK(has(off, "FP063"));
  CHECK(has(off, "2400 GiB and 4800 GiB"));
  CHECK(has(said(lustre("fsx-persistent2-125", 100, Access::ena), who), "1200 GiB"));
  // Over EFA the steps are larger.
  const std::string efa = said(lustre("fsx-persistent2-250", 24000), who);
  CHECK(has(efa, "step of 19200 GiB"));
  CHECK(has(efa, "19200 GiB and 38400 GiB"));
  CHECK(said(lustre("fsx-persistent2-250", 38400), who).empty());
  CHECK(has(said(lustre("fsx-hdd-12", 7000, Access::ena), who), "6000 GiB and 12000 GiB"));
  CHECK(has(said(lustre("fsx-hdd-40", 2000, Access::ena), who), "1800 GiB and 3600 GiB"));
}

TEST_CASE("EFA is refused where the tier or the instance has none") {
  const Clients p5 = clients("p5.48xlarge", 2);
  CHECK(has(said(lustre("fsx-scratch2", 4800), p5), "fsx-scratch2 has no EFA"));
  CHECK(has(said(lustre("fsx-persistent1-200", 4800), p5), "has no EFA"));
  Mount s3 = store("s3");
  s3.access = Access::efa;
  CHECK(has(said(s3, p5), "s3 is not reached over EFA"));
  CHECK(has(said(lustre("fsx-persistent2-1000", 4800), clients("dgx-h100", 2)),
            "no EFA to reach a file system"));
}

TEST_CASE("Intelligent-Tiering is sized by throughput in steps of 4000 MiB/s") {
  const Clients who = clients("p5.48xlarge", 2);
  Mount mount = store("fsx-intelligent-tiering");
  mount.throughput = mebibytes(8000) / Seconds(1.0);
  CHECK(said(mount, who).empty());
  CHECK(disk_read_rate(mount) == mount.throughput);
  mount.throughput = mebibytes(6000) / Seconds(1.0);
  CHECK(has(said(mount, who), "4000 or 8000 MiB/s"));
  mount.throughput = mebibytes(4e6) / Seconds(1.0);
  CHECK(has(said(mount, who), "at most 2000000 MiB/s"));
  mount = lustre("fsx-intelligent-tiering", 4800);
  CHECK(has(said(mount, who), "no provisioned capacity"));
}

TEST_CASE("metadata IOPS come in steps, or with the capacity") {
  const Clients who = clients("p5.48xlarge", 2);
  Mount mount = lustre("fsx-persistent2-1000", 4800);
  mount.metadata_iops = 24000;
  CHECK(said(mount, who).empty());
  CHECK(metadata_rate(mount, *who.defaults) == 48000);  // two opens for each
  mount.metadata_iops = 5000;
  CHECK(has(said(mount, who), "1500, 3000, 6000, 12000, then multiples of 12000 up to 192000"));
  Mount scratch = lustre("fsx-scratch2", 4800, Access::ena);
  scratch.metadata_iops = 6000;
  CHECK(has(said(scratch, who), "cannot be chosen"));
  const auto automatic = [&](double gib) {
    return metadata_rate(lustre("fsx-persistent2-1000", gib), *who.defaults) / 2.0;
  };
  CHECK(automatic(1200) == 1500);
  CHECK(automatic(2400) == 3000);
  CHECK(automatic(9600) == 6000);
  CHECK(automatic(43200) == 12000);
  CHECK(automatic(48000) == 24000);
  CHECK(automatic(96000) == 48000);
}

TEST_CASE("a size is refused where there is none to choose") {
  const Clients who = clients("p5.48xlarge", 2);
  Mount s3 = store("s3");
  s3.capacity = gibibytes(100);
  CHECK(has(said(s3, who), "no capacity to choose"));
  CHECK(has(said(store("local-nvme"), clients("dgx-h100", 1)), "no local disks"));
}

TEST_CASE("TiB are read strictly, or as AWS counts where only that is on a step") {
  const auto strict = parse_capacity("93.75TiB", service("fsx-persistent2-1000"), Access::efa);
  REQUIRE(strict.has_value());
  CHECK(strict->capacity == gibibytes(96000));
  CHECK(strict->read_as.empty());
  const auto aws = parse_capacity("96TiB", service("fsx-persistent2-1000"), Access::efa);
  REQUIRE(aws.has_value());
  CHECK(aws->capacity == gibibytes(96000));
  CHECK(has(aws->read_as, "96000 GiB"));
  const auto neither = parse_capacity("95TiB", service("fsx-persistent2-1000"), Access::efa);
  REQUIRE(neither.has_value());
  CHECK(neither->capacity == gibibytes(95 * 1024));
  CHECK_FALSE(parse_capacity("96", service("s3"), Access::ena).has_value());
}

TEST_CASE("files are striped by their size") {
  const Clients who = clients("p5.48xlarge", 1);
  CHECK(default_stripes(mebibytes(100), *who.defaults) == 1);
  CHECK(default_stripes(mebibytes(101), *who.defaults) == 8);
  CHECK(default_stripes(gibibytes(50), *who.defaults) == 16);
  CHECK(default_stripes(gibibytes(500), *who.defaults) == 32);
}

TEST_CASE("copies between host and GPU go at what measured copies reach") {
  // PCIe 5 x16: 0.87 of 63.0 GB/s, measured 55.06; NVLink-C2C: 0.84 of 450, measured 377.
  CHECK(host_copy_rate(clients("p5en.48xlarge", 1)).value() == Approx(55.06e9).epsilon(0.01));
  CHECK(host_copy_rate(clients("u-p6e-gb200x72", 1)).value() == Approx(377e9).epsilon(0.01));
  CHECK(host_copy_rate(clients("p5.48xlarge", 1)) < host_copy_rate(clients("p5en.48xlarge", 1)));
}

TEST_CASE("an UltraServer's clients are its member instances") {
  const Clients who = clients("u-p6e-gb200x72", 2);
  CHECK(who.nodes == 36);
  CHECK(who.gpus_per_node == 4);
  CHECK(who.node->id == "p6e-gb200.36xlarge");
  CHECK(who.efa.value() == Approx(200e9));
}

}  // namespace flowplan::storage::mount_test
