#include "flowplan/collective/schedule.hpp"

#include <map>

#include "fixture.hpp"

namespace flowplan::collective::schedule_test {
namespace {

using topology::GpuId;

/// Payload on each link.
std::map<std::uint32_t, double> loads(const Stack& stack, const Schedule& schedule,
                                      const topology::Cluster& cluster, const Group& group) {
  std::map<std::uint32_t, double> bytes;
  const bool pairwise = schedule.operation == Operation::send_recv;
  const Members members = pairwise ? Members{group} : members_of(group, cluster);
  visit_flows(stack, schedule, cluster, members, [&](std::span<const flow::Use> uses, double b) {
    for (const flow::Use& use : uses)
      bytes[static_cast<std::uint32_t>(use.link)] += b;
  });
  return bytes;
}

double on(const std::map<std::uint32_t, double>& bytes, flow::LinkId link) {
  const auto found = bytes.find(static_cast<std::uint32_t>(link));
  return found == bytes.end() ? 0.0 : found->second;
}

Schedule of(Operation operation, Algorithm algorithm, int nodes, double size,
            Protocol protocol = Protocol::simple) {
  return {operation, algorithm, protocol, {8 * nodes, nodes, 8}, Bytes(size)};
}

TEST_CASE("a ring of two nodes loads every port and NIC alike") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 2);
  const double size = 16e6, volume = 2.0 * 15 / 16 * size;
  const auto bytes = loads(stack, of(Operation::all_reduce, Algorithm::ring, 2, size), cluster,
                           contiguous_group(16));
  for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
    CHECK(on(bytes, cluster.nic_out(GpuId{gpu})) == Approx(volume / 8));
    CHECK(on(bytes, cluster.nic_in(GpuId{gpu})) == Approx(volume / 8));
    CHECK(on(bytes, cluster.nvlink_out(GpuId{gpu})) == Approx(volume * 7 / 8));
    CHECK(on(bytes, cluster.nvlink_in(GpuId{gpu})) == Approx(volume * 7 / 8));
  }
}

TEST_CASE("a ring of one node sends its whole volume through each port") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 1);
  const auto bytes = loads(stack, of(Operation::all_gather, Algorithm::ring, 1, 8e6), cluster,
                           contiguous_group(8));
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    CHECK(on(bytes, cluster.nvlink_out(GpuId{gpu})) == Approx(7e6));
    CHECK(on(bytes, cluster.nvlink_in(GpuId{gpu})) == Approx(7e6));
    CHECK(on(bytes, cluster.nic_out(GpuId{gpu})) == 0.0);
  }
}

TEST_CASE("in-switch reduction moves (n + 1) / n of the size through each port") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 1);
  const auto bytes = loads(stack, of(Operation::all_reduce, Algorithm::nvls, 1, 8e6), cluster,
                           contiguous_group(8));
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu) {
    CHECK(on(bytes, cluster.nvlink_out(GpuId{gpu})) == Approx(9e6));
    CHECK(on(bytes, cluster.nvlink_in(GpuId{gpu})) == Approx(9e6));
  }
}

TEST_CASE(
    "a tree over two nodes sends the size through each node's NICs, over more at most twice") {
  const Stack stack = stack_of("collectives-p5");
  for (const Algorithm algorithm : {Algorithm::tree, Algorithm::nvls_tree}) {
    for (const int nodes : {2, 3, 4, 5, 8, 13}) {
      CAPTURE(name(algorithm), nodes);
      const topology::Cluster cluster = cluster_of("p5", nodes);
      const auto bytes = loads(stack, of(Operation::all_reduce, algorithm, nodes, 8e6), cluster,
                               contiguous_group(cluster.gpus()));
      double most = 0, sum_out = 0, sum_in = 0;
      for (std::uint32_t gpu = 0; gpu < cluster.gpus(); ++gpu) {
        const double out = on(bytes, cluster.nic_out(GpuId{gpu}));
        most = std::max(most, 8 * out);
        sum_out += out;
        sum_in += on(bytes, cluster.nic_in(GpuId{gpu}));
      }
      // Every edge of both trees carries half of the size each way.
      CHECK(sum_out == Approx(2.0 * (nodes - 1) * 8e6));
      CHECK(sum_in == Approx(sum_out));
      if (nodes == 2) CHECK(most == Approx(8e6));
      if (nodes == 3) CHECK(most == Approx(1.5 * 8e6));
      if (nodes == 4) CHECK(most == Approx(2.0 * 8e6));
      CHECK(most <= 2.0 * 8e6 * (1 + 1e-12));
    }
  }
}

TEST_CASE("the double tree is two trees, and a leaf of one is no leaf of the other") {
  for (int nodes = 2; nodes <= 200; ++nodes) {
    CAPTURE(nodes);
    const DoubleTree trees = double_tree(nodes);
    std::vector<int> inner(static_cast<std::size_t>(nodes));
    for (const std::vector<int>* tree : {&trees.first, &trees.second}) {
      std::vector<int> children(static_cast<std::size_t>(nodes));
      int roots = 0;
      for (int node = 0; node < nodes; ++node) {
        int at = node, hops = 0;
        while ((*tree)[static_cast<std::size_t>(at)] >= 0) {
          at = (*tree)[static_cast<std::size_t>(at)];
          REQUIRE(++hops < nodes);
        }
        CHECK(hops <= 2 * 8);  // logarithmic
        const int parent = (*tree)[static_cast<std::size_t>(node)];
        if (parent < 0) {
          ++roots;
        } else {
          ++children[static_cast<std::size_t>(parent)];
        }
      }
      CHECK(roots == 1);
      for (int node = 0; node < nodes; ++node) {
        const int count = children[static_cast<std::size_t>(node)];
        CHECK(count <= 2);
        if (count == 2) ++inner[static_cast<std::size_t>(node)];
      }
    }
    if (nodes % 2 == 0) {
      for (const int count : inner)
        CHECK(count <= 1);
    }
  }
}

TEST_CASE("send and receive follow the ranks' order") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 2);
  const Group group{GpuId{0}, GpuId{8}, GpuId{1}, GpuId{9}};
  const auto bytes =
      loads(stack, of(Operation::send_recv, Algorithm::ring, 2, 1e6), cluster, group);
  for (const GpuId gpu : group) {
    CHECK(on(bytes, cluster.nic_out(gpu)) == Approx(1e6));
    CHECK(on(bytes, cluster.nic_in(gpu)) == Approx(1e6));
    CHECK(on(bytes, cluster.nvlink_out(gpu)) == 0.0);
  }
}

TEST_CASE(
    "nodes with different numbers of ranks carry the ring's whole volume, each rank its share") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 2);
  const Group group{GpuId{0}, GpuId{1}, GpuId{8}, GpuId{9}, GpuId{10}};
  const Schedule schedule{
      Operation::all_gather, Algorithm::ring, Protocol::simple, {5, 2, 3}, Bytes(5e6)};
  const auto bytes = loads(stack, schedule, cluster, group);
  double left = 0, right = 0;
  for (const std::uint32_t gpu : {0u, 1u})
    left += on(bytes, cluster.nic_out(GpuId{gpu}));
  for (const std::uint32_t gpu : {8u, 9u, 10u})
    right += on(bytes, cluster.nic_out(GpuId{gpu}));
  CHECK(left == Approx(4e6));
  CHECK(right == Approx(4e6));
  // Two ranks take half of what the three send, which is a third each.
  for (const std::uint32_t gpu : {0u, 1u}) {
    CHECK(on(bytes, cluster.nic_out(GpuId{gpu})) == Approx(2e6));
    CHECK(on(bytes, cluster.nic_in(GpuId{gpu})) == Approx(2e6));
  }
  for (const std::uint32_t gpu : {8u, 9u, 10u}) {
    CHECK(on(bytes, cluster.nic_out(GpuId{gpu})) == Approx(4e6 / 3.0));
    CHECK(on(bytes, cluster.nic_in(GpuId{gpu})) == Approx(4e6 / 3.0));
  }
}

}  // namespace
}  // namespace flowplan::collective::schedule_test
