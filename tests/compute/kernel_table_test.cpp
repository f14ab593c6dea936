#include "flowplan/compute/kernel_table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "flowplan/compute/surface.hpp"

namespace kernel_table_test {

using namespace flowplan;
using namespace flowplan::compute;

namespace {

KernelTable table_of(const std::string& gpu) {
  static const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!catalog) FAIL(render(catalog.error()));
  const auto found = catalog->gpu(gpu);
  REQUIRE(found);
  auto table = KernelTable::on(*catalog, **found);
  if (!table) FAIL(render(table.error()));
  return std::move(*table);
}

double us(std::optional<Seconds> time) {
  REQUIRE(time);
  return *time / microseconds(1.0);
}

}  // namespace

TEST_CASE("a surface is the sum of its tables, linear between knots, constant beyond") {
  // Feature 0 has knots 0, 2; feature 1 has 0, 1; one pair: rows 0, 0.2 and 0.4, 0.6.
  const Surface surface({{0, 2}, {0, 1}}, {{0, 1}}, {0.0, 0.2, 0.4, 0.6});
  const auto at = [&](double a, double b) { return std::log(surface.factor(std::array{a, b})); };
  CHECK(at(0, 0) == Approx(0.0).margin(1e-12));
  CHECK(at(2, 1) == Approx(0.6));
  CHECK(at(1, 0) == Approx(0.2));
  CHECK(at(1, 0.5) == Approx(0.3));
  CHECK(at(9, 9) == Approx(0.6));
  CHECK(at(-9, -9) == Approx(0.0).margin(1e-12));
  CHECK(Surface().factor({}) == 1.0);
  // Half way in both: a quarter of every value; at a knot that value alone.
  const auto parts = surface.parts(std::array{1.0, 0.5});
  REQUIRE(parts.size() == 4);
  for (const Surface::Part& part : parts)
    CHECK(part.weight == Approx(0.25));
  REQUIRE(surface.parts(std::array{9.0, -9.0}).size() == 1);
  CHECK(surface.parts(std::array{9.0, -9.0}).front().value == 2);
  CHECK(surface.neighbours().size() == 4);  // two rows and two columns of two
}

TEST_CASE("a recording table says the law, the features and the surface of its last time") {
  TableUse use;
  const KernelTable table = table_of("H100-SXM-80GB");
  const double time = us(table.recording(use).decode("bf16", {4, 1024, 8, 8, 128, 0}));
  CHECK(use.table == "decode.bf16");
  CHECK(use.features.front() == 10.0);  // log2 of 1,024 tokens
  CHECK(use.law_s * 1e6 * use.surface->factor(use.features) == Approx(time));
  CHECK(us(table.decode("bf16", {4, 1024, 8, 8, 128, 0})) == time);
}

TEST_CASE("products never beat the dense peak and cost more for more rows") {
  const KernelTable table = table_of("B200-HGX");
  for (const char* type : {"bf16", "fp8", "nvfp4"}) {
    Seconds before{};
    for (std::int64_t m = 256; m <= 65536; m *= 2) {
      const auto time = table.product(type, {m, 8192, 8192});
      REQUIRE(time);
      CHECK(time->time > before);
      before = time->time;
    }
  }
  const double flops = 2.0 * 65536 * 8192 * 8192;
  CHECK(flops / table.product("bf16", {65536, 8192, 8192})->time.value() <= 2250e12);
}

TEST_CASE("no measured type is above its GPU's dense peak in 10,000 random shapes") {
  const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  REQUIRE(catalog);
  const std::array<std::pair<const char*, model::Precision>, 3> types{
      {{"bf16", model::Precision::bf16},
       {"fp8", model::Precision::fp8},
       {"nvfp4", model::Precision::nvfp4}}};
  std::mt19937 random(23);
  std::uniform_real_distribution<double> octave(0.0, 17.0);
  const auto size = [&] { return static_cast<std::int64_t>(std::exp2(octave(random))); };
  int timed = 0;
  for (const catalog::Gpu& gpu : catalog->gpus()) {
    const auto table = KernelTable::on(*catalog, gpu);
    REQUIRE(table);
    if (!table->gemm("bf16", 64, 64, 64)) continue;
    int above = 0;
    for (int i = 0; i < 10000; ++i) {
      const auto& [type, precision] = types[static_cast<std::size_t>(i) % types.size()];
      const GemmShape shape{size(), size(), size()};
      const auto m = static_cast<double>(shape.m), n = static_cast<double>(shape.n),
                 k = static_cast<double>(shape.k);
      const auto alone = table->gemm(type, m, n, k);
      if (!alone) continue;
      const double least = 2.0 * m * n * k / (gpu.dense_tflops.at(precision).value * 1e12);
      const Seconds in_step = table->product(type, shape)->time;
      above += std::min(*alone, in_step).value() < least * (1.0 - 1e-12) ? 1 : 0;
      ++timed;
    }
    INFO(gpu.id);
    CHECK(above == 0);
  }
  CHECK(timed > 10000);
}

TEST_CASE("dynamic FP8 pays for the quantise kernel") {
  const KernelTable table = table_of("H100-SXM-80GB");
  CHECK(us(table.gemm("fp8", 8192, 4096, 8192)) >
        us(table.product("fp8", {8192, 4096, 8192})->time));
  CHECK(us(table.gemm("bf16", 8192, 4096, 8192)) ==
        Approx(us(table.product("bf16", {8192, 4096, 8192})->time)));
}

TEST_CASE("decode reads the cache: twice the context, about twice the time, half in FP8") {
  const KernelTable table = table_of("H100-SXM-80GB");
  DecodeShape shape;
  shape.batch = 64;
  shape.context = 16384;
  shape.heads = 32;
  shape.kv_heads = 8;
  const double once = us(table.decode("bf16", shape));
  // 64 x 8 caches of 16384 x 2 x 128 elements of 2 bytes at no more than 3350 GB/s
  CHECK(once > 64.0 * 8 * 16384 * 2 * 128 * 2 / 3350e9 * 1e6);
  CHECK(us(table.decode("fp8", shape)) < 0.75 * once);
  shape.context *= 2;
  CHECK(us(table.decode("bf16", shape)) == Approx(2.0 * once).epsilon(0.15));
}

TEST_CASE("prefill grows with the square of long sequences, a window bounds it") {
  const KernelTable table = table_of("B200-HGX");
  PrefillShape shape;
  shape.seq_len = 8192;
  shape.heads = 32;
  shape.kv_heads = 8;
  const double once = us(table.prefill("bf16", shape));
  shape.window = 128;
  CHECK(us(table.prefill("bf16", shape)) < 0.6 * once);
  shape.window = 0;
  shape.seq_len = 16384;
  CHECK(us(table.prefill("bf16", shape)) > 3.0 * once);
}

TEST_CASE("what was not measured on a GPU has no time") {
  CHECK_FALSE(table_of("A100-80GB").gemm("fp8", 1024, 1024, 1024));
  CHECK_FALSE(table_of("H100-SXM-80GB").experts("nvfp4", {}));
  CHECK_FALSE(table_of("H100-SXM-80GB").gemm("int3", 1024, 1024, 1024));
}

}  // namespace kernel_table_test
