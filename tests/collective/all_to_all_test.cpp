// All-to-all: what each link carries, counted and listed.
#include <algorithm>
#include <map>
#include <random>

#include "fixture.hpp"
#include "flowplan/collective/schedule.hpp"
#include "flowplan/topology/placement.hpp"

namespace flowplan::collective::all_to_all_test {
namespace {

using topology::GpuId;

using Loads = std::map<std::uint32_t, double>;

Schedule pairs(const Members& members, Algorithm algorithm, double size) {
  return {Operation::all_to_all, algorithm, Protocol::simple, shape_of(members), Bytes(size)};
}

enum class Method { counted, listed };

Loads loads(Method method, Algorithm algorithm, const topology::Cluster& cluster,
            const Group& group, double size) {
  const Stack stack = stack_of(cluster.spec().instance->collective_profile);
  const Members members = members_of(group, cluster);
  Loads bytes;
  const auto show = method == Method::counted ? visit_loads : visit_flows;
  show(stack, pairs(members, algorithm, size), cluster, members,
       [&](std::span<const flow::Use> uses, double b) {
         for (const flow::Use& use : uses)
           bytes[static_cast<std::uint32_t>(use.link)] += b;
       });
  return bytes;
}

double on(const Loads& bytes, flow::LinkId link) {
  const auto found = bytes.find(static_cast<std::uint32_t>(link));
  return found == bytes.end() ? 0.0 : found->second;
}

void check_same(const Loads& counted, const Loads& listed) {
  CHECK(counted.size() == listed.size());
  for (const auto& [link, bytes] : listed) {
    const auto found = counted.find(link);
    REQUIRE(found != counted.end());
    CHECK(found->second == Approx(bytes).epsilon(1e-11));
  }
}

TEST_CASE("counted loads are those of the listed flows") {
  std::mt19937 random(42);
  for (int trial = 0; trial < 160; ++trial) {
    const char* instances[] = {"p5", "p5", "p4d.24xlarge", "u-p6e-gb200x36", "p5.4xlarge"};
    const char* instance = instances[random() % 5];
    topology::Fabric fabric;
    fabric.nodes_per_leaf = 1 + static_cast<int>(random() % 5);
    fabric.leaves_per_pod = 1 + static_cast<int>(random() % 3);
    fabric.rail_optimised = random() % 3 == 0;
    const int most = std::string_view(instance).starts_with("u-") ? 3 : 11;
    const topology::Cluster built =
        cluster_of(instance, 2 + static_cast<int>(random() % static_cast<unsigned>(most)), fabric);

    std::vector<topology::Slowdown> slow;
    for (std::uint32_t hurt = random() % 4; hurt > 0; --hurt) {
      const GpuId gpu{static_cast<std::uint32_t>(random() % built.gpus())};
      const flow::LinkId nic = random() % 2 == 0 ? built.nic_out(gpu) : built.nic_in(gpu);
      slow.push_back({nic, random() % 2 == 0 ? 0.0 : 0.5});
    }
    const topology::Cluster cluster = built.degraded(slow);

    Group group = contiguous_group(cluster.gpus());
    if (random() % 2 == 0) std::shuffle(group.begin(), group.end(), random);
    if (random() % 2 == 0) group.resize(2 + random() % (group.size() - 1));
    const bool across = members_of(group, cluster).size() > 1;
    const Algorithm algorithm = across && random() % 3 != 0 ? Algorithm::pxn : Algorithm::pairwise;
    CAPTURE(trial, instance, cluster.nodes(), group.size(), name(algorithm), fabric.rail_optimised,
            slow.size());
    check_same(loads(Method::counted, algorithm, cluster, group, 1e9),
               loads(Method::listed, algorithm, cluster, group, 1e9));
  }
}

TEST_CASE(
    "two nodes: each NIC carries what its GPU's peers get, NVLink what stays or is passed on") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  // 16 ranks, 1 MB a pair: 8 MB to the other node by each rank. PXN: a GPU gets 7 MB of its own
  // node's and 7 MB that it passes on to the other node's GPU at its place.
  for (const Algorithm algorithm : {Algorithm::pairwise, Algorithm::pxn}) {
    const Loads bytes = loads(Method::counted, algorithm, cluster, contiguous_group(16), 16e6);
    const double port = algorithm == Algorithm::pxn ? 14e6 : 7e6;
    for (std::uint32_t gpu = 0; gpu < 16; ++gpu) {
      CHECK(on(bytes, cluster.nic_out(GpuId{gpu})) == Approx(8e6));
      CHECK(on(bytes, cluster.nic_in(GpuId{gpu})) == Approx(8e6));
      CHECK(on(bytes, cluster.nvlink_out(GpuId{gpu})) == Approx(port));
      CHECK(on(bytes, cluster.nvlink_in(GpuId{gpu})) == Approx(port));
    }
  }
}

TEST_CASE("uplinks carry what leaves the leaf, and the pod") {
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 2;
  fabric.leaves_per_pod = 2;
  const topology::Cluster cluster = cluster_of("p5", 7, fabric);  // leaves of 2, 2, 2, 1 nodes
  const Loads bytes = loads(Method::counted, Algorithm::pxn, cluster, contiguous_group(56), 56e6);
  const auto both = [&](const std::vector<flow::LinkId>& links, double expected) {
    REQUIRE(links.size() == 2);
    CHECK(on(bytes, links[0]) == Approx(expected));
    CHECK(on(bytes, links[1]) == Approx(expected));
  };
  both(cluster.uplinks_of_leaf(0), 16.0 * 40.0 * 1e6);
  both(cluster.uplinks_of_leaf(3), 8.0 * 48.0 * 1e6);
  both(cluster.uplinks_of_pod(0), 32.0 * 24.0 * 1e6);
  both(cluster.uplinks_of_pod(1), 24.0 * 32.0 * 1e6);
}

TEST_CASE("in a rail-optimised fabric PXN never leaves its rail") {
  topology::Fabric fabric;
  fabric.rail_optimised = true;
  fabric.nodes_per_leaf = 4;
  const topology::Cluster cluster = cluster_of("p5", 4, fabric);
  const auto uplink = [&](Algorithm algorithm) {
    return on(loads(Method::counted, algorithm, cluster, contiguous_group(32), 32e6),
              cluster.uplinks_of_leaf(0)[0]);
  };
  CHECK(uplink(Algorithm::pxn) == 0.0);
  // Pairwise: each of the rail's 4 GPUs sends to 3 other nodes' GPUs on the 7 other rails.
  CHECK(uplink(Algorithm::pairwise) == Approx(4.0 * 3.0 * 7.0 * 1e6));
}

TEST_CASE("uplinks of many hashed pairs are loaded evenly, in sum as when they are one") {
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 400;
  const auto sum_of = [&](topology::Routing routing) {
    fabric.routing = routing;
    const topology::Cluster cluster = cluster_of("p5", 1000, fabric);  // 8e6 pairs of node and rank
    const Loads bytes =
        loads(Method::counted, Algorithm::pxn, cluster, contiguous_group(8000), 8000e6);
    double sum = 0.0;
    for (const flow::LinkId link : cluster.uplinks_of_leaf(2))
      sum += on(bytes, link);
    return sum;
  };
  CHECK(sum_of(topology::Routing::ecmp) == Approx(2.0 * 1600.0 * 6400.0 * 1e6));
  CHECK(sum_of(topology::Routing::ecmp) == Approx(sum_of(topology::Routing::spray)));
}

TEST_CASE("listing every flow gives the same outcome") {
  const topology::Cluster cluster = cluster_of("p5", 37);
  for (const Operation operation : all_operations) {
    Request request = request_of(operation, mib(64), {contiguous_group(290)});
    const Outcome counted = outcome_of(cluster, request);
    request.list_flows = true;
    const Outcome listed = outcome_of(cluster, request);
    CAPTURE(name(operation));
    CHECK(counted.time.value() == Approx(listed.time.value()).epsilon(1e-9));
    CHECK(counted.limit == listed.limit);
    REQUIRE(counted.carried.size() == listed.carried.size());
    for (std::size_t i = 0; i < counted.carried.size(); ++i) {
      CHECK(counted.carried[i].first == listed.carried[i].first);
      CHECK(counted.carried[i].second.value() ==
            Approx(listed.carried[i].second.value()).epsilon(1e-9));
    }
  }
}

TEST_CASE("PXN is taken between nodes of several ranks, and can be forced off") {
  const topology::Cluster two = cluster_of("p5", 2), one = cluster_of("p5", 1),
                          single = cluster_of("p5.4xlarge", 4);
  CHECK(outcome_of(two, Operation::all_to_all, mib(64)).algorithm == Algorithm::pxn);
  CHECK(outcome_of(one, Operation::all_to_all, mib(64)).algorithm == Algorithm::pairwise);
  CHECK(outcome_of(single, Operation::all_to_all, mib(64)).algorithm == Algorithm::pairwise);
  Request forced = request_of(Operation::all_to_all, mib(64), {contiguous_group(16)});
  forced.algorithm = Algorithm::pairwise;
  CHECK(outcome_of(two, forced).algorithm == Algorithm::pairwise);
  forced.algorithm = Algorithm::ring;
  CHECK_FALSE(predict(shipped(), two, forced));
  forced.algorithm = {};
  forced.protocol = Protocol::ll;
  CHECK_FALSE(predict(shipped(), two, forced));
}

TEST_CASE("all-to-all says what no measurement is behind") {
  CHECK(outcome_of(cluster_of("p5", 8), Operation::all_to_all, mib(64)).calibrated);
  CHECK(outcome_of(cluster_of("p6-b200", 4), Operation::all_to_all, mib(64)).note ==
        "alltoall was not measured for this fabric (P5's constants)");
  Request across = request_of(Operation::all_to_all, mib(64), {contiguous_group(64)});
  across.algorithm = Algorithm::pairwise;
  CHECK(outcome_of(cluster_of("p5", 8), across).note.find("across rails") != std::string::npos);
}

TEST_CASE("the law of all-to-all, by hand") {
  // One Hopper node, 8 ranks, 64 MiB: messages of 8 MiB, all channels run.
  // T0 = 4.7 + 1.43 us, A = 3 * 0.502 + 5.46 us, D = (7/8 + 0.135/8) * 64 MiB at 313.8 GB/s, joined
  // by p = 0.83.
  const double inside =
      outcome_of(cluster_of("p5", 1), Operation::all_to_all, mib(64)).time.value();
  const double a = 3 * 0.502 + 5.46, d = 7.135 / 8.0 * 67108864.0 / 313.8e3;
  CHECK(inside * 1e6 ==
        Approx(6.13 + std::pow(std::pow(a, 0.83) + std::pow(d, 0.83), 1 / 0.83)).epsilon(1e-9));
  // 8 nodes of 8, 64 MiB: messages of 1 MiB. V = 56/64 S at 42.75 GB/s a GPU, and
  // 1.03 * sqrt(1/8) of that lost; 150 + 3 * 5 us.
  const double across =
      outcome_of(cluster_of("p5", 8), Operation::all_to_all, mib(64)).time.value();
  const double transfer = 56.0 / 64.0 * 67108864.0 / 42.75e3;
  CHECK(across * 1e6 == Approx(165.0 + transfer * (1.0 + 1.03 * std::sqrt(0.125))).epsilon(1e-9));
}

TEST_CASE("a hierarchical all-to-all is two, one after the other, by hand") {
  // 8 nodes of 8, 64 MiB: messages of 1 MiB. First in the node, 7 messages of 8 MiB to each rail:
  // T0 = 4.7 + 1.43 us, A = 3 * 0.502 + 5.46 us, D = 56 MiB at 313.8 GB/s, p = 0.83. Then on the
  // rail 7 messages of 8 MiB at 42.75 GB/s: past 1.916 MB a message costs no more, so that of its
  // transfer 1.03 * sqrt(131072 / 1.916e6) * 1.916e6 / 8 MiB comes on top; 150 + 3 * 5 us.
  const topology::Cluster cluster = cluster_of("p5", 8);
  Request request = request_of(Operation::all_to_all, mib(64), {contiguous_group(64)});
  request.algorithm = Algorithm::hierarchical;
  const Outcome outcome = outcome_of(cluster, request);
  const double volume = 56.0 * 1048576.0;
  const double a = 3 * 0.502 + 5.46, d = volume / 313.8e3;
  const double first = 6.13 + std::pow(std::pow(a, 0.83) + std::pow(d, 0.83), 1 / 0.83);
  const double lost = 1.03 * std::sqrt(131072.0 / 1.916e6) * 1.916e6 / 8388608.0;
  const double second = 165.0 + volume / 42.75e3 * (1.0 + lost);
  CHECK(outcome.algorithm == Algorithm::hierarchical);
  CHECK(us(outcome.time) == Approx(first + second).epsilon(1e-9));
  CHECK(us(outcome.transfer) == Approx(d + volume / 42.75e3).epsilon(1e-9));
  CHECK_FALSE(outcome.calibrated);  // no row, and NCCL would not run it
  // The same bytes as by rails at once.
  request.algorithm = Algorithm::pxn;
  CHECK(outcome_of(cluster, request).carried == outcome.carried);
}

TEST_CASE("between nodes pairs on different rails are slower by what raw writes lose") {
  // 8 MiB messages and more: the transfer decides, 1.58 times as long as on rails.
  const topology::Cluster cluster = cluster_of("p5", 2);
  Request request = request_of(Operation::all_to_all, gib(4), {contiguous_group(16)});
  const double rails = outcome_of(cluster, request).transfer.value();
  request.algorithm = Algorithm::pairwise;
  const Outcome across = outcome_of(cluster, request);
  CHECK(across.transfer.value() == Approx(1.58 * rails));
  CHECK_THAT(across.note, Catch::Contains("slowed 1.58 times"));
}

}  // namespace
}  // namespace flowplan::collective::all_to_all_test
