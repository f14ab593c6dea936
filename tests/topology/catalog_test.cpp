// Clusters of every entry of the shipped catalog.
#include "flowplan/catalog/catalog.hpp"

#include <cmath>
#include <set>

#include <catch2/catch.hpp>

#include "flowplan/topology/placement.hpp"
#include "hardware.hpp"

namespace flowplan::topology::catalog_test {
namespace {

const catalog::Catalog& shipped() {
  static const catalog::Catalog catalog =
      catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs").value();
  return catalog;
}

const catalog::Instance& instance(const char* name) {
  return *shipped().instance(name).value();
}

Cluster build(const char* name, int count, Fabric fabric = {}) {
  return std::move(
      Cluster::build(shipped(), {&instance(name), count, fabric, nullptr, nullptr}).value());
}

TEST_CASE("every entry of the catalog becomes a cluster, or says which figure is missing") {
  for (const catalog::Instance& entry : shipped().instances()) {
    CAPTURE(entry.id);
    const ClusterSpec one{&entry, 1, {}, nullptr, nullptr};
    CHECK(Cluster::build(shipped(), one).has_value());

    ClusterSpec many = one;
    many.count = 36;  // whole UltraServers, also of 4-GPU instances
    const Result<Cluster> built = Cluster::build(shipped(), many);
    if (!entry.efa_gbps_total.known) {
      REQUIRE_FALSE(built.has_value());
      CHECK(built.error().front().code == Code::unknown_figure);
      continue;
    }
    REQUIRE(built.has_value());
    const Cluster& cluster = *built;
    CHECK(cluster.gpus() == static_cast<std::uint32_t>(36 * entry.gpus));
    CHECK(cluster.gpus_per_domain() == static_cast<std::uint32_t>(entry.nvlink_domain_gpus));
    CHECK(route(cluster, 0, cluster.gpus() - 1).size() >= 6);

    std::set<flow::LinkId> nics;
    for (std::uint32_t gpu = 0; gpu < cluster.gpus(); ++gpu)
      nics.insert(cluster.nic_out(GpuId{gpu}));
    double total = 0.0;
    for (flow::LinkId nic : nics)
      total += capacity(cluster, nic);
    CHECK(total == Approx(36 * entry.efa_gbps_total.value * 1e9 / 8.0));
  }
}

TEST_CASE("p6e-gb200 reaches 1,600 of its 3,200 Gbps, 400 a GPU") {
  const Cluster cluster = build("u-p6e-gb200x72", 2);
  CHECK(capacity(cluster, cluster.nic_out(GpuId{0})) == Approx(50e9));
  CHECK(capacity(cluster, cluster.nvlink_out(GpuId{0})) == Approx(900e9));
}

TEST_CASE("the catalog's P5 is the node of the hand-made one") {
  const Cluster from_catalog = build("p5.48xlarge", 3);
  const Cluster by_hand = topology::build(p5(), 3);
  CHECK(from_catalog.network().capacity == by_hand.network().capacity);
  CHECK(from_catalog.latency(from_catalog.nic_out(GpuId{0})).value() ==
        by_hand.latency(by_hand.nic_out(GpuId{0})).value());
}

}  // namespace
}  // namespace flowplan::topology::catalog_test
