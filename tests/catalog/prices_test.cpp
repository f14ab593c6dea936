#include "flowplan/catalog/prices.hpp"

#include <algorithm>

#include "support.hpp"

namespace flowplan::catalog::prices_test {

TEST_CASE("a price holds in its region, its Local Zones' region and the regions that it lists") {
  CHECK(price_applies("us-east-1", "us-east-1"));
  CHECK_FALSE(price_applies("us-east-1", "us-east-2"));
  CHECK_FALSE(price_applies("us-east-1", "us-east-11"));
  CHECK(price_applies("us-east-1-dfw", "us-east-1"));
  CHECK_FALSE(price_applies("us-east-1", "us-east-1-dfw"));
  CHECK(price_applies("us-gov-east-1 and us-gov-west-1", "us-gov-west-1"));
  CHECK(price_applies("us-gov-east-1 and us-gov-west-1", "us-gov-east-1"));
  CHECK_FALSE(price_applies("us-gov-east-1 and us-gov-west-1", "us-west-1"));
  CHECK(price_applies("anything", ""));
}

TEST_CASE("commercial prices hold in every commercial region and in no other") {
  for (const char* region : {"us-east-1", "eu-north-1", "ap-south-1", "sa-east-1"}) {
    CHECK(price_applies("all listed commercial regions", region));
    CHECK(price_applies("most regions", region));
  }
  for (const char* region : {"us-gov-east-1", "cn-north-1", "us-iso-east-1"}) {
    CHECK_FALSE(price_applies("all listed commercial regions", region));
  }
}

TEST_CASE("the newest price stands first within each purchase model") {
  const auto prices = our_catalog().prices("p5", "us-east-1");
  REQUIRE(prices.size() >= 4);
  for (std::size_t i = 1; i < prices.size(); ++i) {
    if (prices[i].purchase == prices[i - 1].purchase) CHECK(prices[i].as_of <= prices[i - 1].as_of);
  }
  const auto block = our_catalog().price("p5.48xlarge", "capacity_block", "us-east-1");
  REQUIRE(block.has_value());
  CHECK(block->per_hour == Usd(47.757));
  CHECK(block->as_of == "2026-10");
  CHECK(our_catalog().price("p5", "on_demand", "us-east-1")->per_hour == Usd(55.04));
}

TEST_CASE("GovCloud prices differ from commercial ones") {
  CHECK(our_catalog().price("p5", "on_demand", "us-gov-west-1")->per_hour == Usd(66.048));
  CHECK(our_catalog().price("p6-b200", "capacity_block", "us-gov-east-1")->per_hour ==
        Usd(118.404));
  CHECK(our_catalog().price("p6-b200", "capacity_block", "eu-north-1")->per_hour == Usd(113.666));
}

TEST_CASE("UltraServers are priced in their Local Zone, by capacity block only") {
  CHECK(our_catalog().price("u-p6e-gb200x72", "capacity_block", "us-east-1")->per_hour ==
        Usd(761.904));
  CHECK(our_catalog().price("u-p6e-gb200x72", "capacity_block", "us-east-1-dfw").has_value());
  CHECK_FALSE(our_catalog().price("u-p6e-gb200x72", "capacity_block", "eu-west-1").has_value());
  CHECK_FALSE(our_catalog().price("u-p6e-gb200x72", "on_demand").has_value());
  CHECK_FALSE(our_catalog().price("p5e", "on_demand").has_value());
}

TEST_CASE("reference systems and unknown instances have no price") {
  CHECK(our_catalog().prices("dgx-h100").empty());
  CHECK(our_catalog().prices("no-such-instance").empty());
}

TEST_CASE("every price has its date, region and source") {
  for (const Instance& i : our_catalog().instances()) {
    for (const Price& price : our_catalog().prices(i.id)) {
      CHECK(price.per_hour > Usd(0));
      CHECK_FALSE(price.as_of.empty());
      CHECK_FALSE(price.region.empty());
      CHECK_FALSE(price.source.text.empty());
    }
  }
}

TEST_CASE("a price table with missing columns or bad numbers is refused with the line") {
  const auto read = [](const std::string& text) {
    const auto table = CsvTable::parse(text, "prices.csv");
    REQUIRE(table.has_value());
    return read_prices(*table);
  };
  const auto columns = read("instance,purchase\na,b\n");
  REQUIRE_FALSE(columns.has_value());
  CHECK(columns.error().size() == 4);
  const auto numbers = read(
      "instance,purchase,usd_per_hour,region,as_of,source\n"
      "a,on_demand,1.5,r,2026-01,s\na,on_demand,free,r,2026-01,s\na,on_demand,-1,r,2026-01,s\n");
  REQUIRE_FALSE(numbers.has_value());
  REQUIRE(numbers.error().size() == 2);
  CHECK(numbers.error()[0].place.line == 3);
  CHECK(numbers.error()[1].place.line == 4);
}

}  // namespace flowplan::catalog::prices_test
