#include "flowplan/operations/energy.hpp"

#include "fixture.hpp"

namespace flowplan::operations::energy_test {

namespace {

const catalog::Gpu& gpu(const char* name) {
  return *the_catalog().gpu(name).value();
}

}  // namespace

TEST_CASE("an 8-GPU H100 node draws 76 % of 10.2 kW, and the site its PUE more") {
  const auto e = energy(the_catalog(), gpu("H100"), 8, hours(1));
  REQUIRE(e);
  CHECK(e->machines_kwh == Approx(0.76 * 10.2).epsilon(2e-3));
  CHECK(e->site_kwh == Approx(e->machines_kwh * 1.14));
  CHECK(e->figures.size() == 4);
  for (const UsedFigure& figure : e->figures)
    CHECK_FALSE(figure.source.text.empty());
}

TEST_CASE("what is stated replaces the catalog's figures") {
  EnergyAssumptions stated;
  stated.node_over_gpu_tdp = 1.0;
  stated.share_of_rating = 0.5;
  stated.pue = 2.0;
  // 700 W x 0.5 x 100 GPUs x 10 h = 350 kWh.
  const auto e = energy(the_catalog(), gpu("H100"), 100, hours(10), stated);
  REQUIRE(e);
  CHECK(e->machines_kwh == Approx(350));
  CHECK(e->site_kwh == Approx(700));
  CHECK(e->figures.size() == 1);
}

TEST_CASE("energy grows with GPUs and time alike") {
  const auto one = energy(the_catalog(), gpu("B200"), 8, days(1));
  const auto more = energy(the_catalog(), gpu("B200"), 80, days(3));
  REQUIRE(one);
  REQUIRE(more);
  CHECK(more->site_kwh == Approx(30 * one->site_kwh));
}

TEST_CASE("a GPU whose power is not known gives no energy") {
  catalog::Gpu unknown = gpu("H100");
  unknown.tdp_w.known = false;
  const auto e = energy(the_catalog(), unknown, 8, hours(1));
  REQUIRE_FALSE(e);
  CHECK(e.error().front().code == Code::unknown_figure);
}

}  // namespace flowplan::operations::energy_test
