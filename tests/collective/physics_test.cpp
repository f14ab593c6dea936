// No prediction beats the hardware, whatever the shape.
#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "fixture.hpp"
#include "flowplan/collective/law.hpp"
#include "flowplan/collective/schedule.hpp"

namespace flowplan::collective::physics_test {
namespace {

/// Clusters with their stacks, each built once.
struct Site {
  topology::Cluster cluster;
  Stack stack;
};

std::vector<Site> sites() {
  std::vector<Site> out;
  for (const char* instance :
       {"p4d.24xlarge", "p5", "p5en", "p6-b200", "p6-b300", "dgx-a100", "dgx-h100", "dgx-b200",
        "p5.4xlarge", "gb200-nvl72", "u-p6e-gb200x36"}) {
    for (const int count : {1, 2, 3, 8}) {
      topology::Cluster cluster = cluster_of(instance, count);
      if (cluster.gpus() < 2) continue;
      Stack stack = stack_of(cluster.spec().instance->collective_profile);
      out.push_back({std::move(cluster), std::move(stack)});
    }
  }
  return out;
}

/// One or several groups of a random size on random GPUs, or on neighbouring ones.
std::vector<Group> random_groups(const topology::Cluster& cluster, std::mt19937& random) {
  Group order = contiguous_group(cluster.gpus());
  if (random() % 2 == 0) std::shuffle(order.begin(), order.end(), random);
  const std::size_t ranks = 2 + random() % std::min<std::size_t>(order.size() - 1, 64);
  const std::size_t fit = order.size() / ranks;
  const std::size_t count = 1 + random() % std::min<std::size_t>(fit, 6);
  std::vector<Group> groups;
  for (std::size_t i = 0; i < count; ++i) {
    const auto begin = order.begin() + static_cast<std::ptrdiff_t>(i * ranks);
    groups.emplace_back(begin, begin + static_cast<std::ptrdiff_t>(ranks));
  }
  return groups;
}

/// The most that a link carries over what it can carry in the time; all groups of one shape.
double utilisation(const Site& site, const Request& request, const Outcome& outcome) {
  const double wire = site.stack.wire_factor[index(outcome.protocol)];
  std::map<std::uint32_t, double> bytes;
  for (const Group& group : request.groups) {
    const Members members = members_of(group, site.cluster);
    if (!(shape_of(members) == outcome.shape)) continue;  // may run another schedule, in less time
    const Schedule schedule{request.operation, outcome.algorithm, outcome.protocol, outcome.shape,
                            request.size};
    visit_flows(site.stack, schedule, site.cluster,
                request.operation == Operation::send_recv ? Members{group} : members,
                [&](std::span<const flow::Use> uses, double b) {
                  for (const flow::Use& use : uses) {
                    bytes[static_cast<std::uint32_t>(use.link)] += b * wire;
                  }
                });
  }
  double most = 0.0;
  for (const auto& [link, carried] : bytes) {
    most = std::max(most, carried / (site.cluster.network().capacity[link] * outcome.time.value()));
  }
  return most;
}

void check_capacities(int shapes) {
  std::mt19937 random(2026);
  const std::vector<Site> all = sites();
  int checked = 0;
  double most = 0.0;
  for (int trial = 0; trial < shapes; ++trial) {
    const Site& site = all[random() % all.size()];
    Request request = request_of(all_operations[random() % all_operations.size()],
                                 Bytes(std::exp2(3.0 + static_cast<double>(random() % 330) / 10.0)),
                                 random_groups(site.cluster, random));
    const auto outcome = predict(site.stack, site.cluster, request);
    if (!outcome) FAIL(render(outcome.error()));
    CAPTURE(site.cluster.spec().instance->id, site.cluster.domains(), name(request.operation),
            name(outcome->algorithm), name(outcome->protocol), request.size.value(),
            request.groups.size(), outcome->shape.ranks, outcome->shape.nodes);
    const double used = utilisation(site, request, *outcome);
    CHECK(used <= 1.0);
    CHECK(outcome->time.value() > 0.0);
    CHECK(std::isfinite(outcome->time.value()));
    most = std::max(most, used);
    ++checked;
  }
  CHECK(checked == shapes);
  CHECK(most > 0.8);  // and some shape comes near it
}

TEST_CASE("no link carries more than its capacity") {
  check_capacities(1000);
}

TEST_CASE("no link carries more than its capacity, in 20,000 random shapes", "[slow]") {
  check_capacities(20000);
}

/// Chunk that decides the loops of an NVLS schedule; 0 for the others.
double chunk_of(const Site& site, const Outcome& outcome, Bytes size) {
  if (outcome.algorithm == Algorithm::nvls) {
    return chunk(site.stack.nvls.chunk, 1.0 * site.stack.nvls.channels * outcome.shape.ranks, size)
        .value();
  }
  if (outcome.algorithm == Algorithm::nvls_tree) {
    const double operations = 1.0 * site.stack.network.nvls_tree_channels * outcome.shape.per_node;
    return chunk(site.stack.network.nvls_tree_chunk, operations, size).value();
  }
  return 0.0;
}

TEST_CASE("time grows with size, except where algorithm, protocol or chunk change", "[slow]") {
  std::mt19937 random(11);
  const std::vector<Site> all = sites();
  for (int trial = 0; trial < 150; ++trial) {
    const Site& site = all[random() % all.size()];
    Request request = request_of(all_operations[random() % all_operations.size()], Bytes(8),
                                 random_groups(site.cluster, random));
    Outcome before;
    double chunk_before = 0.0;
    for (double exponent = 3.0; exponent < 36.0; exponent += 0.37) {
      request.size = Bytes(std::exp2(exponent));
      const auto outcome = predict(site.stack, site.cluster, request);
      REQUIRE(outcome);
      const double now = chunk_of(site, *outcome, request.size);
      const bool same = outcome->algorithm == before.algorithm &&
                        outcome->protocol == before.protocol && now == chunk_before &&
                        outcome->shape == before.shape;
      CAPTURE(site.cluster.spec().instance->id, name(request.operation), name(outcome->algorithm),
              name(outcome->protocol), request.size.value());
      if (exponent > 3.0 && same) CHECK(outcome->time.value() >= before.time.value() * (1 - 1e-12));
      before = *outcome;
      chunk_before = now;
    }
  }
}

TEST_CASE("more contention never helps") {
  std::mt19937 random(5);
  const std::vector<Site> all = sites();
  for (int trial = 0; trial < 200; ++trial) {
    const Site& site = all[random() % all.size()];
    Request together = request_of(all_operations[random() % all_operations.size()], mib(64),
                                  random_groups(site.cluster, random));
    const auto all_of_them = predict(site.stack, site.cluster, together);
    REQUIRE(all_of_them);
    for (const Group& group : together.groups) {
      const auto alone =
          predict(site.stack, site.cluster, request_of(together.operation, together.size, {group}));
      REQUIRE(alone);
      CHECK(alone->time.value() <= all_of_them->time.value() * (1 + 1e-12));
    }
  }
}

}  // namespace
}  // namespace flowplan::collective::physics_test
