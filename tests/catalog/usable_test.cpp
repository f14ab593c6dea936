#include "flowplan/catalog/usable.hpp"

#include "support.hpp"

namespace flowplan::catalog::usable_test {

TEST_CASE("GB300 can be planned within one UltraServer and is refused beyond with the reason") {
  const Instance& gb300 = instance("u-p6e-gb300x72");
  CHECK(usable_for(our_catalog(), gb300, Purpose::one_unit).empty());
  const Diagnostics reasons = usable_for(our_catalog(), gb300, Purpose::cluster);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().code == Code::unknown_figure);
  CHECK_THAT(reasons.front().message, Catch::Contains("efa_gbps_total"));
  CHECK_THAT(reasons.front().hint, Catch::Contains("looked for in"));
  CHECK(gb300.unknown == std::vector<std::string>{"efa_gbps_total"});
}

TEST_CASE("instance types of UltraServers are refused with the UltraServers to use") {
  const Diagnostics reasons =
      usable_for(our_catalog(), instance("p6e-gb200.36xlarge"), Purpose::one_unit);
  REQUIRE(reasons.size() == 1);
  CHECK(reasons.front().code == Code::bad_cluster);
  CHECK_THAT(reasons.front().hint, Catch::Contains("u-p6e-gb200x72"));
}

TEST_CASE("every other entry can be used in a cluster") {
  for (const Instance& i : our_catalog().instances()) {
    if (!i.only_in.empty() || !i.unknown.empty()) continue;
    INFO(i.id);
    CHECK(usable_for(our_catalog(), i, Purpose::cluster).empty());
  }
}

TEST_CASE("what an entry lists as unknown is what it does not know") {
  for (const Instance& i : our_catalog().instances()) {
    for (const std::string& name : i.unknown) {
      INFO(i.id << " " << name);
      CHECK_FALSE(figure_of(i.facts, name).known);
    }
  }
}

}  // namespace flowplan::catalog::usable_test
