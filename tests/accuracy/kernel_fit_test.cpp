#include "flowplan/accuracy/kernel_fit.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

#include "shipped_catalog.hpp"

namespace flowplan::accuracy::kernel_fit_test {
namespace {

std::vector<KernelSample> samples_of(const std::string& text) {
  const auto table = CsvTable::parse(text, "file");
  REQUIRE(table);
  auto samples = kernel_samples(shipped_catalog(), *table);
  REQUIRE(samples);
  return std::move(*samples);
}

std::string gemm_line(int m, int n, int k, double ms) {
  return fmt::format("H100,bfloat16,{},{},{},{:.9f}\n", m, n, k, ms);
}

const std::string gemm_header = "gpu,gemm_dtype,m,n,k,latency\n";

}  // namespace

TEST_CASE("sizes left out are told by their neighbours where what the law misses is smooth") {
  // Six widths, a constant factor of 1.5 over the law: a surface without a third of the widths
  // still says it, but for what the weak hold to nothing takes away.
  std::string shapes = gemm_header;
  for (const int n : {1024, 1536, 2048, 3072, 4096, 6144})
    for (int m = 64; m <= 8192; m *= 2)
      shapes += gemm_line(m, n, 4096, 1.0);
  std::string text = gemm_header;
  std::size_t i = 0;
  for (const KernelSample& sample : samples_of(shapes)) {
    const std::size_t width = i / 8, row = i++ % 8;
    constexpr int widths[] = {1024, 1536, 2048, 3072, 4096, 6144};
    text += gemm_line(64 << row, widths[width], 4096, 1.5e3 * sample.use.law_s);
  }
  const std::vector<KernelSample> samples = samples_of(text);
  REQUIRE(samples.size() == 48);
  const auto report = fit_kernels(samples);
  REQUIRE(report);
  REQUIRE(report->tables.size() == 1);
  CHECK(report->tables[0].table == "H100 gemm.bf16");
  CHECK(report->overall.law.median_ape == Approx(100.0 / 3.0));
  CHECK(report->overall.left_out.median_ape < 2.0);
  CHECK(report->untold == 0);
  const std::string residuals = kernel_fit_residuals(*report);
  CHECK(residuals.starts_with("id,measured_ms,in_sample_error_percent,left_out_error_percent\n0,"));
}

TEST_CASE("what no neighbour tells is told by the law: a group unlike the others is missed") {
  std::string shapes = gemm_header;
  for (const int n : {64, 512, 8192})
    for (int m = 64; m <= 1024; m *= 2)
      shapes += gemm_line(m, n, 1024, 1.0);
  std::string text = gemm_header;
  std::size_t i = 0;
  for (const KernelSample& sample : samples_of(shapes)) {
    const std::size_t width = i / 5, row = i++ % 5;
    constexpr int widths[] = {64, 512, 8192};
    const double factor = width == 2 ? 2.0 : 1.0;
    text += gemm_line(64 << row, widths[width], 1024, factor * 1e3 * sample.use.law_s);
  }
  const auto report = fit_kernels(samples_of(text));
  REQUIRE(report);
  for (std::size_t row = 10; row < 15; ++row)
    CHECK(*report->rows[row].left_out_percent < -40.0);
}

TEST_CASE("fewer than three groups cannot be left out") {
  std::string text = gemm_header;
  for (const int n : {1024, 2048})
    text += gemm_line(128, n, 4096, 0.05);
  const auto report = fit_kernels(samples_of(text));
  REQUIRE_FALSE(report);
  CHECK(report.error().front().code == Code::bad_measurement);
  const auto other = CsvTable::parse("a,b\n1,2\n", "file");
  CHECK_FALSE(kernel_samples(shipped_catalog(), *other));
}

}  // namespace flowplan::accuracy::kernel_fit_test
