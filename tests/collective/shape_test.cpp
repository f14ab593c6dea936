#include "flowplan/collective/shape.hpp"

#include "fixture.hpp"

namespace flowplan::collective::shape_test {
namespace {

using topology::GpuId;

Group gpus(std::initializer_list<std::uint32_t> ids) {
  Group group;
  for (const std::uint32_t id : ids)
    group.push_back(GpuId{id});
  return group;
}

Code code_of(const std::vector<Group>& groups, const topology::Cluster& cluster) {
  const auto checked = check_groups(groups, cluster);
  REQUIRE_FALSE(checked);
  return checked.error().front().code;
}

TEST_CASE("members are grouped by domain, domains by their first rank") {
  const topology::Cluster cluster = cluster_of("p5", 3);
  const Members members = members_of(gpus({16, 0, 17, 1, 18}), cluster);
  REQUIRE(members.size() == 2);
  CHECK(members[0] == gpus({16, 17, 18}));
  CHECK(members[1] == gpus({0, 1}));
  CHECK(shape_of(members) == Shape{5, 2, 3});
}

TEST_CASE("a rack is one node whatever its instances") {
  const topology::Cluster cluster = cluster_of("u-p6e-gb200x72", 1);
  CHECK(shape_of(members_of(contiguous_group(72), cluster)) == Shape{72, 1, 72});
}

TEST_CASE("groups that cannot run are refused") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  CHECK(code_of({}, cluster) == Code::bad_placement);
  CHECK(code_of({gpus({3})}, cluster) == Code::bad_placement);
  CHECK(code_of({gpus({3, 16})}, cluster) == Code::bad_placement);
  CHECK(code_of({gpus({3, 3})}, cluster) == Code::bad_placement);
  CHECK(code_of({gpus({0, 1}), gpus({1, 2})}, cluster) == Code::bad_placement);
  CHECK(code_of({gpus({0, 1}), gpus({2, 3, 4})}, cluster) == Code::bad_placement);
  CHECK(check_groups({gpus({0, 1}), gpus({2, 15})}, cluster));
}

}  // namespace
}  // namespace flowplan::collective::shape_test
