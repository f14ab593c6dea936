#include "flowplan/catalog/hardware.hpp"

#include <algorithm>
#include <cmath>

#include "support.hpp"

namespace flowplan::catalog::hardware_test {

using model::Precision;

TEST_CASE("3,200 Gbps of EFA are 400 GB/s, 50 for each of 8 GPUs") {
  const Instance& p5 = instance("p5");
  REQUIRE(p5.efa_gbps_total.value == 3200);
  CHECK((8 * p5.efa_per_gpu()) == gigabytes_per_second(400));
  CHECK(p5.efa_per_gpu() == gigabytes_per_second(50));
}

TEST_CASE("NVLink is stored in one direction: half of what data sheets print") {
  CHECK(gpu("A100-80GB").nvlink_gbytes_per_s.value == 300);
  CHECK(gpu("H100").nvlink_gbytes_per_s.value == 450);
  CHECK(gpu("H200").nvlink_gbytes_per_s.value == 450);
  CHECK(gpu("B200").nvlink_gbytes_per_s.value == 900);
  CHECK(gpu("GB200").nvlink_gbytes_per_s.value == 900);
  CHECK(gpu("H800").nvlink_gbytes_per_s.value == 200);
}

TEST_CASE("a p6e-gb200 instance uses 1,600 of the 3,200 Gbps of its NICs") {
  const Instance& member = instance("p6e-gb200.36xlarge");
  CHECK(member.efa_gbps_total.value == 1600);
  CHECK_THAT(member.efa_gbps_total.source.note, Catch::Contains("3200"));
  for (const char* name : {"u-p6e-gb200x36", "u-p6e-gb200x72"}) {
    const Instance& ultraserver = instance(name);
    CHECK(ultraserver.efa_gbps_total.value == 1600.0 * ultraserver.instances);
    CHECK(ultraserver.gpus == 4 * ultraserver.instances);
    CHECK(ultraserver.nvlink_domain_gpus == ultraserver.gpus);
    CHECK(ultraserver.member == member.id);
  }
}

TEST_CASE("GPU memory is what the driver reports and less than what is marketed") {
  CHECK(instance("p5").hbm_per_gpu() == mebibytes(81559));
  CHECK(instance("p6-b200").hbm_per_gpu() == mebibytes(183359));
  CHECK(instance("p6-b300").hbm_per_gpu() == mebibytes(275040));
  CHECK(instance("u-p6e-gb200x72").hbm_per_gpu() == mebibytes(189471));
  for (const Instance& i : our_catalog().instances()) {
    const double marketed_gib = our_catalog().gpu_of(i).hbm_gb.value;
    INFO(i.id);
    REQUIRE(i.hbm_reported_mib_per_gpu.known);
    // Data sheets of older parts say GB and mean GiB, so GiB bounds all of them.
    CHECK(i.hbm_per_gpu() <= gibibytes(marketed_gib));
    CHECK(i.hbm_per_gpu() >= 0.93 * gigabytes(marketed_gib));
  }
}

TEST_CASE("FP8 is twice BF16 dense, never the sparse figure") {
  constexpr double rounding = 2e-3;  // data sheets print 989 and 1979
  for (const Gpu& g : our_catalog().gpus()) {
    INFO(g.id);
    const auto bf16 = g.peak(Precision::bf16);
    REQUIRE(bf16.has_value());
    if (const auto fp8 = g.peak(Precision::fp8)) {
      CHECK(*fp8 / *bf16 == Approx(2.0).epsilon(rounding));
    } else {
      CHECK(g.generation == GpuGeneration::ampere);
    }
    CHECK(g.peak(Precision::fp16) == bf16);
  }
}

TEST_CASE("a precision that the GPU does not have has no peak") {
  CHECK_FALSE(gpu("A100-80GB").peak(Precision::fp8).has_value());
  CHECK_FALSE(gpu("A100-80GB").peak(Precision::fp8_block).has_value());
  CHECK_FALSE(gpu("H100").peak(Precision::nvfp4).has_value());
  CHECK_FALSE(gpu("H100").peak(Precision::mxfp8).has_value());
  CHECK(gpu("H100").peak(Precision::fp8_block) == gpu("H100").peak(Precision::fp8));
  CHECK(gpu("B200").peak(Precision::mxfp8) == gpu("B200").peak(Precision::fp8));
  CHECK(gpu("B200").peak(Precision::nvfp4) == teraflops_per_second(9000));
}

TEST_CASE("p6-b200 and p6-b300 list four network nodes, the others three") {
  CHECK(instance("p6-b200").network_nodes.value == 4);
  CHECK(instance("p6-b300").network_nodes.value == 4);
  for (const char* name : {"p4d", "p4de", "p5", "p5e", "p5en"}) {
    CHECK(instance(name).network_nodes.value == 3);
  }
}

TEST_CASE("in-switch reduction starts with Hopper") {
  CHECK_FALSE(instance("p4de").nvls);
  CHECK_FALSE(instance("p5.4xlarge").nvls);
  CHECK(instance("p5").nvls);
  CHECK(instance("u-p6e-gb200x72").nvls);
}

TEST_CASE("a p5.4xlarge is one GPU without an NVLink peer") {
  const Instance& small = instance("p5.4xlarge");
  CHECK(small.gpus == 1);
  CHECK(small.nvlink_domain_gpus == 1);
  CHECK(small.efa_per_gpu() == gigabits_per_second(100));
}

TEST_CASE("EFA generations follow the instance family") {
  CHECK(instance("p4d").efa_version == 1);
  CHECK(instance("p5").efa_version == 2);
  CHECK(instance("p5e").efa_version == 2);
  CHECK(instance("p5en").efa_version == 3);
  CHECK(instance("p6-b200").efa_version == 4);
  CHECK(instance("dgx-h100").efa_version == 0);
}

TEST_CASE("every figure of the catalog has a source and a confidence") {
  const auto check = [](const std::string& id, const std::vector<Fact>& facts) {
    for (const Fact& fact : facts) {
      INFO(id << " " << fact.name);
      CHECK_FALSE(fact.figure.source.text.empty());
      CHECK_FALSE(fact.figure.source.confidence.empty());
    }
  };
  for (const Gpu& g : our_catalog().gpus())
    check(g.id, g.facts);
  for (const Instance& i : our_catalog().instances())
    check(i.id, i.facts);
  const auto sets = our_catalog().all_constants();
  REQUIRE(sets);
  for (const Constants* c : *sets) {
    for (const Constants::Entry& e : c->entries())
      CHECK_FALSE(e.source.text.empty());
  }
}

TEST_CASE("totals of an instance agree with its parts") {
  for (const Instance& i : our_catalog().instances()) {
    INFO(i.id);
    CHECK((i.gpus % i.nvlink_domain_gpus == 0 || i.nvlink_domain_gpus % i.gpus == 0));
    if (const Fact* per_gpu = find(i.facts, "efa_gbps_per_gpu"); per_gpu && i.efa_gbps_total) {
      CHECK(per_gpu->figure.value * i.gpus == Approx(i.efa_gbps_total.value));
    }
    const Fact* devices = find(i.facts, "nvme_devices");
    const Fact* each = find(i.facts, "nvme_device_gb");
    if (devices && each) {
      CHECK(devices->figure.value * each->figure.value == Approx(i.nvme_total_gb.value));
    }
  }
}

TEST_CASE("constants sets that instances and GPUs name exist") {
  for (const Instance& i : our_catalog().instances()) {
    INFO(i.id << " " << i.collective_profile);
    CHECK(our_catalog().constants(i.collective_profile).has_value());
  }
  for (const Gpu& g : our_catalog().gpus()) {
    INFO(g.id << " " << g.calibration);
    CHECK(our_catalog().constants(g.calibration).has_value());
  }
}

TEST_CASE("instance types sold in UltraServers only name ones that exist") {
  for (const Instance& i : our_catalog().instances()) {
    for (const std::string& ultraserver : i.only_in)
      CHECK(instance(ultraserver).member == i.id);
  }
}

}  // namespace flowplan::catalog::hardware_test
