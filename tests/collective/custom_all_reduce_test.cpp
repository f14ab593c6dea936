#include "flowplan/collective/custom_all_reduce.hpp"

#include "fixture.hpp"

namespace flowplan::collective::custom_all_reduce_test {

namespace {

CustomAllReduceLaw law_of(std::string_view gpu) {
  const auto found = shipped().gpu(gpu);
  if (!found) FAIL(render(found.error()));
  auto law = read_custom_all_reduce(shipped(), **found);
  if (!law) FAIL(render(law.error()));
  return *law;
}

/// Round numbers: one-shot 2 us + 1 us a doubling + bytes at 100 GB/s; two-shot 20 us, 100 GB/s.
CustomAllReduceLaw round_law() {
  CustomAllReduceLaw law;
  law.launch_us = 2.0;
  law.launch_doubling_us = 1.0;
  law.one_shot_rate = 100e9;
  law.two_shot_us = 20.0;
  law.two_shot_rate = 100e9;
  law.nccl_saving_us = 1.0;
  law.band = 0.1;
  return law;
}

const Seconds slow_nccl = milliseconds(1000);

}  // namespace

TEST_CASE("one-shot moves n - 1 vectors, two-shot 2(n-1)/n of one") {
  const auto small = custom_all_reduce(round_law(), 8, Bytes(1e5), slow_nccl);
  CHECK(small.stage == AllReduceStage::one_shot);
  CHECK(us(small.time) == Approx(2.0 + 3.0 + 7.0));  // 700 kB at 100 GB/s
  const auto large = custom_all_reduce(round_law(), 8, Bytes(1e7), slow_nccl);
  CHECK(large.stage == AllReduceStage::two_shot);
  CHECK(us(large.time) == Approx(20.0 + 175.0));
  const auto fallen_back = custom_all_reduce(round_law(), 8, Bytes(1e7), microseconds(101));
  CHECK(fallen_back.stage == AllReduceStage::nccl);
  CHECK(us(fallen_back.time) == Approx(100.0));
}

TEST_CASE("two GPUs gain nothing from the second shot but its launch") {
  // 2(n-1)/n = n-1 at n = 2: the same bytes.
  for (const double bytes : {1e4, 1e6, 1e8})
    CHECK(custom_all_reduce(round_law(), 2, Bytes(bytes), slow_nccl).stage ==
          AllReduceStage::one_shot);
}

TEST_CASE("a workspace ends the engine's own kernels") {
  CustomAllReduceLaw law = round_law();
  law.most_bytes = 1e5;
  CHECK(custom_all_reduce(law, 4, Bytes(1e5), slow_nccl).stage == AllReduceStage::one_shot);
  CHECK(custom_all_reduce(law, 4, Bytes(1.1e5), slow_nccl).stage == AllReduceStage::nccl);
}

TEST_CASE("rates carry over as fractions of the NVLink port") {
  // H800: 200 GB/s a direction against the 450 that the Hopper rates were seen on.
  const auto full = law_of("H100-SXM-80GB"), cut = law_of("H800-SXM-80GB");
  CHECK(cut.one_shot_rate / full.one_shot_rate == Approx(200.0 / 450.0));
  CHECK(cut.launch_us == full.launch_us);
}

TEST_CASE("kernels never outrun a port and grow with the size") {
  for (const std::string_view gpu : {"A100-80GB", "H100-SXM-80GB", "B200-HGX"}) {
    const auto law = law_of(gpu);
    const double line = (*shipped().gpu(gpu))->nvlink_gbytes_per_s.value * 1e9;
    for (int ranks = 2; ranks <= 8; ranks *= 2) {
      Seconds before{};
      for (double size = 16; size < 2e9; size *= 1.5) {
        const auto answer = custom_all_reduce(law, ranks, Bytes(size), Seconds(1e3));
        if (answer.stage == AllReduceStage::nccl) continue;
        const double moved = answer.stage == AllReduceStage::one_shot
                                 ? (ranks - 1.0) * size
                                 : 2.0 * (ranks - 1.0) / ranks * size;
        CHECK(moved / answer.time.value() <= line);
        CHECK(answer.time >= before);
        before = answer.time;
      }
    }
  }
}

TEST_CASE("a group of several NVLink domains is refused") {
  const auto cluster = cluster_of("p5.48xlarge", 2);
  const auto inside = custom_all_reduce(shipped(), cluster, contiguous_group(8), kibibytes(64));
  REQUIRE(inside);
  CHECK(inside->stage != AllReduceStage::nccl);
  const auto across = custom_all_reduce(shipped(), cluster, contiguous_group(16), mib(1));
  REQUIRE_FALSE(across);
  CHECK(across.error().front().code == Code::bad_placement);
}

}  // namespace flowplan::collective::custom_all_reduce_test
