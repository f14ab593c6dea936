#include "flowplan/operations/stragglers.hpp"

#include <cmath>

#include <catch2/catch.hpp>

namespace flowplan::operations::stragglers_test {

TEST_CASE("the slowest of many nodes is some deviations above the mean") {
  // sqrt(2 ln 2048) = 3.905
  CHECK(slowest_node(Seconds(10), Seconds(0.1), 2048).value() == Approx(10.3905).epsilon(1e-4));
  CHECK(slowest_node(Seconds(10), Seconds(0.1), 1).value() == Approx(10));
}

TEST_CASE("one slow node among many is enough to slow every step") {
  // 1 % of 100 nodes at 1.1: 1 - 0.99^100 = 0.634.
  CHECK(straggler_factor(0.01, 1.1, 100) == Approx(1.0634).epsilon(1e-4));
  CHECK(straggler_factor(0.01, 1.1, 10000) == Approx(1.1));
  CHECK(straggler_factor(0.0, 1.5, 100) == 1.0);
  CHECK(straggler_factor(1.0, 1.5, 1) == Approx(1.5));
}

}  // namespace flowplan::operations::stragglers_test
