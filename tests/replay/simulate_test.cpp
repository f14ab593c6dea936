#include "flowplan/replay/simulate.hpp"

#include <catch2/catch.hpp>

#include "chakra_bytes.hpp"
#include "flowplan/collective/together.hpp"

namespace flowplan::replay::simulate_test {

namespace {

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  if (!loaded) FAIL(render(loaded.error()));
  return *loaded;
}

/// P5 instances with their own software stack.
struct P5 {
  topology::Cluster cluster;
  collective::Stack stack;
  topology::Placement placement;

  explicit P5(int count)
      : cluster(built(count)),
        stack(collective::read_stack(**shipped().constants("collectives-p5")).value()),
        placement(topology::place(cluster, cluster.gpus()).value()) {}

  static topology::Cluster built(int count) {
    topology::ClusterSpec spec;
    spec.instance = *shipped().instance("p5.48xlarge");
    spec.count = count;
    return topology::Cluster::build(shipped(), spec).value();
  }

  [[nodiscard]] Result<Replay> run(const ExecutionTrace& trace,
                                   const ReplayOptions& options = {}) const {
    return simulate(trace, **shipped().gpu("H100"), stack, cluster, placement, options);
  }

  [[nodiscard]] collective::Outcome alone(collective::Operation operation, Bytes size,
                                          std::vector<collective::Group> groups) const {
    collective::Request request;
    request.operation = operation;
    request.size = size;
    request.groups = std::move(groups);
    return collective::predict(stack, cluster, request).value();
  }
};

/// A trace of ranks made of nodes that the tests write by hand.
ExecutionTrace trace_of(std::vector<std::vector<Node>> ranks) {
  ExecutionTrace trace;
  for (auto& nodes : ranks) {
    trace.ranks.push_back(
        {"hand.et", static_cast<std::uint32_t>(trace.ranks.size()), std::move(nodes)});
  }
  return trace;
}

Node compute(double ms, std::vector<std::uint32_t> after = {}) {
  Node node;
  node.name = "compute";
  node.work = Work::compute;
  node.recorded = milliseconds(ms);
  node.after = std::move(after);
  return node;
}

Node all_reduce(double mib, std::vector<std::uint32_t> after = {}, std::string group = "") {
  Node node;
  node.name = "all_reduce";
  node.work = Work::collective;
  node.operation = collective::Operation::all_reduce;
  node.size = mebibytes(mib);
  node.group = std::move(group);
  node.after = std::move(after);
  return node;
}

Node transfer(Work work, std::uint32_t peer, double mib, std::vector<std::uint32_t> after = {}) {
  Node node;
  node.name = work == Work::send ? "send" : "receive";
  node.work = work;
  node.peer = peer;
  node.size = mebibytes(mib);
  node.after = std::move(after);
  return node;
}

std::string told(const Result<Replay>& replay) {
  return replay ? std::string() : render(replay.error());
}

}  // namespace

TEST_CASE("two all-reduces and three computes take the time derived by hand") {
  if (!reads_chakra()) return;
  // 1: 1 ms of compute. 2: all-reduce of its result. 3: 2 ms of compute beside it. 4: all-reduce of
  // that. 5: 0.5 ms of compute that needs 2 and 3.
  constexpr std::uint64_t bytes = 256u << 20;
  const std::string file = chakra_file(
      {compute_bytes(1, 1000), all_reduce_bytes(2, bytes, {1}), compute_bytes(3, 2000, {1}),
       all_reduce_bytes(4, bytes, {3}), compute_bytes(5, 500, {2, 3})});
  const auto trace = parse_trace(file, "hand.et");
  REQUIRE(trace);
  const P5 node(1);
  const auto replay = node.run(*trace);
  INFO(told(replay));
  REQUIRE(replay);

  const double t =
      node.alone(collective::Operation::all_reduce, Bytes(bytes), {collective::contiguous_group(8)})
          .time.value();
  // 2 x 7/8 of 256 MiB over 400 to 480 GB/s.
  CHECK(t > 0.97e-3);
  CHECK(t < 1.18e-3);
  // 1 ends at 1 ms, 3 at 3 ms; 2 is over by then, so 4 runs from 3 ms, and 5 ends at 3.5 ms.
  CHECK(replay->makespan.value() == Approx(3e-3 + t).epsilon(1e-9));
  const RankTime& rank = replay->rank.at(0);
  CHECK(rank.compute.value() == Approx(3.5e-3).epsilon(1e-9));
  CHECK(rank.communication.value() == Approx(2 * t).epsilon(1e-9));
  CHECK(rank.exposed.value() == Approx(t - 0.5e-3).epsilon(1e-9));
  CHECK(rank.idle.value() == Approx(0.0).margin(1e-12));
  REQUIRE(replay->collectives.size() == 1);
  CHECK(replay->collectives[0].count == 2);
  CHECK(replay->collectives[0].total.value() == Approx(2 * t).epsilon(1e-9));
  CHECK(replay->one_for_all);
  CHECK(replay->ranks == 8);
}

TEST_CASE("the sample takes its compute, then its all-reduce") {
  if (!reads_chakra()) return;
  const auto trace = read_trace({FLOWPLAN_SOURCE_DIR "/tests/replay/files/two-node.0.et"});
  REQUIRE(trace);
  const P5 nodes(2);
  const auto replay = nodes.run(*trace);
  REQUIRE(replay);
  const double t = nodes
                       .alone(collective::Operation::all_reduce, mebibytes(100),
                              {collective::contiguous_group(16)})
                       .time.value();
  CHECK(replay->makespan.value() == Approx(1e-3 + t).epsilon(1e-9));
  CHECK(replay->rank[0].exposed.value() == Approx(t).epsilon(1e-9));
}

TEST_CASE("a text workload takes the time derived by hand") {
  const auto trace = read_trace({FLOWPLAN_SOURCE_DIR "/tests/replay/files/workload-text.txt"});
  REQUIRE(trace);
  const P5 node(1);
  const auto replay = node.run(*trace);
  REQUIRE(replay);
  const double t = node.alone(collective::Operation::all_reduce, mebibytes(100),
                              {collective::contiguous_group(8)})
                       .time.value();
  REQUIRE(t < 2e-3);
  // Five computes of 1 ms in a row; the last exchange begins after them, then its update of 10 us.
  CHECK(replay->makespan.value() == Approx(5e-3 + t + 10e-6).epsilon(1e-9));
}

TEST_CASE("communicators that want the same links at once share them") {
  const P5 node(1);
  ReplayOptions options;
  options.groups = {{"a", "all"}, {"b", "all"}};
  const auto alone = node.alone(collective::Operation::all_reduce, mebibytes(512),
                                {collective::contiguous_group(8)});
  const auto both =
      node.run(trace_of({{all_reduce(512, {}, "a"), all_reduce(512, {}, "b")}}), options);
  INFO(told(both));
  REQUIRE(both);
  // The tightest link has to carry both.
  CHECK(both->makespan.value() ==
        Approx(std::max(2 * alone.transfer.value(), alone.time.value())).epsilon(1e-3));
  const auto after =
      node.run(trace_of({{all_reduce(512, {}, "a"), all_reduce(512, {0}, "b")}}), options);
  REQUIRE(after);
  CHECK(after->makespan.value() == Approx(2 * alone.time.value()).epsilon(1e-9));
}

TEST_CASE("groups of different links do not touch each other") {
  const P5 nodes(2);
  ReplayOptions options;
  options.groups = {{"tp", "tp8"}, {"dp", "dp8"}};
  const auto tp = nodes.alone(collective::Operation::all_reduce, mebibytes(64),
                              collective::split_groups("tp8", 16).value());
  const auto dp = nodes.alone(collective::Operation::all_reduce, mebibytes(64),
                              collective::split_groups("dp8", 16).value());
  const auto replay =
      nodes.run(trace_of({{all_reduce(64, {}, "tp"), all_reduce(64, {}, "dp")}}), options);
  REQUIRE(replay);
  CHECK(replay->makespan.value() ==
        Approx(std::max(tp.time.value(), dp.time.value())).epsilon(1e-9));
  CHECK(replay->collectives.size() == 2);
  CHECK(replay->collectives[0].groups == (replay->collectives[0].group == "tp" ? 2u : 8u));
}

TEST_CASE("nodes of one stream take turns in the order of the file") {
  const P5 node(1);
  const auto replay = node.run(trace_of({{compute(1), compute(2), compute(3)}}));
  REQUIRE(replay);
  CHECK(replay->makespan.value() == Approx(6e-3));
  ReplayOptions half;
  half.compute_factor = 0.5;
  CHECK(node.run(trace_of({{compute(1), compute(2)}}), half)->makespan.value() == Approx(1.5e-3));
}

TEST_CASE("compute without a time takes what operations and bytes need") {
  Node node = compute(1);
  node.recorded.reset();
  node.operations = 989.4e9;  // of 989.4 TFLOP/s: 1 ms
  node.touched = Bytes(0.5);
  ReplayOptions floor;
  floor.compute = ComputeTime::floor;
  const P5 p5(1);
  const double peak = (*shipped().gpu("H100"))->peak(model::Precision::bf16)->value();
  CHECK(p5.run(trace_of({{node}}))->makespan.value() == Approx(989.4e9 / peak));
  node.recorded = milliseconds(7);
  CHECK(p5.run(trace_of({{node}}))->makespan.value() == Approx(7e-3));
  CHECK(p5.run(trace_of({{node}}), floor)->makespan.value() == Approx(989.4e9 / peak));
}

TEST_CASE("ranks wait for each other where they exchange") {
  const P5 node(1);
  // Rank 0 computes 1 ms and sends; rank 1 receives, computes 2 ms; both reduce.
  const auto replay =
      node.run(trace_of({{compute(1), transfer(Work::send, 1, 64, {0}), all_reduce(16, {1})},
                         {transfer(Work::receive, 0, 64), compute(2, {0}), all_reduce(16, {1})}}));
  INFO(told(replay));
  REQUIRE(replay);
  const collective::Group pair = collective::contiguous_group(2);
  const double p = node.alone(collective::Operation::send_recv, mebibytes(64), {pair}).time.value();
  const double t =
      node.alone(collective::Operation::all_reduce, mebibytes(16), {pair}).time.value();
  CHECK(replay->makespan.value() == Approx(1e-3 + p + 2e-3 + t).epsilon(1e-9));
  CHECK(replay->ranks == 2);
  CHECK(replay->rank[0].idle.value() == Approx(2e-3).epsilon(1e-6));  // while rank 1 computes
  CHECK(replay->rank[1].idle.value() == Approx(1e-3).epsilon(1e-6));  // before it receives
}

TEST_CASE("ranks that do not match are refused where they stand") {
  const P5 node(1);
  const auto size = node.run(trace_of({{all_reduce(1)}, {all_reduce(2)}}));
  CHECK_THAT(told(size), Catch::Contains("FP082") && Catch::Contains("1048576 B"));
  const auto count = node.run(trace_of({{all_reduce(1), all_reduce(1)}, {all_reduce(1)}}));
  CHECK_THAT(told(count), Catch::Contains("waits for 2 ranks, 1 takes part"));
  const auto lone = node.run(trace_of({{transfer(Work::send, 1, 4)}, {compute(1)}}));
  CHECK_THAT(told(lone), Catch::Contains("waits for 2 ranks, 1 takes part"));
}

TEST_CASE("nodes that wait for each other are named") {
  const P5 node(1);
  const auto circle = node.run(trace_of({{compute(1, {1}), compute(1, {0}), compute(1)}}));
  CHECK_THAT(told(circle), Catch::Contains("FP050") && Catch::Contains("2 nodes"));
  // Two communicators in opposite order on two ranks.
  const auto crossed = node.run(trace_of({{all_reduce(1, {}, "a"), all_reduce(1, {0}, "b")},
                                          {all_reduce(1, {}, "b"), all_reduce(1, {0}, "a")}}));
  CHECK_THAT(told(crossed), Catch::Contains("FP050"));
}

TEST_CASE("a communicator that nobody describes is asked for") {
  const P5 node(1);
  const auto unknown = node.run(trace_of({{all_reduce(1, {}, "17")}}));
  CHECK_THAT(told(unknown), Catch::Contains("FP061") && Catch::Contains("--group 17=tp8"));
  ReplayOptions options;
  options.members = {{"17", {0, 1, 2, 3}}};
  const auto named = node.run(trace_of({{all_reduce(1, {}, "17")}}), options);
  REQUIRE(named);
  CHECK(named->collectives[0].ranks == 4);
  options.members = {{"17", {0, 99}}};
  CHECK_THAT(told(node.run(trace_of({{all_reduce(1, {}, "17")}}), options)),
             Catch::Contains("rank 99 of 8"));
}

}  // namespace flowplan::replay::simulate_test
