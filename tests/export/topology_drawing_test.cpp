#include "flowplan/export/topology_drawing.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

#include "../topology/hardware.hpp"
#include "flowplan/topology/degradation.hpp"

namespace flowplan::exporting::topology_drawing_test {
namespace {

using topology::build;
using topology::Cluster;
using topology::p5;

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST_CASE("one node shows every GPU and NIC group, with its rates") {
  const std::string dot = topology_dot(build(p5(), 1), "1 x p5.48xlarge");
  for (int i = 0; i < 8; ++i) {
    CHECK(times(dot, "<b>gpu" + std::to_string(i) + "</b>") == 1);
    CHECK(times(dot, "<b>nic" + std::to_string(i) + " (4 NICs)</b>") == 1);
  }
  CHECK(times(dot, "label=\"450 GB/s\"") == 8);
  CHECK(times(dot, "label=\"50 GB/s\"") == 8);
  CHECK(times(dot, "one direction") == 1);
}

TEST_CASE("a large cluster is drawn with few boxes") {
  const std::string dot = topology_dot(build(p5(), 1024), "1024 x p5.48xlarge");
  CHECK(times(dot, "fillcolor") < 40);
  CHECK(times(dot, "leaf0 ... leaf15 (x16)") == 1);
  CHECK(times(dot, "node0 ... node31 (x32)") == 1);
  CHECK(times(dot, "x16 12.8 TB/s") == 1);
}

TEST_CASE("an UltraServer's nodes are drawn one by one") {
  const std::string dot = topology_dot(build(topology::ultraserver(), 1), "u");
  for (int i = 0; i < 18; ++i)
    CHECK(times(dot, "<b>node" + std::to_string(i) + "</b>") == 1);
  CHECK(times(dot, "x4 900 GB/s") == 18);
}

TEST_CASE("what is degraded is drawn apart and says so") {
  const topology::Hardware hardware = p5();  // outlives the cluster, as a catalog does
  const Cluster built = build(hardware, 64);
  const auto slow = topology::parse_degradation(built, "nic:node3=0,uplink:leaf1=0.5").value();
  const std::string dot = topology_dot(built.degraded(slow), "t");
  CHECK(times(dot, "<b>node3</b>") == 1);
  CHECK(times(dot, "node4 ... node31 (x28)") == 1);
  CHECK(times(dot, "(50 %)") == 1);
  CHECK(times(dot, "slower than built, or failed") == 1);
}

TEST_CASE("GraphML has every vertex and every link") {
  const topology::Hardware hardware = p5();
  const Cluster cluster = build(hardware, 3);
  const std::string xml = topology_graphml(cluster).value();
  CHECK(times(xml, "<node id=") == cluster.vertices());
  CHECK(times(xml, "<edge id=") == cluster.links());
  CHECK(times(xml, ">gpu12<") == 1);
  CHECK_FALSE(topology_graphml(build(p5(), 20000)));
}

TEST_CASE("names are escaped") {
  const std::string dot = topology_dot(build(p5(), 1), "a \"b\" <c>");
  CHECK(times(dot, "a \\\"b\\\" <c>") == 1);
}

TEST_CASE("an SVG is drawn where Graphviz is there, else it is said that it is not") {
  const auto svg = topology_svg(build(p5(), 2), "2 x p5.48xlarge");
  REQUIRE(svg.has_value() == has_graphviz());
  if (!svg) return;
  CHECK(times(*svg, "</svg>") == 1);
  CHECK(times(*svg, ">node1</text>") == 1);
  CHECK(topology_svg(build(p5(), 2), "2 x p5.48xlarge").value() == *svg);
}

}  // namespace
}  // namespace flowplan::exporting::topology_drawing_test
