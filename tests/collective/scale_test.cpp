// 100,000 GPUs, and what a defect or a placement does to them: ratios derived by hand.
#include <algorithm>
#include <cmath>

#include "fixture.hpp"
#include "flowplan/topology/degradation.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::collective::scale_test {
namespace {

using topology::GpuId;

constexpr int nodes = 12500;
constexpr double ranks = 100000.0;
/// What the P5 stack gets out of a node's NICs by ring, of a GPU's port by NVLS tree, of a GPU's
/// NICs by all-to-all, bytes/s.
constexpr double ring_rate = 361e9, nvls_rate = 293e9, pair_rate = 342e9 / 8;

Request request(Operation operation, const Group& group) {
  Request out = request_of(operation, gib(16), {group});
  if (operation == Operation::all_reduce) out.algorithm = Algorithm::ring;
  if (operation == Operation::all_reduce) out.protocol = Protocol::simple;
  return out;
}

double transfer(const topology::Cluster& cluster, const Request& request) {
  return outcome_of(cluster, request).transfer.value();
}

TEST_CASE("100,000 GPUs: the transfer is bound by the NICs, or by the switch under NVLS tree",
          "[slow]") {
  const topology::Cluster cluster = cluster_of("p5", nodes);
  const Group all = contiguous_group(cluster.gpus());
  const double size = gib(16).value();
  CHECK(transfer(cluster, request(Operation::all_reduce, all)) ==
        Approx(2.0 * (ranks - 1.0) / ranks * size / ring_rate).epsilon(1e-9));
  CHECK(transfer(cluster, request(Operation::all_to_all, all)) ==
        Approx((ranks - 8.0) / ranks * size / pair_rate).epsilon(1e-9));
  // NVLS tree: a node's NICs carry up to 2 S, at the ring's rate; the port 9/8 S.
  Request tree = request(Operation::all_reduce, all);
  tree.algorithm = Algorithm::nvls_tree;
  CHECK(2.0 * size / ring_rate > 9.0 / 8.0 * size / nvls_rate);
  CHECK(transfer(cluster, tree) == Approx(2.0 * size / ring_rate).epsilon(1e-9));
}

TEST_CASE("one NIC at half rate doubles the transfer of 100,000 GPUs", "[slow]") {
  const topology::Cluster built = cluster_of("p5", nodes);
  const topology::Cluster slow = built.degraded(topology::slow_nic(built, GpuId{54321}, 0.5));
  const Group all = contiguous_group(built.gpus());
  for (const Operation operation : {Operation::all_reduce, Operation::all_to_all}) {
    const Outcome outcome = outcome_of(slow, request(operation, all));
    CHECK(outcome.transfer.value() ==
          Approx(2.0 * transfer(built, request(operation, all))).epsilon(1e-9));
    // 54321 = 6790 * 8 + 1. So many steps of a ring take longer still.
    const std::string& link = operation == Operation::all_reduce ? outcome.next : outcome.limit;
    CHECK(link == "efa node6790.nic1->leaf212");
  }
}

TEST_CASE("a failed NIC leaves seven to carry the work of eight") {
  const topology::Cluster built = cluster_of("p5", 125);
  const topology::Cluster cut = built.degraded(topology::slow_nic(built, GpuId{100}, 0.0));
  const Group all = contiguous_group(built.gpus());
  for (const Operation operation : {Operation::all_reduce, Operation::all_to_all}) {
    CHECK(transfer(cut, request(operation, all)) ==
          Approx(8.0 / 7.0 * transfer(built, request(operation, all))).epsilon(1e-9));
  }
}

TEST_CASE("a node without NICs is named as the cut, unless it takes no part") {
  const topology::Cluster built = cluster_of("p5", 4);
  const topology::Cluster cut = built.degraded(topology::slow_node(built, 2, 0.0));
  for (const Operation operation : all_operations) {
    const auto outcome =
        predict(shipped(), cut, request_of(operation, mib(64), {contiguous_group(32)}));
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().front().code == Code::bad_cluster);
    CHECK(outcome.error().front().message.find("node2.nic") != std::string::npos);
    CHECK(predict(shipped(), cut, request_of(operation, mib(64), {contiguous_group(16)})));
  }
}

TEST_CASE("an odd node count changes the volumes by its ranks, and the last leaf binds nothing",
          "[slow]") {
  const topology::Cluster odd = cluster_of("p5", nodes - 1);
  const Group all = contiguous_group(odd.gpus());
  const double n = ranks - 8.0, size = gib(16).value();
  CHECK(transfer(odd, request(Operation::all_reduce, all)) ==
        Approx(2.0 * (n - 1.0) / n * size / ring_rate).epsilon(1e-12));
  CHECK(transfer(odd, request(Operation::all_to_all, all)) ==
        Approx((n - 8.0) / n * size / pair_rate).epsilon(1e-12));
  // The last node with three ranks: each of its NICs takes a third of what crosses the node's
  // border, where eight take an eighth each.
  const Group ragged = contiguous_group(odd.gpus() - 5);
  const double m = n - 5.0;
  CHECK(transfer(odd, request(Operation::all_reduce, ragged)) ==
        Approx(8.0 / 3.0 * 2.0 * (m - 1.0) / m * size / ring_rate).epsilon(1e-9));
}

/// Steps of a ring over the nodes that leave the leaf which most of them leave.
double most_leaving(const topology::Cluster& cluster, const Group& group) {
  std::vector<double> leaving(cluster.leaves(), 0.0);
  const std::size_t count = group.size() / 8;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t here = cluster.leaf_of(group[8 * i]);
    if (cluster.leaf_of(group[(i + 1) % count * 8]) != here) leaving[here] += 1.0;
  }
  return *std::max_element(leaving.begin(), leaving.end());
}

TEST_CASE("over a 2:1 fabric scattered nodes pay for the uplinks, neighbours do not", "[slow]") {
  topology::Fabric fabric;
  fabric.leaf_oversubscription = 2.0;
  const topology::Cluster cluster = cluster_of("p5", nodes, fabric);
  const auto placed =
      topology::place(cluster, cluster.gpus(), {topology::PlacementKind::scattered, 7, 0});
  REQUIRE(placed);
  const Group near = contiguous_group(cluster.gpus());
  const double size = gib(16).value();
  const double alone = 2.0 * (ranks - 1.0) / ranks * size / ring_rate;
  CHECK(transfer(cluster, request(Operation::all_reduce, near)) == Approx(alone).epsilon(1e-9));
  // A leaf of 32 nodes has uplinks for 16: 32 leaving rings' worth take twice as long.
  const double leaving = most_leaving(cluster, placed->gpu);
  CHECK(leaving > 30.0);
  CHECK(transfer(cluster, request(Operation::all_reduce, placed->gpu)) ==
        Approx(alone * leaving / 16.0).epsilon(1e-9));
  // All-to-all leaves the leaf either way: 256 ranks send to all but 256, by half the capacity.
  const double pairs = 2.0 * (ranks - 256.0) / ranks * size / pair_rate;
  CHECK(transfer(cluster, request(Operation::all_to_all, near)) == Approx(pairs).epsilon(1e-9));
  CHECK(transfer(cluster, request(Operation::all_to_all, placed->gpu)) ==
        Approx(pairs).epsilon(1e-9));
}

}  // namespace
}  // namespace flowplan::collective::scale_test
