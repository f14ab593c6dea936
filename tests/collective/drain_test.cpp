#include "flowplan/collective/drain.hpp"

#include <algorithm>
#include <random>

#include "fixture.hpp"
#include "flowplan/collective/tuner.hpp"
#include "flowplan/flow/max_min.hpp"

namespace flowplan::collective::drain_test {
namespace {

TEST_CASE("the drain time is what the max-min solver says of the slowest flow") {
  std::mt19937 random(7);
  const char* instances[] = {"p4d.24xlarge", "p5", "p6-b200", "dgx-h100"};
  for (int trial = 0; trial < 120; ++trial) {
    const int nodes = 1 + static_cast<int>(random() % 6);
    topology::Fabric fabric;
    fabric.nodes_per_leaf = 1 + static_cast<int>(random() % 3);
    fabric.leaves_per_pod = 2;
    fabric.leaf_oversubscription = 1.0 + static_cast<double>(random() % 3);
    const topology::Cluster cluster = cluster_of(instances[random() % 4], nodes, fabric);
    const Stack stack = stack_of(cluster.spec().instance->collective_profile);

    // GPUs in random order, cut into groups of one size.
    Group order = contiguous_group(cluster.gpus());
    std::shuffle(order.begin(), order.end(), random);
    const std::size_t ranks = 2 + random() % (order.size() - 1);
    const Protocol protocol = all_protocols[random() % 3];
    flow::FlowSet flows;
    std::vector<Members> groups;
    for (std::size_t begin = 0; begin + ranks <= order.size(); begin += ranks) {
      groups.push_back(members_of(Group(order.begin() + static_cast<std::ptrdiff_t>(begin),
                                        order.begin() + static_cast<std::ptrdiff_t>(begin + ranks)),
                                  cluster));
    }
    const auto schedule = [&](const Members& members) {
      const Algorithm algorithm = random() % 2 == 0 ? Algorithm::ring : Algorithm::tree;
      return Schedule{Operation::all_reduce, algorithm, protocol, shape_of(members), mib(64)};
    };
    std::vector<Schedule> schedules;
    for (const Members& members : groups) {
      schedules.push_back(schedule(members));
      add_flows(stack, schedules.back(), cluster, members, flows);
    }
    const FlowLister list = [&](const FlowVisitor& visit) {
      for (std::size_t i = 0; i < groups.size(); ++i) {
        visit_flows(stack, schedules[i], cluster, groups[i], visit);
      }
    };

    const auto drained = drain(cluster, std::vector<FlowLister>{list});
    const flow::Allocation allocation = flow::solve(cluster.network(), flows);
    double slowest = 0;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      slowest = std::max(slowest, flows.bytes[f] / allocation.rate[f]);
    }
    REQUIRE(drained.size() == 1);
    CHECK(drained[0].front().time.value() == Approx(slowest).epsilon(1e-9));
  }
}

TEST_CASE("tiers come with their busiest link and all that the class carries") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  const flow::LinkId a = cluster.nic_out(topology::GpuId{0}),
                     b = cluster.nic_out(topology::GpuId{1});
  const flow::LinkId c = cluster.nvlink_out(topology::GpuId{0});
  const std::vector<FlowLister> classes{
      [&](const FlowVisitor& visit) {
        visit(std::vector<flow::Use>{{a, 1.0}, {c, 1.0}}, 50e9);
        visit(std::vector<flow::Use>{{b, 2.0}}, 50e9);
      },
      [&](const FlowVisitor& visit) {
        visit(std::vector<flow::Use>{{c, 2.0}}, 450e9);
      },
  };
  const auto drained = drain(cluster, classes);
  REQUIRE(drained.size() == 2);
  // NIC of 50 GB/s: 1 s on a, 2 s on b. The port of 450 GB/s holds 50e9 + 2 * 450e9 of both
  // classes.
  REQUIRE(drained[0].size() == 2);
  CHECK(drained[0][0].tier == topology::Tier::nvlink);
  CHECK(drained[0][0].time.value() == Approx(950.0 / 450.0));
  CHECK(drained[0][0].carried.value() == Approx(50e9));
  CHECK(drained[0][1].tier == topology::Tier::efa);
  CHECK(drained[0][1].link == b);
  CHECK(drained[0][1].time.value() == Approx(2.0));
  CHECK(drained[0][1].carried.value() == Approx(100e9));
  REQUIRE(drained[1].size() == 1);
  CHECK(drained[1][0].time.value() == Approx(950.0 / 450.0));
}

}  // namespace
}  // namespace flowplan::collective::drain_test
