#include "flowplan/collective/concurrent.hpp"

#include <algorithm>
#include <random>

#include "fixture.hpp"
#include "flowplan/collective/drain.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/flow/fold.hpp"
#include "flowplan/flow/simulate.hpp"
#include "flowplan/topology/degradation.hpp"

namespace flowplan::collective::concurrent_test {
namespace {

using topology::GpuId;

struct Kind {
  Operation operation;
  Algorithm algorithm;
  Protocol protocol;
};
constexpr Kind kinds[] = {
    {Operation::all_reduce, Algorithm::ring, Protocol::simple},
    {Operation::all_reduce, Algorithm::ring, Protocol::ll128},
    {Operation::all_reduce, Algorithm::tree, Protocol::ll128},
    {Operation::all_reduce, Algorithm::nvls, Protocol::simple},
    {Operation::all_reduce, Algorithm::nvls_tree, Protocol::simple},
    {Operation::all_gather, Algorithm::ring, Protocol::simple},
    {Operation::reduce_scatter, Algorithm::ring, Protocol::simple},
    {Operation::all_to_all, Algorithm::pairwise, Protocol::simple},
    {Operation::all_to_all, Algorithm::pxn, Protocol::simple},
    {Operation::send_recv, Algorithm::ring, Protocol::simple},
};

Running running(const Kind& kind, const Group& group, const topology::Cluster& cluster, Bytes size,
                double start = 0.0) {
  Members members = members_of(group, cluster);
  const Shape shape = shape_of(members);
  if (kind.operation == Operation::send_recv) members = {group};
  return {{kind.operation, kind.algorithm, kind.protocol, shape, size}, std::move(members), start};
}

TEST_CASE("folded and unfolded collectives end together, alone and several at once") {
  std::mt19937 random(17);
  for (int trial = 0; trial < 40; ++trial) {
    topology::Fabric fabric;
    fabric.nodes_per_leaf = 1 + static_cast<int>(random() % 4);
    fabric.leaves_per_pod = 2;
    fabric.leaf_oversubscription = 1.0 + static_cast<double>(random() % 2);
    topology::Cluster cluster = cluster_of("p5", 2 + static_cast<int>(random() % 6), fabric);
    if (random() % 2 == 0) {
      const GpuId hurt{static_cast<std::uint32_t>(random() % cluster.gpus())};
      cluster = cluster.degraded(topology::slow_nic(cluster, hurt, random() % 2 == 0 ? 0.0 : 0.5));
    }
    const Stack stack = stack_of("collectives-p5");
    std::vector<Running> all;
    for (std::uint32_t jobs = 1 + random() % 4; jobs > 0; --jobs) {
      Group group = contiguous_group(cluster.gpus());
      if (random() % 2 == 0) std::shuffle(group.begin(), group.end(), random);
      if (random() % 2 == 0) group.resize(2 + random() % (group.size() - 1));
      const bool across = members_of(group, cluster).size() > 1;
      Kind kind = kinds[random() % std::size(kinds)];
      while (!available(stack, kind.operation, shape_of(members_of(group, cluster)), true,
                        kind.algorithm, kind.protocol)) {
        kind = kinds[random() % std::size(kinds)];
      }
      CAPTURE(across);
      all.push_back(running(kind, group, cluster,
                            Bytes(1e6 * (1.0 + static_cast<double>(random() % 100))),
                            1e-4 * static_cast<double>(random() % 3)));
      if (random() % 4 == 0)
        all.back().cap_per_s = 1e9 * (1.0 + static_cast<double>(random() % 20));
    }
    const flow::Quotient folded = in_step(stack, cluster, all);
    const flow::FlowSet unfolded = in_step_unfolded(stack, cluster, all);
    REQUIRE(folded.flows.size() == all.size());
    const flow::Completion a = flow::simulate(folded.network, folded.flows);
    const flow::Completion b = flow::simulate(cluster.network(), unfolded);
    for (std::size_t i = 0; i < all.size(); ++i) {
      CAPTURE(trial, i, name(all[i].schedule.operation), name(all[i].schedule.algorithm));
      CHECK(a.end_s[i] == Approx(b.end_s[i]).epsilon(1e-9));
    }
  }
}

TEST_CASE("alone, a collective ends with the slowest of its listed flows") {
  const Stack stack = stack_of("collectives-p5");
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 2;
  fabric.leaf_oversubscription = 2.0;
  const topology::Cluster built = cluster_of("p5", 5, fabric);
  const topology::Cluster cluster = built.degraded(topology::slow_nic(built, GpuId{11}, 0.5));
  for (const Kind& kind : kinds) {
    const Group group = contiguous_group(kind.algorithm == Algorithm::nvls ? 8 : 37);
    const std::vector<Running> one{running(kind, group, cluster, mib(64))};
    flow::FlowSet listed;
    add_flows(stack, one[0].schedule, cluster, one[0].members, listed);
    const flow::Completion all = flow::simulate(cluster.network(), listed);
    const flow::Quotient folded = in_step(stack, cluster, one);
    CAPTURE(name(kind.operation), name(kind.algorithm));
    CHECK(flow::simulate(folded.network, folded.flows).makespan_s ==
          Approx(all.makespan_s).epsilon(1e-9));
  }
}

TEST_CASE("equal groups are one class") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 64);
  std::vector<Running> all;
  for (std::uint32_t node = 0; node < 64; ++node) {
    all.push_back(running({Operation::all_reduce, Algorithm::ring, Protocol::simple},
                          contiguous_group(8, 8 * node), cluster, mib(64)));
  }
  const flow::Quotient groups = in_step(stack, cluster, all);
  CHECK(groups.flows.size() == 64);
  CHECK(groups.network.size() == 64);  // a node's ports, in and out, are a class
  const flow::Quotient folded = flow::fold(groups);
  CHECK(folded.flows.size() == 1);
  CHECK(folded.flows_in_class[0] == 64);
}

TEST_CASE("two rings that share their NICs take as long as both need, by hand") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 2);
  // Half the GPUs of both nodes each: no NIC is shared, and each takes 2 * 7/8 * S over four NICs.
  const auto half = [](std::uint32_t first) {
    Group group;
    for (std::uint32_t i = 0; i < 4; ++i)
      group.push_back(GpuId{first + i});
    for (std::uint32_t i = 0; i < 4; ++i)
      group.push_back(GpuId{8 + first + i});
    return group;
  };
  const Kind ring{Operation::all_reduce, Algorithm::ring, Protocol::simple};
  const double alone = 1.75 * 64e6 / (361e9 / 2.0);
  const auto check = [&](const std::vector<Running>& all, double end_first, double end_second) {
    const flow::Quotient folded = in_step(stack, cluster, all);
    const flow::Completion completion = flow::simulate(folded.network, folded.flows);
    CHECK(completion.end_s[0] == Approx(end_first * alone));
    CHECK(completion.end_s[1] == Approx(end_second * alone));
  };
  const Running first = running(ring, half(0), cluster, Bytes(64e6)),
                second = running(ring, half(4), cluster, Bytes(64e6));
  check({first, second}, 1.0, 1.0);
  // The same GPUs: both take twice as long; with one a quarter later, it runs alone at the end.
  check({first, first}, 2.0, 2.0);
  Running later = first;
  later.start_s = alone / 2.0;
  // Half done alone, the other half at half rate: 1.5 alone; then the later one's last half alone.
  check({first, later}, 1.5, 2.0);
}

TEST_CASE("collectives of 100,000 GPUs fold to a few classes") {
  const Stack stack = stack_of("collectives-p5");
  const topology::Cluster cluster = cluster_of("p5", 12500);
  const Group everyone = contiguous_group(cluster.gpus());
  std::vector<Running> all;
  for (const Kind kind : {kinds[0], kinds[8]})
    all.push_back(running(kind, everyone, cluster, gib(1)));
  const flow::Quotient folded = in_step(stack, cluster, all);
  CHECK(folded.network.size() < 40);
  const flow::Completion completion = flow::simulate(folded.network, folded.flows);
  // Both are bound by the NICs all the way: they end when these have carried both.
  const double n = 100000.0, size = gib(1).value();
  const double both = 2.0 * (n - 1.0) / n * size / 361e9 + (n - 8.0) / n * size / (342e9 / 8);
  CHECK(completion.makespan_s == Approx(both).epsilon(1e-9));
}

}  // namespace
}  // namespace flowplan::collective::concurrent_test
