#include "flowplan/operations/capacity_blocks.hpp"

#include <algorithm>
#include <cmath>

#include "fixture.hpp"

namespace flowplan::operations::capacity_blocks_test {

namespace {

const catalog::PurchaseRules& rules() {
  return the_catalog().purchase_rules();
}

BlockPlan plan(const char* name, int units, double days, std::optional<double> ahead = {}) {
  return plan_blocks(rules(), *the_catalog().instance(name).value(), units, days, ahead);
}

}  // namespace

TEST_CASE("durations: whole days up to 14, then weeks up to 182 days") {
  CHECK(sold_days(rules(), 0.1) == 1.0);
  CHECK(sold_days(rules(), 1.0) == 1.0);
  CHECK(sold_days(rules(), 9.2) == 10.0);
  CHECK(sold_days(rules(), 14.0) == 14.0);
  CHECK(sold_days(rules(), 14.1) == 21.0);
  CHECK(sold_days(rules(), 28.0) == 28.0);
  CHECK(sold_days(rules(), 181.0) == 182.0);
  CHECK_FALSE(sold_days(rules(), 182.5));
}

TEST_CASE("64 instances are one block, 65 are two side by side") {
  const BlockPlan one = plan("p5.48xlarge", 64, 6.5);
  REQUIRE(one.blocks.size() == 1);
  CHECK(one.blocks[0].units == 64);
  CHECK(one.blocks[0].days == 7.0);
  const BlockPlan two = plan("p5.48xlarge", 65, 6.5);
  REQUIRE(two.blocks.size() == 2);
  CHECK(two.blocks[0].units + two.blocks[1].units == 65);
  CHECK(two.unit_days() == Approx(65 * 7.0));
  CHECK_THAT(two.notes.front(), Catch::Contains("not placed together"));
}

TEST_CASE("instances go 30 minutes before the end: a run of exactly 7 days needs 8") {
  CHECK(plan("p5.48xlarge", 8, 7.0).blocks.front().days == 8.0);
  CHECK(plan("p5.48xlarge", 8, 6.97).blocks.front().days == 7.0);  // 30 min = 0.021 days
  CHECK(plan("p5.48xlarge", 8, 6.99).blocks.front().days == 8.0);
}

TEST_CASE("UltraServers are one to a block") {
  const BlockPlan twelve = plan("u-p6e-gb200x72", 12, 20);
  REQUIRE(twelve.blocks.size() == 12);
  CHECK(twelve.blocks[0].days == 21.0);
}

TEST_CASE("runs beyond 182 days take blocks one after the other") {
  const BlockPlan year = plan("p5.48xlarge", 32, 300);
  REQUIRE(year.blocks.size() == 2);
  CHECK(year.blocks[0].days == 182.0);
  // 300 - (182 - 30 minutes) = 118.02 days, sold as 119.
  CHECK(year.blocks[1].days == 119.0);
  CHECK(year.blocks[1].from_day == Approx(182.0 - 30.0 / 1440.0));
}

TEST_CASE("more than an organisation may hold is no plan, and neither is what is not sold so") {
  CHECK(plan("p5.48xlarge", 256, 5).possible());
  const BlockPlan many = plan("p5.48xlarge", 257, 5);
  CHECK_FALSE(many.possible());
  CHECK_THAT(many.reasons.front(), Catch::Contains("256"));
  CHECK_FALSE(plan("p6e-gb200.36xlarge", 1, 5).possible());
  CHECK_FALSE(plan("dgx-h100", 1, 5).possible());
}

TEST_CASE("blocks start from 30 minutes to 8 weeks ahead") {
  CHECK(plan("p5.48xlarge", 8, 5, 1.0).possible());
  CHECK(plan("p5.48xlarge", 8, 5, 56.0).possible());
  CHECK_FALSE(plan("p5.48xlarge", 8, 5, 57.0).possible());
  CHECK_FALSE(plan("p5.48xlarge", 8, 5, 0.01).possible());
}

TEST_CASE("blocks cover every moment of the run with all its units") {
  for (const double days : {0.5, 3.0, 13.99, 20.5, 100.0, 182.0, 400.0, 1000.0}) {
    for (const int units : {1, 63, 64, 100, 256}) {
      const BlockPlan p = plan("p5.48xlarge", units, days);
      REQUIRE(p.possible());
      double covered = 0.0;
      while (covered < days) {
        int held = 0;
        double until = covered;
        for (const CapacityBlock& b : p.blocks) {
          if (b.from_day > covered + 1e-9) continue;
          const double end = b.from_day + b.days - 30.0 / 1440.0;
          if (end <= covered + 1e-9) continue;
          held += b.units;
          until = std::max(until, end);
          CHECK(b.units <= 64);
          CHECK(sold_days(rules(), b.days) == b.days);
        }
        REQUIRE(held == units);
        covered = until;
      }
    }
  }
}

}  // namespace flowplan::operations::capacity_blocks_test
