#include "flowplan/storage/interference.hpp"

#include <catch2/catch.hpp>

namespace flowplan::storage::interference_test {

namespace {

StepTraffic step(double seconds, double exposed, double utilisation) {
  return {Seconds(seconds), Seconds(exposed), utilisation, BytesPerSecond(100.0)};
}

}  // namespace

TEST_CASE("a transfer costs nothing where the devices have room for both") {
  const Interference i = interfere(step(10.0, 2.0, 0.5), {Bytes(60.0), BytesPerSecond(1.0)});
  // Exposed collectives fill the devices for 2 s of each step and give way to 1 of 100.
  CHECK(i.transfer_alone.value() == Approx(60.0));
  CHECK(i.longer.value() < 0.01 * 60.0);
  const Interference idle = interfere(step(10.0, 0.0, 0.0), {Bytes(600.0), BytesPerSecond(50.0)});
  CHECK(idle.longer.value() == 0.0);
  CHECK(idle.transfer.value() == Approx(12.0));
}

TEST_CASE("exposed collectives and a transfer share full devices in proportion") {
  // One step: 1 s of collectives at 100, and a transfer at 100 that lasts longer: both have half.
  const Interference i = interfere(step(1.0, 1.0, 1.0), {Bytes(100.0), BytesPerSecond(100.0)});
  // Two seconds for both, and the second step follows alone.
  CHECK(i.transfer.value() == Approx(2.0));
  CHECK(i.longer.value() == Approx(1.0));
}

TEST_CASE("a long transfer is taken from equal steps") {
  const Interference i = interfere(step(1.0, 1.0, 1.0), {Bytes(1e6), BytesPerSecond(100.0)});
  CHECK(i.longer_step.value() == Approx(1.0).epsilon(1e-6));
  CHECK(i.transfer.value() == Approx(2e4).epsilon(1e-6));
  CHECK(i.steps == Approx(1e4).epsilon(1e-6));
  CHECK(i.longer.value() == Approx(1e4).epsilon(1e-6));
}

TEST_CASE("hidden collectives are slowed only beyond the computing") {
  // Collectives take half of the devices all through, a transfer of 40 fits beside them.
  CHECK(interfere(step(10.0, 0.0, 0.5), {Bytes(400.0), BytesPerSecond(40.0)}).longer.value() ==
        Approx(0.0).margin(1e-9));
  // One of 100 does not: 150 are wanted of 100, so the hidden part takes 1.5 times as long.
  CHECK(interfere(step(10.0, 0.0, 0.5), {Bytes(1e6), BytesPerSecond(100.0)}).longer_step.value() ==
        Approx(5.0).epsilon(1e-6));
}

TEST_CASE("more traffic of either kind never makes it faster") {
  double before = -1.0;
  for (const double rate : {1.0, 10.0, 50.0, 100.0, 400.0}) {
    const Interference i = interfere(step(2.0, 0.5, 0.6), {Bytes(1e5), BytesPerSecond(rate)});
    CHECK(i.longer_step.value() >= before - 1e-9);
    CHECK(i.transfer >= i.transfer_alone * (1.0 - 1e-9));
    before = i.longer_step.value();
  }
}

}  // namespace flowplan::storage::interference_test
