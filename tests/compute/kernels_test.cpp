#include "flowplan/compute/kernels.hpp"

#include <algorithm>
#include <random>
#include <string>

#include <catch2/catch.hpp>

namespace kernels_test {

using namespace flowplan;
using namespace flowplan::compute;
using model::Precision;

namespace {

const catalog::Catalog& the_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

Kernels kernels_on(const std::string& gpu) {
  const auto found = the_catalog().gpu(gpu);
  if (!found) FAIL(render(found.error()));
  auto kernels = Kernels::on(the_catalog(), **found);
  if (!kernels) FAIL(render(kernels.error()));
  return *kernels;
}

}  // namespace

TEST_CASE("every GPU of the catalog has kernels for the precisions that it has") {
  for (const catalog::Gpu& gpu : the_catalog().gpus()) {
    INFO(gpu.id);
    const auto kernels = Kernels::on(the_catalog(), gpu);
    REQUIRE(kernels);
    CHECK(kernels->supports(Precision::bf16));
    const bool ampere = gpu.generation == catalog::GpuGeneration::ampere;
    CHECK(kernels->supports(Precision::fp8) == !ampere);
    CHECK(kernels->supports(Precision::nvfp4) ==
          (gpu.generation == catalog::GpuGeneration::blackwell));
    CHECK_FALSE(kernels->supports(Precision::fp32));
  }
}

TEST_CASE("large GEMMs reach what was measured") {
  // ai-dynamo/aiconfigurator: H100 bf16 8192x8192 at m = 8192: 783 TFLOP/s, A100: 263, B200: 1492.
  const auto tflops = [](const std::string& gpu) {
    const Seconds time = kernels_on(gpu).gemm({8192, 8192, 8192}, Precision::bf16).time;
    return 2.0 * 8192.0 * 8192.0 * 8192.0 / time.value() / 1e12;
  };
  // The surface is smooth: single points are off by the error of its fit.
  CHECK(tflops("H100-SXM-80GB") == Approx(783).epsilon(0.08));
  CHECK(tflops("A100-80GB") == Approx(263).epsilon(0.08));
  CHECK(tflops("B200-HGX") == Approx(1492).epsilon(0.08));
}

TEST_CASE("no GEMM is above the dense peak of its GPU, whatever the shape and precision") {
  constexpr int shapes = 10000;  // on every GPU
  std::mt19937 random(11);
  std::uniform_int_distribution<std::int64_t> size(64, 30000);
  for (const catalog::Gpu& gpu : the_catalog().gpus()) {
    const Kernels kernels = kernels_on(gpu.id);
    for (const Precision precision : {Precision::bf16, Precision::fp8, Precision::nvfp4}) {
      if (!kernels.supports(precision)) continue;
      const double peak = kernels.peak(precision).value();
      const double factor = std::min(1.0, kernels.in_step(precision).gemm);
      int above = 0;
      for (int i = 0; i < shapes; ++i) {
        const GemmShape shape{size(random), size(random), size(random)};
        const double flops = 2.0 * static_cast<double>(shape.m) * static_cast<double>(shape.n) *
                             static_cast<double>(shape.k);
        above += flops / (kernels.gemm(shape, precision).time.value() * factor) > peak ? 1 : 0;
      }
      INFO(gpu.id);
      CHECK(above == 0);
    }
  }
}

TEST_CASE("attention counts the causal half and five products backward") {
  const Kernels kernels = kernels_on("H100-SXM-80GB");
  const AttentionShape shape{1, 32, 8, 128, 8192};
  // 2 * 32 * 128 * 8192^2 FLOP at 0.606 * 989 TFLOP/s * 8192 / (8192 + 1350)
  const double expected = 2.0 * 32 * 128 * 8192.0 * 8192.0 / (0.606 * 989e12 * 8192.0 / 9542.0);
  CHECK(kernels.attention_forward(shape).time.value() == Approx(expected));
  CHECK(kernels.attention_backward(shape).time.value() == Approx(2.5 * expected));
  AttentionShape narrow = shape;
  narrow.head_dim = 64;
  CHECK(kernels.attention_forward(narrow).time.value() == Approx(expected / 2.0 / 0.74));
}

TEST_CASE("attention takes twice the time for twice the heads or sequences") {
  const Kernels kernels = kernels_on("B200-HGX");
  const Seconds one = kernels.attention_forward({1, 16, 16, 128, 4096}).time;
  CHECK(kernels.attention_forward({2, 16, 16, 128, 4096}).time / one == Approx(2.0));
  CHECK(kernels.attention_forward({1, 32, 16, 128, 4096}).time / one == Approx(2.0));
  CHECK(kernels.attention_forward({1, 16, 16, 128, 8192}).time / one < 4.0);
}

TEST_CASE("unfused attention moves its scores through HBM") {
  const Kernels kernels = kernels_on("A100-80GB");
  const AttentionShape shape{1, 16, 16, 64, 1024};
  // Two products of 2 * 16 * 64 * 1024^2 FLOP at 0.6 * 312 TFLOP/s, and six passes over
  // 16 * 1024^2 scores of 2 bytes at 0.85 * 2039 GB/s.
  const double products = 2.0 * 2.0 * 16 * 64 * 1048576.0 / (0.6 * 312e12);
  const double passes = 6.0 * 2.0 * 16 * 1048576.0 / (0.85 * 2039e9);
  CHECK(kernels.attention_unfused(shape, 2, 6).time.value() == Approx(products + passes));
  CHECK(std::string(kernels.attention_unfused(shape, 2, 6).limit) == "HBM");
}

TEST_CASE("a GPU without a calibration set is refused with the known ones") {
  catalog::Gpu gpu = **the_catalog().gpu("H100-SXM-80GB");
  gpu.calibration = "kernels-h1000";
  const auto kernels = Kernels::on(the_catalog(), gpu);
  REQUIRE_FALSE(kernels);
  CHECK(kernels.error().front().code == Code::unknown_name);
}

TEST_CASE("a GPU whose peak is unknown is refused by the figure's name") {
  catalog::Gpu gpu = **the_catalog().gpu("H100-SXM-80GB");
  gpu.dense_tflops.clear();
  gpu.hbm_gbytes_per_s = {};
  const auto kernels = Kernels::on(the_catalog(), gpu);
  REQUIRE_FALSE(kernels);
  REQUIRE(kernels.error().size() == 2);
  CHECK(kernels.error()[0].code == Code::unknown_figure);
  CHECK(kernels.error()[0].message.find("hbm_gbytes_per_s") != std::string::npos);
  CHECK(kernels.error()[1].message.find("dense_tflops.bf16") != std::string::npos);
}

}  // namespace kernels_test
