#include "flowplan/topology/cluster.hpp"

#include <limits>
#include <set>

#include <catch2/catch.hpp>

#include "hardware.hpp"

namespace flowplan::topology::cluster_test {
namespace {

using Tiers = std::vector<Tier>;
constexpr Tier nvlink = Tier::nvlink, pcie = Tier::pcie, efa = Tier::efa,
               leaf_spine = Tier::leaf_spine, spine_core = Tier::spine_core;

TEST_CASE("a P5 node has 8 GPUs, 4 PCIe switches, 2 sockets, 8 NIC groups and an NVLink plane") {
  const Cluster cluster = build(p5(), 1);
  // With its leaf. Links: 8 x (NVLink, PCIe, switch-NIC, NIC-leaf) + 4 switch-socket + 1
  // socket-socket, each both ways.
  CHECK(cluster.vertices() == 8 + 4 + 2 + 8 + 1 + 1);
  CHECK(cluster.network().size() == 2 * (8 * 4 + 4 + 1));
  CHECK(cluster.gpus() == 8);
  CHECK(cluster.domains() == 1);
  CHECK(cluster.leaves() == 1);
}

TEST_CASE("leaves and pods fill up in order of the nodes") {
  // 1250 nodes below 32-node leaves: 39 full and one of 2; 16 leaves a pod: 2 full and one of 8.
  const Cluster cluster = build(p5(), 1250);
  CHECK(cluster.leaves() == 40);
  CHECK(cluster.pods() == 3);
  CHECK(cluster.vertices() == 1250 * 23 + 40 + 3 + 1);
  CHECK(cluster.network().size() == 1250 * 74 + 2 * 40 + 2 * 3);
  CHECK(cluster.leaf_of(GpuId{31 * 8 + 7}) == 0);
  CHECK(cluster.leaf_of(GpuId{32 * 8}) == 1);
  CHECK(cluster.leaf_of(GpuId{1249 * 8}) == 39);
}

TEST_CASE("capacities are per direction: 900 GB/s of NVLink is 450, 3,200 Gbps is 50 GB/s a GPU") {
  const Cluster cluster = build(p5(), 2);
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
    CHECK(capacity(cluster, cluster.nvlink_out(GpuId{gpu})) == 450e9);
    CHECK(capacity(cluster, cluster.nvlink_in(GpuId{gpu})) == 450e9);
    CHECK(capacity(cluster, cluster.nic_out(GpuId{gpu})) == 50e9);
    CHECK(capacity(cluster, cluster.nic_in(GpuId{gpu})) == 50e9);
  }
}

TEST_CASE("two GPUs of a p4d share each of its four NICs") {
  const Cluster cluster = build(p4d(), 2);
  CHECK(cluster.nic_out(GpuId{0}) == cluster.nic_out(GpuId{1}));
  CHECK(cluster.nic_out(GpuId{1}) != cluster.nic_out(GpuId{2}));
  CHECK(cluster.nic_in(GpuId{14}) == cluster.nic_in(GpuId{15}));
  CHECK(capacity(cluster, cluster.nic_out(GpuId{0})) == 12.5e9);
}

TEST_CASE("the PCIe generation is the least that carries a NIC group") {
  // As published for p4d (3); P5's 50 GB/s a GPU need generation 5, P6-B300's 100 need 6.
  const auto pcie_rate = [](const Hardware& hardware) {
    const Cluster cluster = build(hardware, 2);
    return capacity(cluster, route(cluster, 0, cluster.gpus() - 1).front());
  };
  CHECK(pcie_rate(p4d()) == Approx(15.754e9));
  CHECK(pcie_rate(p5()) == Approx(63.015e9));
  CHECK(pcie_rate(server("p6-b300.48xlarge", 8, 900, 6400, 16, 4)) == Approx(121e9));
  CHECK(pcie_rate(server("faster than PCIe", 8, 900, 12800, 8, 4)) == Approx(200e9));
}

TEST_CASE("an UltraServer is one NVLink domain of instances that have their own NICs") {
  const Cluster cluster = build(ultraserver(), 2);
  CHECK(cluster.gpus() == 144);
  CHECK(cluster.nodes() == 36);
  CHECK(cluster.domains() == 2);
  CHECK(cluster.gpus_per_domain() == 72);
  CHECK(cluster.gpus_per_node() == 4);
  CHECK(tiers(cluster, route(cluster, 0, 71)) == Tiers{nvlink, nvlink});
  CHECK(tiers(cluster, route(cluster, 71, 72)) == Tiers{pcie, pcie, efa, efa, pcie, pcie});
  std::set<flow::LinkId> nics;
  for (std::uint32_t gpu = 0; gpu < 144; ++gpu) {
    nics.insert(cluster.nic_out(GpuId{gpu}));
    CHECK(capacity(cluster, cluster.nic_out(GpuId{gpu})) == 50e9);
  }
  CHECK(nics.size() == 144);
}

TEST_CASE("by default no UltraServer hangs below two leaves") {
  // 32 nodes is nearer to 2 x 18 than to 18.
  const Cluster cluster = build(ultraserver(), 5);
  CHECK(cluster.spec().fabric.nodes_per_leaf == 36);
  for (std::uint32_t gpu = 0; gpu < cluster.gpus(); ++gpu)
    CHECK(cluster.leaf_of(GpuId{gpu}) == gpu / 144);
}

TEST_CASE("a GPU without peers has NICs only") {
  const Cluster cluster = build(p5_4xlarge(), 2);
  CHECK(cluster.domains() == 2);
  CHECK(cluster.nvlink_out(GpuId{0}) == flow::no_link);
  CHECK(cluster.nvlink_in(GpuId{1}) == flow::no_link);
  CHECK(tiers(cluster, route(cluster, 0, 1)) == Tiers{pcie, pcie, efa, efa, pcie, pcie});
  CHECK(capacity(cluster, cluster.nic_out(GpuId{1})) == 12.5e9);
}

TEST_CASE("one NVLink domain of a type with an unknown network has no NICs") {
  Hardware hardware = ultraserver();
  hardware.instance.efa_gbps_total = {};
  const Cluster cluster = build(hardware, 1);
  CHECK_FALSE(cluster.has_nics());
  CHECK(cluster.nic_out(GpuId{0}) == flow::no_link);
  CHECK(cluster.network().size() == 2 * 72);
  CHECK(cluster.leaves() == 0);
  CHECK(tiers(cluster, route(cluster, 3, 4)) == Tiers{nvlink, nvlink});
}

TEST_CASE("a route climbs only as far as it must") {
  Fabric fabric;
  fabric.nodes_per_leaf = 2;
  fabric.leaves_per_pod = 2;
  const Cluster cluster = build(p5(), 8, fabric);
  CHECK(route(cluster, 5, 5).empty());
  CHECK(tiers(cluster, route(cluster, 0, 7)) == Tiers{nvlink, nvlink});
  CHECK(tiers(cluster, route(cluster, 0, 8)) == Tiers{pcie, pcie, efa, efa, pcie, pcie});
  CHECK(tiers(cluster, route(cluster, 0, 16)) ==
        Tiers{pcie, pcie, efa, leaf_spine, leaf_spine, efa, pcie, pcie});
  CHECK(tiers(cluster, route(cluster, 0, 32)) ==
        Tiers{pcie, pcie, efa, leaf_spine, spine_core, spine_core, leaf_spine, efa, pcie, pcie});
}

TEST_CASE("the fabric's part of a route lies between the NICs' links") {
  Fabric fabric;
  fabric.nodes_per_leaf = 2;
  const Cluster cluster = build(p5(), 8, fabric);
  std::vector<flow::LinkId> links;
  cluster.fabric_route(GpuId{0}, GpuId{8}, links);
  CHECK(links.empty());
  cluster.fabric_route(GpuId{3}, GpuId{45}, links);
  const std::vector<flow::LinkId> whole = route(cluster, 3, 45);
  REQUIRE(whole.size() == 8);
  CHECK(whole[2] == cluster.nic_out(GpuId{3}));
  CHECK(links == std::vector<flow::LinkId>{whole[3], whole[4]});
  CHECK(whole[5] == cluster.nic_in(GpuId{45}));
}

TEST_CASE("names say what a link joins") {
  Fabric fabric;
  fabric.nodes_per_leaf = 1;
  fabric.leaves_per_pod = 1;
  const Cluster cluster = build(p5(), 2, fabric);
  CHECK(cluster.link_name(cluster.nvlink_out(GpuId{12})) == "gpu12->nvswitch1");
  CHECK(cluster.link_name(cluster.nvlink_in(GpuId{3})) == "nvswitch0->gpu3");
  std::vector<std::string> names;
  for (flow::LinkId link : route(cluster, 1, 15))
    names.push_back(cluster.link_name(link));
  CHECK(names == std::vector<std::string>{"gpu1->node0.pcie0", "node0.pcie0->node0.nic1",
                                          "node0.nic1->leaf0", "leaf0->spine0", "spine0->core0",
                                          "core0->spine1", "spine1->leaf1", "leaf1->node1.nic7",
                                          "node1.nic7->node1.pcie3", "node1.pcie3->gpu15"});
}

TEST_CASE("a partly used leaf has the uplinks of a full one") {
  Fabric fabric;
  fabric.leaf_oversubscription = 2.0;
  const Cluster cluster = build(p5(), 33, fabric);  // the second leaf has one node of 32
  std::vector<flow::LinkId> links;
  cluster.fabric_route(GpuId{0}, GpuId{32 * 8}, links);
  REQUIRE(links.size() == 2);
  CHECK(capacity(cluster, links[0]) == 32 * 400e9 / 2.0);
  CHECK(capacity(cluster, links[1]) == 32 * 400e9 / 2.0);
}

TEST_CASE("oversubscription of leaf and core multiply") {
  Fabric fabric;
  fabric.nodes_per_leaf = 4;
  fabric.leaves_per_pod = 2;
  fabric.leaf_oversubscription = 2.0;
  fabric.core_oversubscription = 4.0;
  const Cluster cluster = build(p5(), 16, fabric);
  const std::vector<flow::LinkId> links = route(cluster, 0, 127);
  REQUIRE(links.size() == 10);
  CHECK(capacity(cluster, links[3]) == 4 * 400e9 / 2.0);
  CHECK(capacity(cluster, links[4]) == 2 * 4 * 400e9 / 2.0 / 4.0);
  CHECK(capacity(cluster, links[5]) == 2 * 4 * 400e9 / 2.0 / 4.0);
}

TEST_CASE("ecmp splits a leaf's uplinks into one per NIC group and hashes pairs to them") {
  Fabric pooled, hashed;
  pooled.nodes_per_leaf = hashed.nodes_per_leaf = 4;
  pooled.leaf_oversubscription = hashed.leaf_oversubscription = 2.0;
  hashed.routing = Routing::ecmp;
  const Cluster spray = build(p5(), 8, pooled), ecmp = build(p5(), 8, hashed);
  // 4 nodes x 8 groups of 50 GB/s, 2:1: 16 uplinks of 50 GB/s each.
  std::set<flow::LinkId> ups;
  for (std::uint32_t gpu = 0; gpu < 32; ++gpu) {
    const std::vector<flow::LinkId> links = route(ecmp, gpu, gpu + 32);
    CHECK(links == route(ecmp, gpu, gpu + 32));
    CHECK(tiers(ecmp, links) == tiers(spray, route(spray, gpu, gpu + 32)));
    CHECK(capacity(ecmp, links[3]) == Approx(50e9));
    CHECK(ecmp.target(links[3]) == ecmp.source(links[4]));
    ups.insert(links[3]);
  }
  CHECK(ups.size() > 8);  // 32 throws at 16 links leave about 2 empty
  CHECK(ups.size() <= 16);
  CHECK(spray.network().size() == 8 * 74 + 2 * 2);
  CHECK(ecmp.network().size() == 8 * 74 + 2 * 2 * 16);
}

TEST_CASE("in a rail-optimised fabric equal rails share a leaf, others meet at the spine") {
  Fabric fabric;
  fabric.nodes_per_leaf = 4;
  fabric.rail_optimised = true;
  const Cluster cluster = build(p5(), 4, fabric);
  CHECK(cluster.leaves() == 8);
  CHECK(tiers(cluster, route(cluster, 3, 8 + 3)) == Tiers{pcie, pcie, efa, efa, pcie, pcie});
  CHECK(tiers(cluster, route(cluster, 3, 8 + 4)) ==
        Tiers{pcie, pcie, efa, leaf_spine, leaf_spine, efa, pcie, pcie});
  std::vector<flow::LinkId> links;
  cluster.fabric_route(GpuId{3}, GpuId{12}, links);
  CHECK(capacity(cluster, links.front()) == 4 * 50e9);
  CHECK(cluster.link_name(links.front()) == "leaf0.rail3->spine0");
}

TEST_CASE("latencies of a route add up to the path's") {
  const auto microseconds_of = [](const Cluster& cluster, std::uint32_t from, std::uint32_t to) {
    double sum = 0.0;
    for (flow::LinkId link : route(cluster, from, to))
      sum += cluster.latency(link).value() * 1e6;
    return sum;
  };
  Fabric fabric;
  fabric.nodes_per_leaf = 2;
  const Cluster p5_cluster = build(p5(), 4, fabric);
  CHECK(microseconds_of(p5_cluster, 0, 1) == Approx(0.6));
  CHECK(microseconds_of(p5_cluster, 0, 8) == Approx(27.0));   // EFA version 2
  CHECK(microseconds_of(p5_cluster, 0, 16) == Approx(28.0));  // and two links between switches
  CHECK(microseconds_of(build(p4d(), 2), 0, 8) == Approx(73.0));
  CHECK(microseconds_of(build(server("dgx", 8, 450, 3200, 8, 0), 2), 0, 8) == Approx(2.7));
}

Code code_of(const ClusterSpec& spec) {
  const Result<Cluster> result = Cluster::build(spec);
  REQUIRE_FALSE(result.has_value());
  return result.error().front().code;
}

TEST_CASE("counts and ratios out of range are refused") {
  const Hardware hardware = p5();
  CHECK(code_of(hardware.spec(0)) == Code::bad_cluster);
  CHECK(code_of(hardware.spec(-3)) == Code::bad_cluster);
  CHECK(code_of(hardware.spec(std::numeric_limits<int>::max())) == Code::bad_cluster);
  Fabric fabric;
  fabric.leaf_oversubscription = 0.5;
  CHECK(code_of(hardware.spec(2, fabric)) == Code::bad_cluster);
  fabric.leaf_oversubscription = std::numeric_limits<double>::quiet_NaN();
  CHECK(code_of(hardware.spec(2, fabric)) == Code::bad_cluster);
  fabric = {};
  fabric.nodes_per_leaf = -1;
  CHECK(code_of(hardware.spec(2, fabric)) == Code::bad_cluster);
}

TEST_CASE("every fault of a spec is reported at once") {
  Fabric fabric;
  fabric.leaf_oversubscription = 0.5;
  fabric.core_oversubscription = 0.0;
  fabric.leaves_per_pod = -2;
  const Hardware hardware = p5();
  const Result<Cluster> result = Cluster::build(hardware.spec(0, fabric));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().size() == 4);
}

TEST_CASE("an unknown figure is refused where the cluster needs it, with what does without") {
  Hardware hardware = ultraserver();
  hardware.instance.efa_gbps_total = {};
  const Result<Cluster> result = Cluster::build(hardware.spec(2));
  REQUIRE_FALSE(result.has_value());
  CHECK(result.error().front().code == Code::unknown_figure);
  CHECK(result.error().front().message == "u-p6e-gb200x72: efa_gbps_total is not known");
  CHECK(result.error().front().hint == "a single NVLink domain of 72 GPUs needs no network");

  hardware = p5();
  hardware.gpu.nvlink_gbytes_per_s = {};
  CHECK(code_of(hardware.spec(1)) == Code::unknown_figure);
}

TEST_CASE("instances of an UltraServer are one domain, or whole ones") {
  Hardware hardware = ultraserver();
  hardware.instance.id = "p6e-gb200.36xlarge";
  hardware.instance.gpus = 4;
  hardware.instance.instances = 1;
  hardware.instance.efa_gbps_total = known(1600);
  CHECK(build(hardware, 3).domains() == 1);
  CHECK(build(hardware, 3).gpus_per_domain() == 12);
  CHECK(build(hardware, 18).domains() == 1);
  CHECK(build(hardware, 36).domains() == 2);
  CHECK(code_of(hardware.spec(20)) == Code::bad_cluster);
}

TEST_CASE("an NVLink domain that is a part of a node is refused") {
  Hardware hardware = p5();
  hardware.instance.nvlink_domain_gpus = 2;
  CHECK(code_of(hardware.spec(1)) == Code::unsupported_feature);
}

TEST_CASE("defaults that are not positive are refused") {
  Hardware hardware = p5();
  std::vector<catalog::Constants::Entry> entries = hardware.defaults.entries();
  entries.front().values = {0.0};
  hardware.defaults = catalog::Constants("mine", "fabric", entries);
  CHECK(code_of(hardware.spec(1)) == Code::catalog_invalid);
}

}  // namespace
}  // namespace flowplan::topology::cluster_test
