#include "flowplan/topology/degradation.hpp"

#include <algorithm>
#include <thread>

#include <catch2/catch.hpp>

#include "random_cluster.hpp"

namespace flowplan::topology::degradation_test {
namespace {

bool contains(const std::vector<flow::LinkId>& links, flow::LinkId link) {
  return std::find(links.begin(), links.end(), link) != links.end();
}

Cluster parsed(const Cluster& cluster, std::string_view text) {
  const auto slow = parse_degradation(cluster, text);
  if (!slow) FAIL(render(slow.error()));
  return cluster.degraded(*slow);
}

TEST_CASE("a view changes the capacities that it names and nothing else") {
  const Cluster built = build(p5(), 3);
  const Cluster view = built.degraded(slow_nic(built, GpuId{9}, 0.5));
  int changed = 0;
  for (std::uint32_t id = 0; id < built.links(); ++id) {
    const flow::LinkId link{id};
    const bool nic = link == built.nic_out(GpuId{9}) || link == built.nic_in(GpuId{9});
    CHECK(view.capacity(link) == built.capacity(link) * (nic ? 0.5 : 1.0));
    CHECK(view.network().capacity[id] == view.capacity(link));
    changed += nic ? 1 : 0;
  }
  CHECK(changed == 2);
  CHECK(view.slowdowns().size() == 2);
  CHECK(built.slowdowns().empty());
  CHECK(built.network().capacity[flow::index(built.nic_out(GpuId{9}))] == 50e9);
  CHECK(&view.graph() == &built.graph());
}

TEST_CASE("factors of one link multiply, in one view and in a view of a view") {
  const Cluster built = build(p5(), 2);
  const flow::LinkId nic = built.nic_out(GpuId{3});
  const std::vector<Slowdown> twice{{nic, 0.5}, {nic, 0.5}};
  CHECK(built.degraded(twice).capacity(nic) == 12.5e9);
  CHECK(built.degraded(twice).degraded(twice).capacity(nic) == 3.125e9);
}

TEST_CASE("capacity, tier and ends of a link agree with what its neighbours say") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    const RandomCluster random = random_cluster(seed);
    const Cluster cluster = random.build();
    bool right = true;
    for (std::uint32_t leaf = 0; leaf < cluster.leaves(); ++leaf)
      for (const flow::LinkId link : cluster.uplinks_of_leaf(leaf)) {
        const bool up = cluster.kind(cluster.source(link)) == VertexKind::leaf;
        right = right && cluster.tier(link) == Tier::leaf_spine &&
                cluster.kind(up ? cluster.target(link) : cluster.source(link)) == VertexKind::spine;
      }
    for (std::uint32_t pod = 0; pod < cluster.pods(); ++pod)
      for (const flow::LinkId link : cluster.uplinks_of_pod(pod))
        right = right && cluster.tier(link) == Tier::spine_core;
    for (std::uint32_t gpu = 0; gpu < cluster.gpus(); ++gpu)
      right = right && cluster.tier(cluster.nic_out(GpuId{gpu})) == Tier::efa &&
              cluster.tier(cluster.nic_in(GpuId{gpu})) == Tier::efa &&
              cluster.capacity(cluster.nic_in(GpuId{gpu})) ==
                  cluster.capacity(cluster.nic_out(GpuId{gpu}));
    CAPTURE(seed);
    CHECK(right);
  }
}

TEST_CASE("what leaves by a failed NIC goes by the others of its node") {
  const Cluster built = build(p5(), 2);
  CHECK(built.exits(GpuId{3}) == std::vector<GpuId>{GpuId{3}});
  const Cluster view = parsed(built, "nic:gpu3=0");
  const std::vector<GpuId> others{GpuId{0}, GpuId{1}, GpuId{2}, GpuId{4},
                                  GpuId{5}, GpuId{6}, GpuId{7}};
  CHECK(view.exits(GpuId{3}) == others);
  CHECK(view.entries(GpuId{3}) == others);
  CHECK(view.exits(GpuId{2}) == std::vector<GpuId>{GpuId{2}});

  const std::vector<flow::LinkId> out = route(view, 3, 12), in = route(view, 12, 3);
  for (const auto& links : {out, in})
    for (const flow::LinkId link : links)
      CHECK(view.capacity(link) > 0.0);
  CHECK(contains(out, view.nvlink_out(GpuId{3})));
  CHECK(contains(in, view.nvlink_in(GpuId{3})));
  CHECK(route(view, 2, 12) == route(built, 2, 12));
}

TEST_CASE("a node without a working NIC keeps its way, which shows the cut") {
  const Cluster view = parsed(build(p5(), 2), "nic:node0=0");
  CHECK(view.exits(GpuId{3}) == std::vector<GpuId>{GpuId{3}});
  CHECK(contains(route(view, 3, 12), view.nic_out(GpuId{3})));
  CHECK(view.capacity(view.nic_out(GpuId{3})) == 0.0);
  CHECK(view.network().capacity[flow::index(view.nic_out(GpuId{3}))] > 0.0);
}

TEST_CASE("GPUs that share a NIC lose it together") {
  const Cluster built = build(p4d(), 2);
  const Cluster view = parsed(built, "nic:gpu2=0");
  CHECK(view.capacity(view.nic_out(GpuId{3})) == 0.0);
  CHECK(view.exits(GpuId{3}).size() == 6);
  // Half of each, not half of a half where two GPUs name the same NICs.
  const Cluster half = parsed(built, "nic:node1=0.5");
  for (std::uint32_t gpu = 8; gpu < 16; ++gpu)
    CHECK(half.capacity(half.nic_out(GpuId{gpu})) == 0.5 * built.capacity(built.nic_out(GpuId{0})));
}

TEST_CASE("under ecmp a failed uplink is passed by") {
  Fabric fabric;
  fabric.routing = Routing::ecmp;
  fabric.nodes_per_leaf = 1;
  const Cluster built = build(p5(), 4, fabric);
  const std::vector<flow::LinkId> uplinks = built.uplinks_of_leaf(0);
  REQUIRE(uplinks.size() == 16);
  const Cluster view = built.degraded(std::vector<Slowdown>{{uplinks[0], 0.0}, {uplinks[6], 0.0}});
  for (std::uint32_t from = 0; from < 8; ++from)
    for (std::uint32_t to = 8; to < 32; ++to)
      for (const flow::LinkId link : route(view, from, to))
        CHECK(view.capacity(link) > 0.0);
}

TEST_CASE("degradations are read as documented") {
  Fabric fabric;
  fabric.nodes_per_leaf = 1;
  fabric.leaves_per_pod = 2;
  const Cluster built = build(p5(), 4, fabric);
  const auto same = [](const std::vector<Slowdown>& a, const std::vector<Slowdown>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](auto x, auto y) { return x.link == y.link && x.factor == y.factor; });
  };
  CHECK(same(*parse_degradation(built, "nic:gpu12=0.5"), slow_nic(built, GpuId{12}, 0.5)));
  CHECK(same(*parse_degradation(built, "nic:node3=0"), slow_node(built, 3, 0.0)));
  CHECK(same(*parse_degradation(built, "nvlink:gpu1=0.25"), slow_nvlink(built, GpuId{1}, 0.25)));
  CHECK(parse_degradation(built, "uplink:leaf2=0.5")->size() == 2);
  CHECK(parse_degradation(built, "uplink:pod1=0.5")->size() == 2);
  CHECK(parse_degradation(built, "pcie:gpu0=0.5")->size() == 4);
  CHECK(parse_degradation(built, "nic:gpu0=0.5,nic:gpu1=0")->size() == 4);
}

TEST_CASE("a whole GPU, node or leaf and a single link can be named") {
  Fabric fabric;
  fabric.nodes_per_leaf = 1;
  const Cluster built = build(p5(), 4, fabric);
  // NVLink port and PCIe link, both directions each.
  CHECK(parse_degradation(built, "gpu:gpu12=0")->size() == 4);
  // 8 GPUs of 4 links and 8 NIC groups of 2.
  const Cluster without_node = parsed(built, "node:node1=0");
  CHECK(failed_gpus(without_node).size() == 8);
  CHECK(without_node.capacity(without_node.nic_out(GpuId{8})) == 0.0);
  CHECK(without_node.capacity(without_node.nic_out(GpuId{16})) == 50e9);
  // A leaf loses what is below it and above it.
  const Cluster without_leaf = parsed(built, "leaf:leaf2=0");
  for (const flow::LinkId link : without_leaf.uplinks_of_leaf(2))
    CHECK(without_leaf.capacity(link) == 0.0);
  CHECK(without_leaf.capacity(without_leaf.nic_out(GpuId{16})) == 0.0);
  CHECK(without_leaf.capacity(without_leaf.nic_out(GpuId{24})) == 50e9);
  CHECK(failed_gpus(without_leaf).empty());  // they still have NVLink
  // One link, by the name that reports give it, and not its other direction.
  const std::string name = built.link_name(built.nic_out(GpuId{9}));
  const Cluster one_way = parsed(built, "link:" + name + "=0.5");
  CHECK(one_way.capacity(one_way.nic_out(GpuId{9})) == 25e9);
  CHECK(one_way.capacity(one_way.nic_in(GpuId{9})) == 50e9);
  CHECK_FALSE(parse_degradation(built, "link:" + name + "x=0.5"));
}

TEST_CASE("what a degraded cluster's traffic does is said in words") {
  Fabric fabric;
  fabric.nodes_per_leaf = 1;
  const Cluster built = build(p5(), 3, fabric);
  const auto says = [](const std::vector<std::string>& all, std::string_view what) {
    return std::any_of(all.begin(), all.end(),
                       [&](const std::string& one) { return one.find(what) != std::string::npos; });
  };
  CHECK(describe_reroutes(built).empty());

  const auto rerouted = describe_reroutes(parsed(built, "nic:gpu3=0"));
  CHECK(says(rerouted, "Rerouted over NVLink: "));
  CHECK(says(rerouted, "by the NICs of 7 others of node0"));
  CHECK_FALSE(says(rerouted, "Cut off"));

  const auto cut = describe_reroutes(parsed(built, "nic:node1=0"));
  CHECK(says(cut, "Cut off: "));
  CHECK_FALSE(says(cut, "Rerouted"));

  const auto dead = describe_reroutes(parsed(built, "gpu:gpu5=0"));
  CHECK(says(dead, "which take no ranks"));
  CHECK_FALSE(says(dead, "Cut off"));

  const auto slow = describe_reroutes(parsed(built, "uplink:leaf0=0.25"));
  REQUIRE(slow.size() == 1);
  CHECK(says(slow, "at 0.25 of its rate"));

  // Beyond `most` they are counted: the node's 8 NIC groups are 16 links.
  CHECK(says(describe_reroutes(parsed(built, "nic:node1=0"), 3), " and 13 more"));
}

TEST_CASE("degradations that make no sense are refused") {
  const Cluster cluster = build(p5(), 2);
  const auto code = [&](std::string_view text) {
    const auto slow = parse_degradation(cluster, text);
    REQUIRE_FALSE(slow);
    return slow.error().front().code;
  };
  for (const char* text : {"", "nic", "nic:gpu1", "nic=1:gpu", "nic:gpu=0.5",
                           "nic:gpu1=", "nic:gpu1=x", "nic:gpu1=-1", "nic:gpu1=nan", "nic:gpu1=inf",
                           "nic:leaf0=0.5", "rank:gpu1=0", "nic:gpu1x=0.5", "nic:gpu1=0.5,"})
    CHECK(code(text) == Code::usage);
  CHECK(code("nic:gpu16=0.5") == Code::bad_cluster);
  CHECK(code("nic:node2=0.5") == Code::bad_cluster);
  CHECK(code("uplink:leaf0=0.5") == Code::bad_cluster);  // one leaf: it has none
  CHECK(parse_degradation(cluster, "nic:gpu99=0,x").error().size() == 2);
}

TEST_CASE("several threads may ask for the graph and the network at once") {
  const Cluster cluster = build(p5(), 50);
  std::vector<const void*> seen(8);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < seen.size(); ++i)
    threads.emplace_back([&, i] {
      seen[i] = i % 2 == 0 ? static_cast<const void*>(&cluster.graph())
                           : static_cast<const void*>(&cluster.network());
    });
  for (std::thread& thread : threads)
    thread.join();
  for (std::size_t i = 2; i < seen.size(); ++i)
    CHECK(seen[i] == seen[i - 2]);
}

}  // namespace
}  // namespace flowplan::topology::degradation_test
