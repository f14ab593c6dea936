#include "flowplan/catalog/purchase.hpp"

#include "support.hpp"

namespace flowplan::catalog::purchase_test {

namespace {

std::string limit_id(const char* name, const char* purchase, int units, double days = 0.0) {
  const auto limits =
      purchase_limits(our_catalog().purchase_rules(), instance(name), purchase, units, days);
  return limits.empty() ? "" : limits.front().id;
}

}  // namespace

TEST_CASE("a Capacity Block has at most 64 instances and an organisation 256") {
  CHECK(limit_id("p5", "capacity_block", 64).empty());
  CHECK(limit_id("p5", "capacity_block", 65) == "capacity_block_size_limit");
  CHECK(limit_id("p5", "capacity_block", 256) == "capacity_block_size_limit");
  CHECK(limit_id("p5", "capacity_block", 257) == "capacity_block_organisation_limit");
  CHECK(limit_id("p5", "capacity_block", 1024) == "capacity_block_organisation_limit");
}

TEST_CASE("UltraServers are bought by number and count with their instances") {
  // 14 x 18 = 252 instances, 15 x 18 = 270.
  CHECK(limit_id("u-p6e-gb200x72", "capacity_block", 14).empty());
  CHECK(limit_id("u-p6e-gb200x72", "capacity_block", 15) == "capacity_block_organisation_limit");
  CHECK(limit_id("u-p6e-gb200x72", "capacity_block", 128) == "capacity_block_organisation_limit");
  CHECK(limit_id("p6e-gb200.36xlarge", "capacity_block", 1) == "not_sold_so");
}

TEST_CASE("what a purchase model does not sell is said with the ones that do") {
  CHECK(limit_id("p5e", "on_demand", 1) == "not_sold_so");
  CHECK(limit_id("u-p6e-gb200x36", "on_demand", 1) == "not_sold_so");
  const auto limits =
      purchase_limits(our_catalog().purchase_rules(), instance("p5e"), "on_demand", 1);
  CHECK_THAT(limits.front().message, Catch::Contains("it is sold as capacity_block"));
  CHECK(limit_id("p5", "on_demand", 100000).empty());
  CHECK(limit_id("dgx-h100", "on_demand", 1) == "not_for_sale");
  CHECK(limit_id("u-p6e-gb300x72", "capacity_block", 1) == "not_sold_so");
}

TEST_CASE("a Capacity Block lasts at most 182 days") {
  CHECK(limit_id("p5", "capacity_block", 8, 182).empty());
  CHECK(limit_id("p5", "capacity_block", 8, 183) == "capacity_block_duration_limit");
  CHECK(limit_id("p5", "on_demand", 8, 400).empty());
}

TEST_CASE("every limit carries its source and every rule its text") {
  const auto limits =
      purchase_limits(our_catalog().purchase_rules(), instance("p5"), "capacity_block", 500, 500);
  REQUIRE(limits.size() == 2);
  for (const PurchaseLimit& limit : limits)
    CHECK_FALSE(limit.source.text.empty());
  CHECK_FALSE(our_catalog().purchase_rules().rules.empty());
  for (const PurchaseRule& rule : our_catalog().purchase_rules().rules)
    CHECK_FALSE(rule.source.text.empty());
}

TEST_CASE("each priced purchase model is one that sells the instance") {
  for (const Instance& i : our_catalog().instances()) {
    for (const Price& price : our_catalog().prices(i.id)) {
      INFO(i.id << " " << price.purchase);
      CHECK(our_catalog().purchase_rules().sells(price.purchase, i.id));
    }
  }
}

}  // namespace flowplan::catalog::purchase_test
