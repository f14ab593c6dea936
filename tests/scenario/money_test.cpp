#include "flowplan/scenario/money.hpp"

#include <algorithm>

#include "catalog_for_tests.hpp"

namespace money_test {

using namespace flowplan;

namespace {

const scenario::PurchaseCost& row(const std::vector<scenario::PurchaseCost>& rows,
                                  const std::string& purchase) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& one) { return one.purchase == purchase; });
  REQUIRE(found != rows.end());
  return *found;
}

}  // namespace

TEST_CASE("a run costs units times hours times the newest list price of the region") {
  const auto& p5 = *real_catalog().instance("p5.48xlarge").value();
  const auto rows = scenario::costs(real_catalog(), p5, 4, "us-east-1", hours(10));
  // 55.04 USD an hour (2026-07-20) x 4 x 10.
  const auto& on_demand = row(rows, "on_demand");
  CHECK(on_demand.per_hour.value() == Approx(4 * 55.04));
  REQUIRE(on_demand.total);
  CHECK(on_demand.total->value() == Approx(2201.6));
  // Capacity Blocks rose in October 2026: 47.757, not July's 41.528.
  CHECK(row(rows, "capacity_block").per_hour.value() == Approx(4 * 47.757));
  CHECK(row(rows, "capacity_block").as_of == "2026-10");
}

TEST_CASE("without a duration there is an hourly price and no total") {
  const auto& p5 = *real_catalog().instance("p5.48xlarge").value();
  const auto rows = scenario::costs(real_catalog(), p5, 1, "us-east-1", std::nullopt);
  CHECK(!row(rows, "on_demand").total);
}

TEST_CASE("more instances than Capacity Blocks sell are flagged") {
  const auto& p5 = *real_catalog().instance("p5.48xlarge").value();
  const auto few = scenario::costs(real_catalog(), p5, 32, "us-east-1", days(10));
  CHECK(row(few, "capacity_block").limits.empty());
  const auto many = scenario::costs(real_catalog(), p5, 1024, "us-east-1", days(10));
  CHECK(!row(many, "capacity_block").limits.empty());
}

TEST_CASE("a reference system has no price") {
  const auto& dgx = *real_catalog().instance("dgx-h100").value();
  CHECK(scenario::costs(real_catalog(), dgx, 4, "us-east-1", hours(1)).empty());
}

}  // namespace money_test
