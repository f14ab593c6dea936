// What placement, a failed NIC and a neighbour cost, each ratio derived by hand. P5: 8 GPUs a node,
// 50 GB/s of NICs a GPU, 32 nodes below a leaf, whose uplinks carry 12.8 TB/s at 1:1, 6.4 at 2:1.
#include <algorithm>

#include <catch2/catch.hpp>

#include "flowplan/flow/max_min.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/placement.hpp"
#include "hardware.hpp"

namespace flowplan::topology::placement_effects_test {
namespace {

constexpr std::uint32_t gpus = 8;  // of a node
constexpr double nic = 50e9;

Fabric at(double oversubscription) {
  Fabric fabric;
  fabric.leaf_oversubscription = oversubscription;
  return fabric;
}

/// A flow from one GPU to another over their route.
void add_flow(const Cluster& cluster, flow::FlowSet& flows, GpuId from, GpuId to) {
  std::vector<flow::LinkId> links;
  cluster.route(from, to, links);
  std::vector<flow::Use> uses;
  for (const flow::LinkId link : links)
    uses.push_back({link, 1.0});
  flows.add(uses, {1e9});
}

double slowest(const Cluster& cluster, const flow::FlowSet& flows) {
  const std::vector<double> rate = flow::solve(cluster.network(), flows).rate;
  return *std::min_element(rate.begin(), rate.end());
}

/// A ring over the nodes in the order of the ranks, one on each of the 8 rails.
flow::FlowSet rings(const Cluster& cluster, const Placement& placement) {
  flow::FlowSet flows;
  const std::uint32_t ranks = placement.ranks();
  for (std::uint32_t rank = 0; rank < ranks; ++rank)
    add_flow(cluster, flows, placement.gpu[rank], placement.gpu[(rank + gpus) % ranks]);
  return flows;
}

Placement placed(const Cluster& cluster, PlacementKind kind, std::uint64_t seed = 0) {
  PlacementSpec spec;
  spec.kind = kind;
  spec.seed = seed;
  return place(cluster, cluster.gpus(), spec).value();
}

TEST_CASE("ranks in order cross a 2:1 fabric twice a ring and lose nothing") {
  const Cluster cluster = build(p5(), 64, at(2.0));
  CHECK(slowest(cluster, rings(cluster, placed(cluster, PlacementKind::contiguous))) ==
        Approx(nic));
}

TEST_CASE("ranks dealt to the leaves in turn take twice as long over a 2:1 fabric") {
  // Every hop of 32 nodes x 8 rails leaves its leaf: 256 x 50 GB/s = 12.8 TB/s on 6.4 TB/s.
  const Cluster cluster = build(p5(), 64, at(2.0));
  CHECK(slowest(cluster, rings(cluster, placed(cluster, PlacementKind::spread))) ==
        Approx(nic / 2.0));
  // At 1:1 the same placement costs nothing.
  const Cluster full = build(p5(), 64, at(1.0));
  CHECK(slowest(full, rings(full, placed(full, PlacementKind::spread))) == Approx(nic));
}

TEST_CASE("scattered ranks over a 2:1 fabric take as long as their hops between leaves say") {
  const Cluster cluster = build(p5(), 64, at(2.0));
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u}) {
    const Placement placement = placed(cluster, PlacementKind::scattered, seed);
    // As many hops leave a leaf as enter it. k of them on 8 rails want k x 400 GB/s of 6,400, so
    // above 16 each takes k / 16 as long.
    double hops = 0.0;
    for (std::uint32_t node = 0; node < 64; ++node) {
      const GpuId here = placement.gpu[node * gpus];
      const GpuId next = placement.gpu[(node + 1) % 64 * gpus];
      hops += cluster.leaf_of(here) == 0 && cluster.leaf_of(next) == 1 ? 1.0 : 0.0;
    }
    CAPTURE(seed, hops);
    CHECK(hops > 8.0);  // of 32, half on average
    CHECK(nic / slowest(cluster, rings(cluster, placement)) == Approx(std::max(1.0, hops / 16.0)));
  }
}

TEST_CASE("with one of 8 NIC groups failed the other seven carry its part: 8/7 as long") {
  const Cluster built = build(p5(), 2);
  const Cluster cluster = built.degraded(slow_nic(built, GpuId{3}, 0.0));
  const std::vector<GpuId> exits = cluster.exits(GpuId{3});
  REQUIRE(exits.size() == 7);
  flow::FlowSet flows;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    if (gpu != 3) {
      add_flow(cluster, flows, GpuId{gpu}, GpuId{gpu + gpus});
      continue;
    }
    std::vector<flow::Use> uses{{cluster.nvlink_out(GpuId{gpu}), 1.0}};
    for (const GpuId exit : exits) {
      uses.push_back({cluster.nvlink_in(exit), 1.0 / 7.0});
      uses.push_back({cluster.nic_out(exit), 1.0 / 7.0});
    }
    uses.push_back({cluster.nic_in(GpuId{gpu + gpus}), 1.0});
    flows.add(uses, {1e9});
  }
  CHECK(nic / slowest(cluster, flows) == Approx(8.0 / 7.0));
}

TEST_CASE("without an even spread the flow of a failed NIC halves one other") {
  const Cluster built = build(p5(), 2);
  const Cluster cluster = built.degraded(slow_nic(built, GpuId{3}, 0.0));
  flow::FlowSet flows;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu)
    add_flow(cluster, flows, GpuId{gpu}, GpuId{gpu + gpus});
  const std::vector<double> rate = flow::solve(cluster.network(), flows).rate;
  CHECK(std::count_if(rate.begin(), rate.end(), [](double r) { return r == Approx(nic / 2); }) ==
        2);
  CHECK(std::count_if(rate.begin(), rate.end(), [](double r) { return r == Approx(nic); }) == 6);
}

TEST_CASE("two jobs that leave the same leaf halve each other at 2:1, not at 1:1") {
  // 16 nodes x 400 GB/s = 6.4 TB/s fill a 2:1 leaf's uplinks; the second job wants as much.
  const auto job = [](const Cluster& cluster, flow::FlowSet& flows, std::uint32_t first_node) {
    for (std::uint32_t gpu = first_node * gpus; gpu < (first_node + 16) * gpus; ++gpu)
      add_flow(cluster, flows, GpuId{gpu}, GpuId{gpu + 32 * gpus});
  };
  for (const double ratio : {1.0, 2.0}) {
    const Cluster cluster = build(p5(), 64, at(ratio));
    flow::FlowSet alone, both;
    job(cluster, alone, 0);
    job(cluster, both, 0);
    job(cluster, both, 16);
    CHECK(slowest(cluster, alone) == Approx(nic));
    CHECK(slowest(cluster, both) == Approx(nic / ratio));
  }
}

TEST_CASE("under ecmp flows collide, alike in every run, and lose what the collision takes") {
  Fabric hashed = at(1.0);
  hashed.routing = Routing::ecmp;
  const Cluster cluster = build(p5(), 64, hashed);
  flow::FlowSet flows;
  for (std::uint32_t gpu = 0; gpu < 32 * gpus; ++gpu)
    add_flow(cluster, flows, GpuId{gpu}, GpuId{gpu + 32 * gpus});
  // 256 flows on 256 uplinks: the most loaded one has n of them, each gets an n-th.
  std::vector<std::uint32_t> on(cluster.links(), 0);
  for (const flow::LinkId link : flows.link)
    if (cluster.tier(link) == Tier::leaf_spine) ++on[flow::index(link)];
  const std::uint32_t most = *std::max_element(on.begin(), on.end());
  CHECK(most >= 2);
  CHECK(slowest(cluster, flows) == Approx(nic / most));
}

}  // namespace
}  // namespace flowplan::topology::placement_effects_test
