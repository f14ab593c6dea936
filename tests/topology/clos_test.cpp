#include "flowplan/topology/clos.hpp"

#include <catch2/catch.hpp>

#include "hardware.hpp"

namespace flowplan::topology::clos_test {
namespace {

Fabric fabric_of(const Cluster& cluster, int radix) {
  const auto fabric = clos_of_radix(cluster, radix);
  if (!fabric) FAIL(render(fabric.error()));
  return *fabric;
}

Fabric oversubscribed(double leaf) {
  Fabric fabric;
  fabric.leaf_oversubscription = leaf;
  return fabric;
}

// A p5 has 8 NIC groups, so a leaf of all of them gives 8 ports to a node.
TEST_CASE("half of a leaf's ports lead down without oversubscription, two thirds at 2:1") {
  CHECK(fabric_of(build(p5(), 16), 64).nodes_per_leaf == 4);                       // 32 / 8
  CHECK(fabric_of(build(p5(), 16, oversubscribed(2.0)), 64).nodes_per_leaf == 5);  // 42 / 8
}

TEST_CASE("a leaf of one rail gives a node one port") {
  Fabric rails;
  rails.rail_optimised = true;
  CHECK(fabric_of(build(p5(), 64, rails), 64).nodes_per_leaf == 32);
}

TEST_CASE("an NVLink domain stands at one leaf, whole") {
  // 18 instances of 4 GPUs, each GPU its own port: 72 ports down, 144 in all.
  const Cluster cluster = build(ultraserver(), 2);
  CHECK(fabric_of(cluster, 144).nodes_per_leaf == 18);
  CHECK(fabric_of(cluster, 287).nodes_per_leaf == 18);
  CHECK(fabric_of(cluster, 288).nodes_per_leaf == 36);
  const auto fabric = clos_of_radix(cluster, 143);
  REQUIRE_FALSE(fabric);
  CHECK(fabric.error().front().code == Code::bad_cluster);
  CHECK(fabric.error().front().hint == "at least 144");
}

TEST_CASE("up to as many leaves as a spine has ports need no core") {
  // Radix 16: one node (8 ports) a leaf.
  CHECK(fabric_of(build(p5(), 16), 16).leaves_per_pod == 16);
  CHECK(fabric_of(build(p5(), 17), 16).leaves_per_pod == 8);  // half of a spine's ports lead up
  CHECK(fabric_of(build(p5(), 8 * 16), 16).leaves_per_pod == 8);
  const auto beyond = clos_of_radix(build(p5(), 8 * 16 + 1), 16);
  REQUIRE_FALSE(beyond);
  CHECK(beyond.error().front().message.find("129 leaves are more than 16 pods of 8") !=
        std::string::npos);
}

TEST_CASE("the fabric that a radix gives can be built, and keeps its oversubscription") {
  const Cluster cluster = build(p5(), 40, oversubscribed(3.0));
  const Cluster rebuilt = build(p5(), 40, fabric_of(cluster, 32));  // 24 down: 3 nodes a leaf
  CHECK(rebuilt.leaves() == 14);
  double up = 0.0;
  for (const flow::LinkId link : rebuilt.uplinks_of_leaf(0))
    if (rebuilt.kind(rebuilt.source(link)) == VertexKind::leaf) up += rebuilt.capacity(link);
  CHECK(up == Approx(3 * 400e9 / 3.0));  // three nodes of 3,200 Gbps, a third of them
}

TEST_CASE("switches without ports to spare are refused") {
  for (const int radix : {-1, 0, 1, 15}) {
    CAPTURE(radix);
    CHECK_FALSE(clos_of_radix(build(p5(), 4), radix));
  }
  Hardware without = p5();
  without.instance.efa_gbps_total = {};
  without.instance.efa_interfaces = {};
  CHECK_FALSE(clos_of_radix(build(without, 1), 64));
}

}  // namespace
}  // namespace flowplan::topology::clos_test
