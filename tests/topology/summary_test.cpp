#include <catch2/catch.hpp>

#include "random_cluster.hpp"

namespace flowplan::topology::summary_test {
namespace {

const TierSummary* find(const Summary& summary, Tier tier) {
  for (const TierSummary& one : summary.tiers)
    if (one.tier == tier) return &one;
  return nullptr;
}

double bisection(const Summary& summary, Tier tier) {
  const TierSummary* found = find(summary, tier);
  REQUIRE(found != nullptr);
  return found->bisection.value();
}

TEST_CASE("a summary counts what the cluster has") {
  const Summary summary = summarise(build(p5(), 64));
  CHECK(summary.gpus == 512);
  CHECK(summary.nodes == 64);
  CHECK(summary.domains == 64);
  CHECK(summary.leaves == 2);
  CHECK(summary.pods == 1);
  CHECK(summary.vertices == 64 * 23 + 2 + 1);
  CHECK(summary.links == 64 * 74 + 4);
  REQUIRE(summary.tiers.size() == 4);
  CHECK(find(summary, Tier::nvlink)->links == 2 * 512);
  CHECK(find(summary, Tier::nvlink)->capacity.value() == 2 * 512 * 450e9);
  CHECK(find(summary, Tier::efa)->links == 2 * 512);
  CHECK(find(summary, Tier::leaf_spine)->links == 4);
  CHECK(find(summary, Tier::spine_core) == nullptr);
}

TEST_CASE("bisection of a non-blocking cluster is half its NICs at every tier") {
  const Summary summary = summarise(build(p5(), 64));
  CHECK(bisection(summary, Tier::nvlink) == 4 * 450e9);  // of one domain
  CHECK(bisection(summary, Tier::efa) == 32 * 400e9);
  CHECK(bisection(summary, Tier::leaf_spine) == 32 * 400e9);
}

TEST_CASE("bisection falls as one over the oversubscription, tier by tier") {
  Fabric fabric;
  fabric.nodes_per_leaf = 4;
  fabric.leaves_per_pod = 2;
  for (const double leaf : {1.0, 2.0, 3.0, 8.0})
    for (const double core : {1.0, 2.0, 5.0}) {
      fabric.leaf_oversubscription = leaf;
      fabric.core_oversubscription = core;
      const Summary summary = summarise(build(p5(), 32, fabric));
      CHECK(bisection(summary, Tier::efa) == Approx(16 * 400e9));
      CHECK(bisection(summary, Tier::leaf_spine) == Approx(16 * 400e9 / leaf));
      CHECK(bisection(summary, Tier::spine_core) == Approx(16 * 400e9 / leaf / core));
      CHECK(find(summary, Tier::leaf_spine)->oversubscription == leaf);
      CHECK(find(summary, Tier::spine_core)->oversubscription == core);
    }
}

TEST_CASE("a partly used leaf is held by its NICs, not by its uplinks") {
  // 3 nodes below leaves of 2 at 2:1: the first half (node 0 and half of node 1) is held by the
  // first leaf's 400 GB/s; the second half has 200 GB/s in the first leaf and 400 in the second.
  Fabric fabric;
  fabric.nodes_per_leaf = 2;
  fabric.leaf_oversubscription = 2.0;
  const Summary summary = summarise(build(p5(), 3, fabric));
  CHECK(bisection(summary, Tier::efa) == Approx(1.5 * 400e9));
  CHECK(bisection(summary, Tier::leaf_spine) == Approx(400e9));
}

TEST_CASE("no tier's bisection exceeds that of the tier below") {
  for (std::uint32_t seed = 0; seed < 300; ++seed) {
    const RandomCluster random = random_cluster(seed);
    const Cluster cluster = random.build();
    const Summary summary = summarise(cluster);
    CAPTURE(seed);
    double below = bisection(summary, Tier::efa);
    const double per_node = random.hardware.instance.efa_gbps_total.value * 1e9 / 8.0 /
                            random.hardware.instance.instances;
    CHECK(below == Approx(cluster.gpus() / 2 * per_node / cluster.gpus_per_node()));
    for (const Tier tier : {Tier::leaf_spine, Tier::spine_core}) {
      const TierSummary* found = find(summary, tier);
      if (found == nullptr) continue;
      CHECK(found->bisection.value() <= below * (1.0 + 1e-12));
      CHECK(found->bisection.value() >= below / found->oversubscription * (1.0 - 1e-12));
      below = found->bisection.value();
    }
  }
}

TEST_CASE("spray and ecmp pool to the same capacity") {
  for (std::uint32_t seed = 0; seed < 100; ++seed) {
    RandomCluster random = random_cluster(seed);
    random.fabric.routing = Routing::spray;
    const Summary spray = summarise(random.build());
    random.fabric.routing = Routing::ecmp;
    const Summary ecmp = summarise(random.build());
    REQUIRE(spray.tiers.size() == ecmp.tiers.size());
    CAPTURE(seed);
    for (std::size_t t = 0; t < spray.tiers.size(); ++t) {
      CHECK(spray.tiers[t].capacity.value() == Approx(ecmp.tiers[t].capacity.value()));
      CHECK(spray.tiers[t].bisection.value() == Approx(ecmp.tiers[t].bisection.value()));
    }
  }
}

TEST_CASE("what is not published is listed as assumed") {
  const auto mentions = [](const Summary& summary, const char* words) {
    for (const std::string& assumption : summary.assumptions)
      if (assumption.find(words) != std::string::npos) return true;
    return false;
  };
  const Summary p5_summary = summarise(build(p5(), 64));
  CHECK(mentions(p5_summary, "AWS publishes no oversubscription ratio"));
  CHECK(mentions(p5_summary, "32 nodes below a leaf"));
  CHECK(mentions(p5_summary, "GPUs per PCIe switch of p5.48xlarge are not known"));
  CHECK_FALSE(mentions(summarise(build(p4d(), 2)), "GPUs per PCIe switch"));

  Hardware reference = p5();
  reference.instance.kind = catalog::InstanceKind::reference;
  CHECK_FALSE(mentions(summarise(build(reference, 2)), "AWS"));

  Fabric sized;
  sized.nodes_per_leaf = 16;
  sized.leaves_per_pod = 4;
  CHECK_FALSE(mentions(summarise(build(p5(), 64, sized)), "not published"));
}

}  // namespace
}  // namespace flowplan::topology::summary_test
