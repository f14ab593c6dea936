#include "flowplan/collective/together.hpp"

#include "fixture.hpp"

namespace flowplan::collective::together_test {
namespace {

std::vector<Group> split(std::string_view name, std::uint32_t gpus) {
  auto groups = split_groups(name, gpus);
  if (!groups) FAIL(render(groups.error()));
  return std::move(*groups);
}

TEST_CASE("blocks and rails cover every GPU once") {
  const std::vector<Group> blocks = split("tp8", 32), rails = split("dp8", 32);
  REQUIRE(blocks.size() == 4);
  REQUIRE(rails.size() == 8);
  CHECK(topology::index(blocks[1][0]) == 8);
  CHECK(topology::index(blocks[1][7]) == 15);
  CHECK(topology::index(rails[3][0]) == 3);
  CHECK(topology::index(rails[3][1]) == 11);
  CHECK(split("all", 32).front().size() == 32);
  for (const char* wrong : {"tp", "8", "tp7", "tp1", "dp32", "tp8x"})
    CHECK_FALSE(split_groups(wrong, 32));
}

TEST_CASE("what shares no link runs as alone") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 4);
  const std::vector<Part> parts{{"tp8", Operation::all_reduce, mib(64), split("tp8", 32)}};
  const auto found = predict_together(stack, cluster, parts);
  REQUIRE(found);
  CHECK((*found)[0].together.value() == Approx((*found)[0].alone.time.value()).epsilon(1e-9));
  CHECK((*found)[0].busbw_together.value() ==
        Approx((*found)[0].alone.busbw.value()).epsilon(1e-9));
}

TEST_CASE("two large rings over the same NICs take twice as long, by hand") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 4);
  const Part ring{"all", Operation::all_gather, gib(16), split("all", 32)};
  const std::vector<Part> parts{ring, ring};
  const auto found = predict_together(stack, cluster, parts);
  REQUIRE(found);
  for (const PartOutcome& one : *found) {
    // Alone it is capped at its own time, in which latency is a percent or two.
    CHECK(one.together / one.alone.time == Approx(2.0).epsilon(0.02));
    CHECK(one.together / one.alone.time <= 2.0 + 1e-9);
  }
}

TEST_CASE("together is never faster than alone") {
  const Stack stack = stack_of("collectives-p6-b200");
  const topology::Cluster cluster = cluster_of("p6-b200", 4);
  const std::vector<Part> parts{{"tp8", Operation::all_reduce, mib(64), split("tp8", 32)},
                                {"dp8", Operation::all_gather, gib(1), split("dp8", 32)},
                                {"ep16", Operation::all_to_all, mib(256), split("ep16", 32)}};
  const auto found = predict_together(stack, cluster, parts);
  REQUIRE(found);
  for (const PartOutcome& one : *found)
    CHECK(one.together.value() >= one.alone.time.value() * (1 - 1e-9));
  CHECK((*found)[2].together > (*found)[2].alone.time);  // the rails take its NICs
}

TEST_CASE("no groups are refused") {
  CHECK_FALSE(predict_together(stack_of("collectives-p5"), cluster_of("p5", 1), {}));
}

}  // namespace
}  // namespace flowplan::collective::together_test
