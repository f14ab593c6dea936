#include "flowplan/operations/money.hpp"

#include <algorithm>

#include "fixture.hpp"

namespace flowplan::operations::money_test {

namespace {

const catalog::Instance& unit(const char* name) {
  return *the_catalog().instance(name).value();
}

template <class Row>
const Row& row(const std::vector<Row>& rows, const std::string& purchase) {
  const auto found = std::find_if(rows.begin(), rows.end(),
                                  [&](const auto& one) { return one.purchase == purchase; });
  REQUIRE(found != rows.end());
  return *found;
}

RunBill bill(int units, Seconds wall, BeyondLimits policy = BeyondLimits::flag) {
  RunBill b;
  b.units = units;
  b.region = "us-east-1";
  b.wall = wall;
  b.tokens = 2e12;
  b.policy = policy;
  return b;
}

}  // namespace

TEST_CASE("a run costs units times hours times the newest list price of the region") {
  const auto rows = costs(the_catalog(), unit("p5.48xlarge"), 4, "us-east-1", hours(10));
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
  const auto rows = costs(the_catalog(), unit("p5.48xlarge"), 1, "us-east-1", std::nullopt);
  CHECK(!row(rows, "on_demand").total);
}

TEST_CASE("more instances than Capacity Blocks sell are flagged") {
  const auto few = costs(the_catalog(), unit("p5.48xlarge"), 32, "us-east-1", days(10));
  CHECK(row(few, "capacity_block").limits.empty());
  const auto many = costs(the_catalog(), unit("p5.48xlarge"), 1024, "us-east-1", days(10));
  CHECK(!row(many, "capacity_block").limits.empty());
}

TEST_CASE("a reference system has no price") {
  CHECK(costs(the_catalog(), unit("dgx-h100"), 4, "us-east-1", hours(1)).empty());
  CHECK(run_costs(the_catalog(), unit("dgx-h100"), bill(4, hours(1))).empty());
}

TEST_CASE("the bill of a run: hours, storage and requests, and what a trillion tokens cost") {
  RunBill b = bill(4, hours(10));
  b.storage = Usd(100);
  b.requests = Usd(8.4);
  const auto rows = run_costs(the_catalog(), unit("p5.48xlarge"), b);
  const RunCost& on_demand = row(rows, "on_demand");
  CHECK(on_demand.compute.value() == Approx(2201.6));
  CHECK(on_demand.total.value() == Approx(2310.0));
  CHECK(on_demand.per_trillion_tokens.value() == Approx(1155.0));
  CHECK(on_demand.as_of == "2026-07-20");
  CHECK(on_demand.limits.empty());
}

TEST_CASE("a bill by the hour equals the list price of that time") {
  for (const char* name : {"p4d.24xlarge", "p5.48xlarge", "p6-b200.48xlarge", "u-p6e-gb200x72"}) {
    const std::string region =
        unit(name).kind == catalog::InstanceKind::ultraserver ? "us-east-1-dfw" : "us-east-1";
    RunBill b = bill(3, days(12.5));
    b.region = region;
    const auto list = costs(the_catalog(), unit(name), 3, region, days(12.5));
    const auto bills = run_costs(the_catalog(), unit(name), b);
    REQUIRE(list.size() == bills.size());
    for (std::size_t i = 0; i < list.size(); ++i) {
      CHECK(list[i].purchase == bills[i].purchase);
      CHECK(list[i].total->value() == Approx(bills[i].total.value()));
    }
  }
}

TEST_CASE("blocks are paid for whole: 9.2 days on 100 instances are 10 days on two blocks") {
  const auto rows =
      run_costs(the_catalog(), unit("p5.48xlarge"), bill(100, days(9.2), BeyondLimits::split));
  const RunCost& blocks = row(rows, "capacity_block");
  REQUIRE(blocks.blocks.blocks.size() == 2);
  CHECK(blocks.unit_hours == Approx(100 * 10 * 24));
  CHECK(blocks.compute.value() == Approx(100 * 240 * 47.757));
  CHECK(blocks.limits.empty());
  CHECK_FALSE(blocks.notes.empty());
  // The other purchase models are by the hour whatever the policy.
  CHECK(row(rows, "on_demand").unit_hours == Approx(100 * 9.2 * 24));
}

TEST_CASE("what cannot be split keeps its limits and its price by the hour") {
  const auto rows =
      run_costs(the_catalog(), unit("p5.48xlarge"), bill(1024, days(30), BeyondLimits::split));
  const RunCost& blocks = row(rows, "capacity_block");
  CHECK_FALSE(blocks.blocks.possible());
  CHECK_FALSE(blocks.limits.empty());
  CHECK_FALSE(blocks.refused);
  CHECK(blocks.compute.value() == Approx(1024 * 720 * 47.757));
}

TEST_CASE("refused plans have no price, plans within the limits do") {
  const auto many =
      run_costs(the_catalog(), unit("p5.48xlarge"), bill(65, days(10), BeyondLimits::refuse));
  CHECK(row(many, "capacity_block").refused);
  CHECK(row(many, "capacity_block").total == Usd());
  CHECK_FALSE(row(many, "on_demand").refused);
  const auto few =
      run_costs(the_catalog(), unit("p5.48xlarge"), bill(64, days(10), BeyondLimits::refuse));
  CHECK_FALSE(row(few, "capacity_block").refused);
  CHECK(row(few, "capacity_block").total > Usd());
}

TEST_CASE("a savings plan says what its whole term costs") {
  const auto rows = run_costs(the_catalog(), unit("p5.48xlarge"), bill(2, days(109.5)));
  const RunCost& plan = row(rows, "savings_plan_3y");
  REQUIRE(plan.notes.size() == 1);
  // 1095 x 24 h x 2 x 23.776 = 1.2497e6; the run uses a tenth.
  CHECK_THAT(plan.notes.front(), Catch::Contains("1095 days"));
  CHECK_THAT(plan.notes.front(), Catch::Contains("1.25 million USD"));
  CHECK_THAT(plan.notes.front(), Catch::Contains("10 %"));
}

TEST_CASE("policies are found by their names") {
  for (const BeyondLimits policy : {BeyondLimits::flag, BeyondLimits::split, BeyondLimits::refuse})
    CHECK(find_beyond_limits(name(policy)) == policy);
  CHECK_FALSE(find_beyond_limits("ignore"));
}

}  // namespace flowplan::operations::money_test
