#include "flowplan/storage/transfer.hpp"

#include <chrono>

#include "fixture.hpp"

namespace flowplan::storage::transfer_test {

namespace {

Limit shared(double capacity, double per_byte = 1.0) {
  return {"disk", "disk", capacity, true, per_byte, "", ""};
}
Limit each(double capacity) {
  return {"nic", "nic", capacity, false, 1.0, "", ""};
}

}  // namespace

TEST_CASE("a transfer ends when its tightest limit is through, and says which and the next") {
  Movement m{"m", {{each(10.0), shared(25.0)}, Seconds(2.0), {}}, 4, Bytes(100.0)};
  Transfer t = run_alone(m);
  CHECK(t.time.value() == Approx(2.0 + 400.0 / 25.0));
  CHECK(t.limit == "disk");
  CHECK(t.next == "nic");
  CHECK(t.next_time.value() == Approx(12.0));
  REQUIRE(t.limits.size() == 2);
  CHECK(t.limits[0].ceiling.value() == Approx(40.0));
  CHECK(t.limits[0].utilisation == Approx(25.0 / 40.0));
  CHECK(t.limits[1].utilisation == Approx(1.0));
  m.nodes = 2;  // 20 of 25
  t = run_alone(m);
  CHECK(t.limit == "nic");
  CHECK(t.time.value() == Approx(12.0));
}

TEST_CASE("operations are a limit by their number") {
  const Movement m{"m", {{shared(50.0, 1.0 / 4.0)}, {}, {}}, 1, Bytes(1000.0)};
  CHECK(run_alone(m).time.value() == Approx(1000.0 / 200.0));
}

TEST_CASE("movements on one store share it fairly, on their own nodes they do not") {
  const std::vector<Movement> both{{"a", {{each(100.0), shared(30.0)}, {}, {}}, 1, Bytes(150.0)},
                                   {"b", {{each(100.0), shared(30.0)}, {}, {}}, 2, Bytes(1000.0)}};
  const auto t = run_together(both);
  // Three flows of 10 each: a is through at 15; then b's two have 15 each.
  CHECK(t[0].time.value() == Approx(15.0));
  CHECK(t[1].time.value() == Approx(15.0 + 850.0 / 15.0));
}

TEST_CASE("no bytes take the latency alone") {
  const Transfer t = run_alone({"m", {{shared(1.0)}, Seconds(0.25), {}}, 1, Bytes(0.0)});
  CHECK(t.time.value() == 0.25);
  CHECK(t.limit == "latency");
}

TEST_CASE("a hundred thousand nodes take no longer than one") {
  const auto begin = std::chrono::steady_clock::now();
  const Transfer t = run_alone({"m", {{each(10.0), shared(1e6)}, {}, {}}, 100000, Bytes(1000.0)});
  CHECK(t.time.value() == Approx(100.0));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  CHECK(took.count() < 0.1);
}

}  // namespace flowplan::storage::transfer_test
