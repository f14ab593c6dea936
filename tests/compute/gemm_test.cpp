#include "flowplan/compute/gemm.hpp"

#include <cmath>
#include <random>
#include <string>

#include <catch2/catch.hpp>

namespace gemm_test {

using namespace flowplan;
using namespace flowplan::compute;

namespace {

/// 100 units at 100 TFLOP/s together, HBM out of the way, no start-up.
GemmRates plain_rates() {
  GemmRates rates;
  rates.peak = FlopsPerSecond(1e14);
  rates.hbm = BytesPerSecond(1e18);
  rates.units = 100;
  return rates;
}

GemmTiles one_tile() {
  return {{128}, {128}, {1.0}, {1}};
}

GemmTiles all_tiles() {
  return {{128, 256, 128, 64}, {256, 128, 128, 64}, {1.0, 1.0, 0.93, 0.65}, {1, 2, 4, 8, 16}};
}

}  // namespace

TEST_CASE("a GEMM that fills its tiles runs at the peak") {
  // 2 * 1280^3 = 4.194304e9 FLOP at 1e14 FLOP/s
  const KernelTime time = gemm_time({1280, 1280, 1280}, plain_rates(), one_tile());
  CHECK(time.time.value() == Approx(41.94304e-6));
  CHECK(std::string(time.limit) == "tensor cores");
}

TEST_CASE("rows beyond a tile cost a whole tile") {
  // 1281 rows are eleven tiles of 128 where 1280 are ten.
  const Seconds ten = gemm_time({1280, 1280, 1280}, plain_rates(), one_tile()).time;
  const Seconds eleven = gemm_time({1281, 1280, 1280}, plain_rates(), one_tile()).time;
  CHECK(eleven / ten == Approx(1.1));
}

TEST_CASE("whole waves: 110 tiles on 100 units take two") {
  GemmRates rates = plain_rates();
  rates.wave_share = 1.0;
  const Seconds hundred = gemm_time({1280, 1280, 1280}, rates, one_tile()).time;
  const Seconds more = gemm_time({1408, 1280, 1280}, rates, one_tile()).time;
  CHECK(more / hundred == Approx(2.0));
}

TEST_CASE("a thin GEMM is bound by reading its weights") {
  // Operands 2 * (16 * 4096 + 4096 * 4096) and result 2 * 16 * 4096 bytes: 33.816576 MB at 1 TB/s.
  GemmRates rates = plain_rates();
  rates.hbm = BytesPerSecond(1e12);
  rates.peak = FlopsPerSecond(1e18);
  const KernelTime time = gemm_time({16, 4096, 4096}, rates, one_tile());
  CHECK(time.time.value() == Approx(33.816576e-6));
  CHECK(std::string(time.limit) == "HBM");
  CHECK(std::string(time.next) == "tensor cores");
}

TEST_CASE("equal arithmetic and HBM times join by the p-norm, launch is added") {
  GemmRates rates = plain_rates();
  const double arithmetic = 41.94304e-6;
  const double bytes = 2.0 * 3.0 * 1280.0 * 1280.0;
  rates.hbm = BytesPerSecond(bytes / arithmetic);
  rates.launch = microseconds(3);
  const Seconds time = gemm_time({1280, 1280, 1280}, rates, one_tile()).time;
  CHECK(time.value() == Approx(arithmetic * std::pow(2.0, 0.25) + 3e-6));
}

TEST_CASE("the start-up of a tile counts as depth") {
  GemmRates rates = plain_rates();
  rates.extra_depth = 128;
  const Seconds time = gemm_time({1280, 1280, 1280}, rates, one_tile()).time;
  CHECK(time.value() == Approx(41.94304e-6 * 1.1));
}

TEST_CASE("no GEMM is faster than its peak, and more of anything is never faster") {
  std::mt19937 random(7);
  std::uniform_int_distribution<std::int64_t> size(1, 20000);
  GemmRates rates = plain_rates();
  rates.hbm = BytesPerSecond(2e12);
  rates.peak_fraction = 0.8;
  rates.extra_depth = 100;
  rates.wave_share = 0.3;
  for (int i = 0; i < 300; ++i) {
    const GemmShape shape{size(random), size(random), size(random)};
    const Seconds time = gemm_time(shape, rates, all_tiles()).time;
    const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                         static_cast<double>(shape.k);
    CHECK(flops / time.value() <= rates.peak.value());
    GemmRates faster = rates;
    faster.hbm *= 2.0;
    CHECK(gemm_time(shape, faster, all_tiles()).time <= time);
    CHECK(gemm_time({shape.m, shape.n, 2 * shape.k}, rates, all_tiles()).time >= time);
    CHECK(gemm_time({2 * shape.m, shape.n, shape.k}, rates, all_tiles()).time >= time);
  }
}

}  // namespace gemm_test
