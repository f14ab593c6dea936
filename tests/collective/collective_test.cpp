#include "flowplan/collective/collective.hpp"

#include <algorithm>
#include <map>

#include "fixture.hpp"

namespace flowplan::collective::collective_test {
namespace {

using topology::GpuId;

Request forced_ring(Bytes size, std::vector<Group> groups) {
  Request request = request_of(Operation::all_reduce, size, std::move(groups));
  request.algorithm = Algorithm::ring;
  request.protocol = Protocol::simple;
  return request;
}

/// GPUs `first`, `first + stride`, ...: `count` of them.
Group strided(std::uint32_t first, std::uint32_t stride, std::uint32_t count) {
  Group group;
  for (std::uint32_t i = 0; i < count; ++i)
    group.push_back(GpuId{first + i * stride});
  return group;
}

TEST_CASE("P5 all_gather jumps from 512 MiB to 1 GiB as measured on 8 nodes") {
  const topology::Cluster cluster = cluster_of("p5.48xlarge", 8);
  const Outcome small = outcome_of(cluster, Operation::all_gather, mib(512));
  const Outcome large = outcome_of(cluster, Operation::all_gather, gib(1));
  CHECK(us(small.time) == Approx(2022.8).epsilon(0.03));
  CHECK(us(large.time) == Approx(4708.6).epsilon(0.03));
  CHECK(small.protocol == Protocol::ll128);
  CHECK(large.protocol == Protocol::simple);
}

TEST_CASE("NVLS busbw jumps at the size that the plugin's chunk says") {
  const auto busbw = [](const topology::Cluster& cluster, Bytes size) {
    const Outcome outcome = outcome_of(cluster, Operation::all_reduce, size);
    CHECK(outcome.algorithm == Algorithm::nvls);
    return outcome.busbw.value() / 1e9;
  };
  // Plain H100: 438 at 512 MiB, 466 at 1 GiB. P5: 444 at 2 GiB, 476 at 4. P6-B200: 741 at 4, 839
  // at 8.
  const topology::Cluster plain = cluster_of("dgx-h100", 1), p5 = cluster_of("p5", 1),
                          p6 = cluster_of("p6-b200", 1);
  CHECK(busbw(plain, mib(512)) == Approx(438).epsilon(0.03));
  CHECK(busbw(plain, gib(1)) == Approx(466).epsilon(0.03));
  CHECK(busbw(p5, gib(2)) == Approx(444).epsilon(0.03));
  CHECK(busbw(p5, gib(4)) == Approx(476).epsilon(0.03));
  CHECK(busbw(p6, gib(4)) == Approx(741).epsilon(0.05));
  CHECK(busbw(p6, gib(8)) == Approx(839).epsilon(0.03));
}

TEST_CASE("bandwidths follow nccl-tests' definitions") {
  const topology::Cluster cluster = cluster_of("p5", 4);
  const Outcome outcome = outcome_of(cluster, Operation::all_reduce, gib(8));
  CHECK(outcome.algbw.value() == Approx(gib(8).value() / outcome.time.value()));
  CHECK(outcome.busbw.value() == Approx(outcome.algbw.value() * 2 * 31 / 32));
  CHECK(outcome.time >= outcome.transfer);
  CHECK(outcome.shape == Shape{32, 4, 8});
  CHECK(outcome.stack == "collectives-p5");
}

TEST_CASE("limits are named: latency for small sizes, the NICs for large ones") {
  const topology::Cluster cluster = cluster_of("p5", 4);
  const Outcome small = outcome_of(cluster, Operation::all_reduce, Bytes(8));
  CHECK(small.limit == "latency");
  CHECK_THAT(small.next, Catch::StartsWith("efa "));
  const Outcome large = outcome_of(cluster, Operation::all_reduce, gib(8));
  CHECK_THAT(large.limit, Catch::StartsWith("efa "));
  CHECK_FALSE(large.next.empty());
  const Outcome node = outcome_of(cluster_of("p5", 1), Operation::all_gather, gib(1));
  CHECK_THAT(node.limit, Catch::StartsWith("nvlink "));
}

TEST_CASE("what every tier carried, by hand") {
  // One node, ring all_gather, Simple: 8 ports send and receive 7/8 of the size.
  const topology::Cluster cluster = cluster_of("p5", 1);
  Request request = request_of(Operation::all_gather, gib(1), {contiguous_group(8)});
  request.protocol = Protocol::simple;
  const Outcome simple = outcome_of(cluster, request);
  REQUIRE(simple.carried.size() == 1);
  CHECK(simple.carried[0].first == topology::Tier::nvlink);
  CHECK(simple.carried[0].second.value() == Approx(2 * 7 * gib(1).value()));
  request.protocol = Protocol::ll;  // a flag for each word
  CHECK(outcome_of(cluster, request).carried[0].second.value() == Approx(4 * 7 * gib(1).value()));
}

TEST_CASE("groups inside nodes take the time of one and carry that of all") {
  const topology::Cluster cluster = cluster_of("p5", 16);
  std::vector<Group> groups;
  for (std::uint32_t node = 0; node < 16; ++node)
    groups.push_back(contiguous_group(8, 8 * node));
  const Outcome all = outcome_of(cluster, request_of(Operation::all_reduce, mib(64), groups));
  const Outcome one =
      outcome_of(cluster, request_of(Operation::all_reduce, mib(64), {groups.front()}));
  CHECK(all.time == one.time);
  CHECK(all.carried[0].second.value() == Approx(16 * one.carried[0].second.value()));
}

TEST_CASE("two groups that share NICs take twice as long") {
  // On p4d two GPUs share a NIC. Four even GPUs a node fill all four NICs; the odd ones need the
  // same NICs again, so both together need twice the time once bandwidth is all that counts.
  const topology::Cluster cluster = cluster_of("p4d.24xlarge", 2);
  const Group even = strided(0, 2, 8), odd = strided(1, 2, 8);
  const Outcome one = outcome_of(cluster, forced_ring(gib(8), {even}));
  const Outcome both = outcome_of(cluster, forced_ring(gib(8), {even, odd}));
  CHECK(both.transfer.value() == Approx(2 * one.transfer.value()));
  CHECK(both.time.value() == Approx(2 * one.time.value()).epsilon(0.01));
  // By hand: 2 * 7/8 * 8 GiB through four NICs of 12.5 GB/s, of which Simple gets 45 of 50.
  CHECK(one.transfer.value() == Approx(2 * 7.0 / 8 * gib(8).value() / 45e9));
}

TEST_CASE("rings on their own NICs do not disturb each other") {
  const topology::Cluster cluster = cluster_of("p5", 4);
  std::vector<Group> rails;
  for (std::uint32_t gpu = 0; gpu < 8; ++gpu)
    rails.push_back(strided(gpu, 8, 4));
  const Outcome all = outcome_of(cluster, forced_ring(gib(1), rails));
  const Outcome one = outcome_of(cluster, forced_ring(gib(1), {rails.front()}));
  CHECK(all.time.value() == Approx(one.time.value()));
}

TEST_CASE("2:1 oversubscription halves the rate of a ring whose every edge crosses leaves") {
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 1;
  const topology::Cluster full = cluster_of("p5", 2, fabric);
  fabric.leaf_oversubscription = 2.0;
  const topology::Cluster half = cluster_of("p5", 2, fabric);
  const Request request = forced_ring(gib(16), {contiguous_group(16)});
  const Outcome at_full = outcome_of(full, request), at_half = outcome_of(half, request);
  CHECK(at_half.transfer.value() == Approx(2 * at_full.transfer.value()));
  CHECK(at_half.time.value() == Approx(2 * at_full.time.value()).epsilon(0.01));
  CHECK_THAT(at_half.limit, Catch::StartsWith("leaf_spine "));
}

TEST_CASE("over a 2:1 fabric the order of the nodes decides") {
  // Two nodes a leaf. In order, one of the ring's edges leaves each leaf: one node's bandwidth, all
  // that a 2:1 leaf has. Alternating between the leaves every edge does: twice that.
  topology::Fabric fabric;
  fabric.nodes_per_leaf = 2;
  fabric.leaf_oversubscription = 2.0;
  const topology::Cluster cluster = cluster_of("p5", 4, fabric);
  Group alternating;
  for (const std::uint32_t node : {0u, 2u, 1u, 3u}) {
    const Group part = contiguous_group(8, 8 * node);
    alternating.insert(alternating.end(), part.begin(), part.end());
  }
  const Outcome in_order = outcome_of(cluster, forced_ring(gib(16), {contiguous_group(32)}));
  const Outcome crossing = outcome_of(cluster, forced_ring(gib(16), {alternating}));
  CHECK(crossing.transfer.value() == Approx(2 * in_order.transfer.value()));
}

TEST_CASE("groups of one size may lie differently; the slowest decides") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  const Group inside = contiguous_group(4), across = {GpuId{4}, GpuId{5}, GpuId{8}, GpuId{9}};
  const Outcome mixed =
      outcome_of(cluster, request_of(Operation::all_reduce, mib(256), {inside, across}));
  const Outcome slow = outcome_of(cluster, request_of(Operation::all_reduce, mib(256), {across}));
  CHECK(mixed.time == slow.time);
  CHECK(mixed.shape == Shape{4, 2, 2});
}

TEST_CASE("shapes beyond the measured ones are answered and say so") {
  const topology::Cluster cluster = cluster_of("p5", 64);
  const auto of = [&](Operation operation, const Group& group) {
    return outcome_of(cluster, request_of(operation, gib(1), {group}));
  };
  CHECK(of(Operation::all_reduce, contiguous_group(32)).calibrated);
  CHECK(of(Operation::all_reduce, contiguous_group(8)).calibrated);
  const Outcome wide = of(Operation::all_reduce, contiguous_group(512));
  CHECK_FALSE(wide.calibrated);
  CHECK_THAT(wide.note, Catch::Contains("64 nodes"));
  CHECK_FALSE(of(Operation::reduce_scatter, contiguous_group(32)).calibrated);
  CHECK_THAT(of(Operation::all_reduce, strided(0, 8, 4)).note,
             Catch::Contains("all_reduce was not measured for 1 rank a node (8 were)"));
}

TEST_CASE("a ring of eight is held by the port, one of two by the own shard") {
  // H200, 8 GPUs, NVLS off: 366 GB/s. Two GPUs: (1 + 0.84 / 2) of the volume at 417.
  const topology::Cluster cluster = cluster_of("hgx-h200", 1);
  const Outcome eight = outcome_of(cluster, forced_ring(gib(8), {contiguous_group(8)}));
  const Outcome two = outcome_of(cluster, forced_ring(gib(8), {contiguous_group(2)}));
  CHECK(us(eight.transfer) == Approx(1.75 * gib(8).value() / 366e3));
  CHECK(us(two.transfer) == Approx(1.42 * gib(8).value() / 417e3));
}

TEST_CASE("a rack is one domain: no network in its collectives") {
  const topology::Cluster cluster = cluster_of("u-p6e-gb200x72", 1);
  const Outcome outcome = outcome_of(cluster, Operation::all_reduce, gib(8));
  CHECK(outcome.algorithm == Algorithm::nvls);
  REQUIRE(outcome.carried.size() == 1);
  CHECK(outcome.carried[0].first == topology::Tier::nvlink);
  CHECK(outcome.busbw.value() / 1e9 == Approx(834.6).epsilon(0.05));  // measured
  CHECK(outcome.calibrated);
  CHECK_FALSE(outcome_of(cluster, request_of(Operation::all_reduce, gib(8), {contiguous_group(36)}))
                  .calibrated);
  CHECK_FALSE(outcome_of(cluster, Operation::all_gather, gib(8)).calibrated);
}

TEST_CASE("two nodes reduce as fast as their NVLink switches, the network beside") {
  // A port carries S (g+1)/g by the NVLS tree and S (n+1)/n by NVLS, the same 9/8 S; the NICs, with
  // S over a node's 400 GB/s, have time to spare. Measured: 0.92 to 0.94 of one node's rate.
  const Outcome one = outcome_of(cluster_of("p5", 1), Operation::all_reduce, gib(16));
  const Outcome two = outcome_of(cluster_of("p5", 2), Operation::all_reduce, gib(16));
  CHECK(one.algorithm == Algorithm::nvls);
  CHECK(two.algorithm == Algorithm::nvls_tree);
  CHECK_THAT(two.limit, Catch::StartsWith("nvlink"));
  CHECK_THAT(two.next, Catch::StartsWith("efa"));
  CHECK(two.algbw / one.algbw > 0.91);
  CHECK(two.algbw / one.algbw < 0.95);
}

TEST_CASE("all-to-all across racks goes by rails: what leaves a rack decides") {
  // A GPU sends (n - g)/n of S to other racks of g = 72: S/2 from two, 3/4 S from four.
  const auto across = [](const char* rack, int count) {
    return outcome_of(cluster_of(rack, count), Operation::all_to_all, gib(64));
  };
  const Outcome two = across("u-p6e-gb200x72", 2), four = across("u-p6e-gb200x72", 4);
  CHECK(two.algorithm == Algorithm::pxn);
  CHECK_THAT(two.limit, Catch::StartsWith("efa"));
  CHECK(four.transfer / two.transfer == Approx(1.5));
  // Four half racks have as many GPUs as two racks: 3/4 of S leaves instead of 1/2.
  CHECK(across("u-p6e-gb200x36", 4).transfer / two.transfer == Approx(1.5));
  // The first step is inside the rack: all to the other rack's rails, 71/72 of S/2 and of S/2 own.
  const auto carried = [](const Outcome& outcome, topology::Tier tier) {
    for (const auto& [at, bytes] : outcome.carried) {
      if (at == tier) return bytes.value();
    }
    return 0.0;
  };
  // Every byte of NVLink is counted on the way out and on the way in.
  CHECK(carried(two, topology::Tier::nvlink) ==
        Approx(2.0 * 144.0 * gib(64).value() * 71.0 / 72.0));
}

TEST_CASE("a ring across racks is held by its ports, not by the racks' 72 rails") {
  // V over a port at 900 GB/s line against V / 72 over a rail of 50 GB/s: a quarter of the time.
  const Outcome racks = outcome_of(cluster_of("u-p6e-gb200x72", 2), Operation::all_gather, gib(16));
  CHECK(racks.algorithm == Algorithm::ring);
  CHECK_THAT(racks.limit, Catch::StartsWith("nvlink"));
  // With 4 GPUs of each rack there are 4 rails: V / 4 over 50 GB/s is longer than V over a port.
  Group few;
  for (const std::uint32_t first : {0u, 72u}) {
    for (std::uint32_t i = 0; i < 4; ++i)
      few.push_back(GpuId{first + i});
  }
  const Outcome four_rails = outcome_of(cluster_of("u-p6e-gb200x72", 2),
                                        request_of(Operation::all_gather, gib(16), {few}));
  CHECK_THAT(four_rails.limit, Catch::StartsWith("efa"));
}

TEST_CASE(
    "a forced choice has the band of what was carried over, a ring in place of NVLS its own") {
  const topology::Cluster cluster = cluster_of("p5", 4);
  const auto width = [](const Outcome& outcome) { return outcome.band.high - outcome.band.low; };
  Request request = request_of(Operation::all_reduce, gib(4), {contiguous_group(32)});
  const Outcome free = outcome_of(cluster, request);
  CHECK(free.calibrated);
  request.algorithm = free.algorithm;
  request.protocol = free.protocol;
  CHECK(outcome_of(cluster, request).calibrated);
  request.channels = free.channels / 2;
  const Outcome fewer = outcome_of(cluster, request);
  CHECK_FALSE(fewer.calibrated);
  CHECK_THAT(fewer.note, Catch::Contains("forced"));
  CHECK(width(fewer) > 2.0 * width(free));
  CHECK(
      outcome_of(cluster_of("hgx-h200", 1), forced_ring(gib(8), {contiguous_group(8)})).calibrated);
}

TEST_CASE("requests that mean nothing are refused") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  const auto code = [&](const Request& request) {
    const auto outcome = predict(shipped(), cluster, request);
    REQUIRE_FALSE(outcome);
    return outcome.error().front().code;
  };
  const Request good = request_of(Operation::all_reduce, mib(1), {contiguous_group(16)});
  Request bad = good;
  bad.size = Bytes(0);
  CHECK(code(bad) == Code::bad_collective);
  bad = good;
  bad.groups = {contiguous_group(17)};
  CHECK(code(bad) == Code::bad_placement);
  bad = good;
  bad.groups = {contiguous_group(4), contiguous_group(4, 2)};
  CHECK(code(bad) == Code::bad_placement);
  bad = good;
  bad.operation = Operation::all_gather;
  bad.algorithm = Algorithm::nvls_tree;
  CHECK(code(bad) == Code::bad_collective);
}

TEST_CASE("a profile can be given") {
  const topology::Cluster cluster = cluster_of("p5", 2);
  const catalog::Constants* old = *shipped().constants("collectives-p5-nccl2.18");
  const Request request = request_of(Operation::all_reduce, mib(128), {contiguous_group(16)});
  const auto outcome = predict(shipped(), cluster, request, old);
  REQUIRE(outcome);
  CHECK(outcome->stack == "collectives-p5-nccl2.18");
  CHECK(outcome->protocol == Protocol::ll);
  const catalog::Constants* kernels = *shipped().constants("kernels-h100");
  CHECK_FALSE(predict(shipped(), cluster, request, kernels));
}

}  // namespace
}  // namespace flowplan::collective::collective_test
