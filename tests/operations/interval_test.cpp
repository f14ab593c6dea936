#include "flowplan/operations/interval.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "flowplan/operations/failures.hpp"

namespace flowplan::operations::interval_test {

namespace {

struct Vector {
  double nodes, per_node_day, mttf_hours;
  double stall, restart;
  double interval, small_loss, exponential;
};

// Published digits: MTTF to 1e-3 h, the interval to 0.1 s, both efficiencies to 1e-4.
constexpr Vector vectors[] = {
    {128, 3.79e-3, 49.472, 20, 600, 2649.1, 0.9818, 0.9818},
    {1024, 3.79e-3, 6.184, 20, 600, 923.7, 0.9321, 0.9327},
    {2048, 3.79e-3, 3.092, 6.3, 120, 368.2, 0.9563, 0.9564},
    {2048, 3.79e-3, 3.092, 20, 600, 647.3, 0.8895, 0.8919},
    {2048, 3.79e-3, 3.092, 60, 1800, 1095.7, 0.7481, 0.7654},
    {2048, 6.5e-3, 1.803, 20, 600, 489.5, 0.8357, 0.8420},
    {16384, 6.5e-3, 0.225, 6.3, 120, 94.8, 0.7442, 0.7594},
    {16384, 6.5e-3, 0.225, 20, 600, 160.1, 0.1438, 0.3790},
};

double rounded(double value, double digits) {
  return std::round(value * digits) / digits;
}

}  // namespace

TEST_CASE("the reference vectors come out to the printed digits") {
  for (const Vector& v : vectors) {
    INFO(v.nodes << " nodes, stall " << v.stall);
    const Seconds mttf = *Failures{v.nodes, v.per_node_day}.mttf();
    CHECK(rounded(mttf / hours(1), 1e3) == Approx(v.mttf_hours));
    const Seconds interval = daly_interval(Seconds(v.stall), mttf);
    CHECK(rounded(interval.value(), 10) == Approx(v.interval));
    const auto small = small_loss_ettr(interval, Seconds(v.stall), Seconds(v.restart), mttf);
    REQUIRE(small);
    CHECK(rounded(*small, 1e4) == Approx(v.small_loss));
    const double exact =
        exponential_efficiency(interval, Seconds(v.stall), Seconds(v.restart), mttf);
    CHECK(rounded(exact, 1e4) == Approx(v.exponential));
  }
}

TEST_CASE("the small-loss form says nothing where it would be negative") {
  // 900 s to restart against an MTTF of 811 s.
  CHECK_FALSE(small_loss_ettr(Seconds(160), Seconds(20), Seconds(900), Seconds(811)));
  CHECK(exponential_efficiency(Seconds(160), Seconds(20), Seconds(900), Seconds(811)) > 0.0);
}

TEST_CASE("a 60 s save cannot reach 90 % on 2048 nodes at any restart time") {
  const Seconds mttf = *Failures{2048, 3.79e-3}.mttf();
  const Seconds interval = daly_interval(Seconds(60), mttf);
  CHECK(exponential_efficiency(interval, Seconds(60), Seconds(), mttf) < 0.90);
  CHECK(exponential_efficiency(daly_interval(Seconds(20), mttf), Seconds(20), Seconds(300), mttf) >
        0.90);
}

TEST_CASE("the three intervals by hand") {
  // d = 8, M = 10000: sqrt(160000) = 400; x = 4e-4, sqrt(x) = 0.02.
  CHECK(young_interval(Seconds(8), Seconds(10000)).value() == Approx(400));
  CHECK(daly_interval(Seconds(8), Seconds(10000)).value() == Approx(392));
  CHECK(daly_higher_order_interval(Seconds(8), Seconds(10000)).value() ==
        Approx(400 * (1 + 0.02 / 3 + 4e-4 / 9) - 8));
  CHECK(daly_higher_order_interval(Seconds(50), Seconds(20)).value() == Approx(20));
  CHECK(daly_interval(Seconds(50), Seconds(20)).value() == 0.0);
}

TEST_CASE("the higher order lies nearer the exact optimum than the first") {
  const auto efficiency = [](Seconds t) {
    return exponential_efficiency(t, Seconds(60), Seconds(300), Seconds(2000));
  };
  CHECK(efficiency(daly_higher_order_interval(Seconds(60), Seconds(2000))) >
        efficiency(daly_interval(Seconds(60), Seconds(2000))));
}

}  // namespace flowplan::operations::interval_test
