#include "flowplan/operations/spares.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "flowplan/operations/failures.hpp"

namespace flowplan::operations::spares_test {

namespace {

/// 2048 nodes at Llama 3's rate.
RunModel llama3_like(double repair_hours) {
  RunModel run;
  run.mttf = Failures{2048, 3.79e-3}.mttf();
  run.interval = Seconds(647.3);
  run.stall = Seconds(20);
  run.restart_swap = run.restart_in_place = Seconds(600);
  run.repair = hours(repair_hours);
  return run;
}

}  // namespace

TEST_CASE("two spares cover a repair window of 25 minutes, 18 one of a day") {
  const double a_day = Failures{2048, 3.79e-3}.per_day();
  const double quick = a_day * 25.0 / (24.0 * 60.0);
  CHECK(quick == Approx(0.135).epsilon(5e-3));
  CHECK(spares_for(quick, 0.999) == 2);
  CHECK(a_day == Approx(7.8).epsilon(6e-3));
  CHECK(spares_for(a_day, 0.999) == 18);
}

TEST_CASE("Poisson probabilities by hand, and of means whose exponential underflows") {
  CHECK(poisson_at_most(0, 2.0) == Approx(std::exp(-2.0)));
  CHECK(poisson_at_most(2, 2.0) == Approx(5.0 * std::exp(-2.0)));
  CHECK(poisson_at_most(3, 0.0) == 1.0);
  CHECK(poisson_at_most(1000, 1000.0) == Approx(0.5).epsilon(0.02));
}

TEST_CASE("Erlang's formula by hand") {
  // One place, load 1: busy half of the time. Two places, load 1: 1/2 / (1 + 1 + 1/2).
  CHECK(erlang_loss(1, 1.0) == Approx(0.5));
  CHECK(erlang_loss(2, 1.0) == Approx(0.2));
  CHECK(erlang_loss(3, 0.0) == 0.0);
}

TEST_CASE("without spares the job waits for every repair") {
  // 25 minutes to repair, 3.092 h between failures: 25 / (25 + 185.5) of the time.
  const auto g = expected_goodput(llama3_like(25.0 / 60.0));
  CHECK(g.waiting == Approx(25.0 / (25.0 + 60.0 * 3.092)).epsilon(1e-4));
}

TEST_CASE("spares are bought until the next one costs more than it brings") {
  const auto options = spare_options(llama3_like(24), 2048);
  const SpareOption& best = cheapest(options);
  CHECK(best.spares > 7);   // fewer than fail in a day leave the job waiting
  CHECK(best.spares < 40);  // 2 % of the nodes
  REQUIRE(options.size() > static_cast<std::size_t>(best.spares) + 1);
  const auto at = [&](int k) { return options[static_cast<std::size_t>(k)].paid_over_productive; };
  CHECK(at(best.spares) <= at(best.spares - 1));
  CHECK(at(best.spares) <= at(best.spares + 1));
  CHECK(options.back().waiting < 1e-6);
}

TEST_CASE("each spare shortens the waiting, quicker repairs need fewer") {
  const auto options = spare_options(llama3_like(24), 2048);
  for (std::size_t k = 1; k < options.size(); ++k) {
    CHECK(options[k].waiting < options[k - 1].waiting);
    CHECK(options[k].ettr > options[k - 1].ettr);
  }
  CHECK(cheapest(spare_options(llama3_like(0.5), 2048)).spares < cheapest(options).spares);
}

TEST_CASE("a run that never fails needs no spares") {
  RunModel run = llama3_like(24);
  run.mttf.reset();
  CHECK(cheapest(spare_options(run, 2048)).spares == 0);
}

}  // namespace flowplan::operations::spares_test
