#include "flowplan/collective/transfer.hpp"

#include <cmath>

#include "fixture.hpp"

namespace flowplan::collective::transfer_test {
namespace {

double rate(const char* set, Transfer transfer, double line_gbytes, double size) {
  const auto constants = shipped().constants(set);
  REQUIRE(constants);
  const auto found =
      predict_transfer(**constants, transfer, BytesPerSecond(line_gbytes * 1e9), Bytes(size));
  if (!found) FAIL(render(found.error()));
  if (size > 0.0) CHECK(found->time.value() == Approx(size / found->rate.value()));
  return found->rate.value() / 1e9;
}

TEST_CASE("plain transfers are fractions of their line") {
  CHECK(rate("collectives-p5", Transfer::gpu_copy, 450, 0) == Approx(0.86 * 450));
  CHECK(rate("collectives-p5", Transfer::gpu_copy_both_ways, 450, 0) == Approx(0.87 * 900));
  CHECK(rate("collectives-p5", Transfer::host_copy, 63, 0) == Approx(0.877 * 63));
  CHECK(rate("collectives-p5", Transfer::rdma_write, 12.5, 0) == Approx(0.965 * 12.5));
}

TEST_CASE("an exchange of small messages is bound by their number") {
  // 8 KiB at 43.7 GB/s are 187 ns, beside 530 ns of the message's own, by p = 1.5.
  const double time = std::pow(std::pow(0.53, 1.5) + std::pow(8192 / 43.7e3, 1.5), 1 / 1.5) * 1e-6;
  CHECK(rate("collectives-p5", Transfer::rdma_exchange, 50, 8192) == Approx(8192 / time / 1e9));
  CHECK(rate("collectives-p5", Transfer::rdma_exchange, 50, 8192) == Approx(13.8).epsilon(0.05));
  CHECK(rate("collectives-p5", Transfer::rdma_exchange, 50, 4194304) == Approx(43.7).epsilon(0.01));
}

TEST_CASE("crossing rails costs more, all at one receiver most") {
  const auto at = [](Transfer transfer) { return rate("collectives-p5", transfer, 50, 1e6); };
  CHECK(at(Transfer::rdma_exchange) > at(Transfer::rdma_exchange_random));
  CHECK(at(Transfer::rdma_exchange_random) > at(Transfer::rdma_exchange_incast));
}

TEST_CASE("NVSHMEM's rates are read between the measured sizes, small ones cost a launch") {
  CHECK(rate("collectives-p5", Transfer::nvshmem_exchange_host, 50, 16777216) == Approx(36.42));
  CHECK(rate("collectives-p5", Transfer::nvshmem_exchange_host, 50, std::sqrt(2.0) * 16777216) ==
        Approx(std::sqrt(36.42 * 37.13)));
  // 2 MiB take 62.6 us and a launch 13: half the bytes take the middle of the two.
  const double middle = (13e-6 + 2097152 / 33.5e9) / 2.0;
  CHECK(rate("collectives-p5", Transfer::nvshmem_exchange_host, 50, 1048576) ==
        Approx(1048576 / middle / 1e9));
}

TEST_CASE("no transfer is faster than its line, and none gets slower with its size but NVSHMEM") {
  for (const Transfer transfer : all_transfers) {
    if (transfer == Transfer::nvshmem_exchange_host ||
        transfer == Transfer::nvshmem_exchange_device)
      continue;
    const bool both =
        transfer == Transfer::gpu_copy_both_ways || transfer == Transfer::rdma_write_both_ways;
    double before = 0.0;
    for (double size = 8; size < 1e10; size *= 3) {
      const double now = rate("collectives-p5", transfer, 50, size);
      CAPTURE(name(transfer), size);
      CHECK(now <= (both ? 100.0 : 50.0));
      CHECK(now >= before * (1 - 1e-12));
      before = now;
    }
  }
}

TEST_CASE("a set without figures for a transfer says which is missing") {
  const auto constants = shipped().constants("collectives-ib-a100");
  REQUIRE(constants);
  const auto found =
      predict_transfer(**constants, Transfer::rdma_exchange, BytesPerSecond(25e9), Bytes(1e6));
  REQUIRE_FALSE(found);
  CHECK(found.error().front().message.find("rdma.") != std::string::npos);
}

}  // namespace
}  // namespace flowplan::collective::transfer_test
