#include "flowplan/collective/law.hpp"

#include <cmath>

#include "fixture.hpp"
#include "flowplan/collective/tuner.hpp"

namespace flowplan::collective::law_test {
namespace {

constexpr double kib = 1024.0;

Schedule schedule(Operation operation, Algorithm algorithm, Protocol protocol, Shape shape,
                  Bytes size) {
  return {operation, algorithm, protocol, shape, size};
}

TEST_CASE("NVLS chunks follow NCCL's rule") {
  // 16 channels of 8 ranks; 64 loops of 128 KiB each are 1 GiB, 8 of 64 KiB 64 MiB, 2 of 32 KiB 8
  // MiB.
  const NvlsLaw plain = stack_of("collectives-ib-h100").nvls;
  const auto of = [](const NvlsLaw& law, Bytes size) {
    return chunk(law.chunk, 16.0 * 8.0, size).value() / kib;
  };
  CHECK(of(plain, gib(1)) == 128);
  CHECK(of(plain, mib(1023)) == 64);
  CHECK(of(plain, mib(63)) == 32);
  CHECK(of(plain, mib(7)) == 16);
  // The EFA plugin starts at 512 KiB: the large chunk comes only at 4 GiB.
  const NvlsLaw efa = stack_of("collectives-p5").nvls;
  CHECK(of(efa, gib(4)) == 512);
  CHECK(of(efa, mib(4095)) == 64);
}

TEST_CASE("NVLS tree chunks follow NCCL's rule") {
  const ChunkRule rule = stack_of("collectives-p5").network.nvls_tree_chunk;
  // One loop of 128 channels and ranks at 512 KiB is 64 MiB; 32 of them 2 GiB.
  const auto of = [&](Bytes size) { return chunk(rule, 128.0, size).value() / kib; };
  CHECK(of(gib(2)) == 512);
  CHECK(of(mib(2047)) == 256);  // below 32 loops of 512 KiB, not below 16 of 256 KiB (512 MiB)
  CHECK(of(mib(511)) == 128);   // not below 4 of 128 KiB (64 MiB)
  CHECK(of(mib(63)) == 64);     // not below 1 of 64 KiB (8 MiB)
  CHECK(of(mib(7)) == 32);
}

TEST_CASE("few loops are whole ones") {
  const NvlsLaw law = stack_of("collectives-ib-h100").nvls;
  CHECK(nvls_loops(law, 16 * 8, mib(24)) == 6);  // 4 MiB a loop at 32 KiB
  CHECK(nvls_loops(law, 16 * 8, mib(25)) == 7);
  CHECK(nvls_loops(law, 16 * 8, gib(1.01)) == Approx(64 * 1.01));
}

TEST_CASE("NVLS wire rate is interpolated between a server and a rack") {
  const NvlsLaw law = stack_of("collectives-gb200").nvls;
  CHECK(nvls_rate(law, 4) == Approx(554));
  CHECK(nvls_rate(law, 8) == Approx(554));
  CHECK(nvls_rate(law, 72) == Approx(435));
  CHECK(nvls_rate(law, 24) ==
        Approx(554 + 0.5 * (435 - 554)));  // 24 is halfway in log from 8 to 72
}

TEST_CASE("ring LL128 over EFA by hand") {
  // all_gather of 512 MiB on 8 P5 nodes: 63 steps, 7 of them between nodes.
  const Stack stack = stack_of("collectives-p5");
  const double a = 56 * 1.76 + 7 * 74;                       // 616.6 us
  const double d = 63.0 / 64.0 * 536870912.0 / (297 * 1e3);  // 1779.4 us at 297 GB/s a node
  const Timing t = apply_law(
      stack,
      schedule(Operation::all_gather, Algorithm::ring, Protocol::ll128, {64, 8, 8}, mib(512)),
      microseconds(d));
  CHECK(us(t.launch) == Approx(4.7 + 76));
  CHECK(us(t.latency) == Approx(a));
  CHECK(us(t.total) == Approx(2045.7).epsilon(0.001));
  CHECK(us(t.total) == Approx(2022.8).epsilon(0.03));  // measured
}

TEST_CASE("ring LL on one node hides a part of the steps") {
  const Stack stack = stack_of("collectives-p5");
  const auto total = [&](double transfer_us) {
    return us(
        apply_law(stack,
                  schedule(Operation::all_gather, Algorithm::ring, Protocol::ll, {8, 1, 8}, mib(1)),
                  microseconds(transfer_us))
            .total);
  };
  // T0 4.7, growth 0.8 * log2(8), 7 steps of 0.81; transfer counts beyond 0.29 of the steps.
  const double steps = 7 * 0.81;
  CHECK(total(0) == Approx(4.7 + 2.4 + steps));
  CHECK(total(0.29 * steps) == Approx(4.7 + 2.4 + steps));
  CHECK(total(0.29 * steps + 10) == Approx(4.7 + 2.4 + steps + 10));
}

TEST_CASE("tree by hand: the optimum of a pipelined chain lies between sum and fourfold") {
  const Stack stack = stack_of("collectives-p5");
  const Schedule tree =
      schedule(Operation::all_reduce, Algorithm::tree, Protocol::ll128, {32, 4, 8}, mib(32));
  const double a = 2 * 7 * 0.6 + 2 * 2 * 29;  // 124.4 us
  CHECK(us(apply_law(stack, tree, Seconds(0)).total) == Approx(4.7 + a));
  // Equal parts: (2 a^p)^(1/p) = 2^(1/p) a.
  CHECK(us(apply_law(stack, tree, microseconds(a)).total) ==
        Approx(4.7 + a * std::pow(2.0, 1.0 / 0.56)));
}

TEST_CASE("broadcast is a pipelined chain, by hand") {
  // 128 MiB on 8 GPUs of a Hopper node: 7 hops of 7.7 us, a transfer of 367 us, p = 0.56.
  const Stack stack = stack_of("collectives-ib-h100");
  const Schedule chain =
      schedule(Operation::broadcast, Algorithm::ring, Protocol::simple, {8, 1, 8}, mib(128));
  const double a = 7 * 7.7, d = 367;
  CHECK(us(apply_law(stack, chain, microseconds(d)).total) ==
        Approx(4.7 + std::pow(std::pow(a, 0.56) + std::pow(d, 0.56), 1 / 0.56)));
}

TEST_CASE("old software waits for the host") {
  // A ring of LL takes 18 us; the host needs 30.5: their norm with power 4.
  const Stack now = stack_of("collectives-ib-h100"), old = stack_of("collectives-ib-h100-nccl2.20");
  const Schedule small =
      schedule(Operation::all_reduce, Algorithm::ring, Protocol::ll, {8, 1, 8}, Bytes(65536));
  const double device = us(apply_law(now, small, microseconds(0.5)).total);
  CHECK(us(apply_law(old, small, microseconds(0.5)).total) ==
        Approx(std::pow(std::pow(30.5, 4) + std::pow(device, 4), 0.25)));
}

TEST_CASE("a message costs time with its root, then no more") {
  // What is beside the bytes: 1.03 * sqrt(128 KiB m) / B up to 1.916 MB a message, then constant.
  const Stack stack = stack_of("collectives-p5");
  const auto beside = [&](double message) {
    const Schedule s = schedule(Operation::all_to_all, Algorithm::pxn, Protocol::simple, {16, 2, 8},
                                Bytes(16 * message));
    const double transfer = 8 * message / 42.75e3;
    return us(apply_law(stack, s, microseconds(transfer)).total) - 155 - transfer;
  };
  CHECK(beside(262144) == Approx(8 * 1.03 * std::sqrt(131072.0 * 262144.0) / 42.75e3));
  CHECK(beside(8e6) == Approx(beside(1.916e6)));
}

TEST_CASE("every law grows with the transfer and is never below it or the latency") {
  const Shape one{8, 1, 8}, four{32, 4, 8};
  for (const char* id : {"collectives-p4", "collectives-p5", "collectives-p6-b200",
                         "collectives-ib-h100", "collectives-gb200"}) {
    const Stack stack = stack_of(id);
    for (const Shape& shape : {one, four}) {
      for (const Operation operation : all_operations) {
        for (const Algorithm algorithm : all_algorithms) {
          for (const Protocol protocol : all_protocols) {
            if (!available(stack, operation, shape, true, algorithm, protocol)) continue;
            CAPTURE(id, name(operation), name(algorithm), name(protocol), shape.nodes);
            for (double size = 8; size < 1e11; size *= 13) {
              const Schedule s = schedule(operation, algorithm, protocol, shape, Bytes(size));
              double before = 0;
              for (double transfer = size / 1e6; transfer < size; transfer *= 7) {
                const double total = us(apply_law(stack, s, microseconds(transfer)).total);
                CHECK(std::isfinite(total));
                CHECK(total >= transfer * (1 - 1e-12));
                CHECK(total >= before);
                before = total;
              }
            }
          }
        }
      }
    }
  }
}

}  // namespace
}  // namespace flowplan::collective::law_test
