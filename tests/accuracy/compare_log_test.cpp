#include "flowplan/accuracy/compare_log.hpp"

#include "log_support.hpp"

namespace flowplan::accuracy::compare_log_test {

namespace {

using collective::Operation;

LogComparison compared_run(const topology::Cluster& cluster, const NcclLog& log) {
  auto comparison =
      compare_log(shipped_catalog(), cluster,
                  profile_named(cluster.spec().instance->collective_profile), log, std::nullopt);
  if (!comparison) FAIL(render(comparison.error()));
  return std::move(*comparison);
}

LogComparison of_p5(double slower, const NcclLog& like = {}) {
  const auto cluster = nodes_of_log("p5.48xlarge", 4);
  NcclLog log =
      log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce, slower);
  log.gpu_direct = like.gpu_direct;
  log.sockets = like.sockets;
  log.nics = like.nics;
  return compared_run(*cluster, log);
}

}  // namespace

TEST_CASE("a run as expected has ratio one and no causes") {
  const auto comparison = of_p5(1.0);
  CHECK(comparison.operation == "all_reduce");
  CHECK(comparison.nodes == 4);
  CHECK(comparison.ranks == 32);
  CHECK(comparison.large_ratio.value() == Approx(1.0));
  CHECK(comparison.least_ratio == Approx(1.0));
  CHECK(comparison.causes.empty());
  CHECK(comparison.remarks.empty());
}

TEST_CASE("a shortfall of a quarter on P5 is one of a GPU's four NICs") {
  const auto comparison = of_p5(4.0 / 3.0);
  CHECK(comparison.large_ratio.value() == Approx(0.75));
  REQUIRE_FALSE(comparison.causes.empty());
  CHECK_THAT(comparison.causes.front(), Catch::Contains("3 of the 4 NICs"));
}

TEST_CASE("a shortfall of an eighth is one of a node's eight groups") {
  REQUIRE_FALSE(of_p5(8.0 / 7.0).causes.empty());
  CHECK_THAT(of_p5(8.0 / 7.0).causes.front(), Catch::Contains("7 of a node's 8 groups"));
}

TEST_CASE("what the log itself says comes first") {
  NcclLog says;
  says.gpu_direct = false;
  CHECK_THAT(of_p5(2.5, says).causes.front(), Catch::Contains("no GPUDirect"));
  says.gpu_direct.reset();
  says.sockets = true;
  CHECK_THAT(of_p5(20.0, says).causes.front(), Catch::Contains("TCP sockets"));
  says.sockets = false;
  says.nics = 16;
  CHECK_THAT(of_p5(2.0, says).causes.front(), Catch::Contains("found 16 of 32"));
}

TEST_CASE("the times of another algorithm are recognised") {
  // One node whose NVLS is off: rings, 0.77 of the bandwidth.
  const auto cluster = nodes_of_log("p5.48xlarge", 1);
  const NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce,
                                 1.0, collective::Algorithm::ring);
  const auto comparison = compared_run(*cluster, log);
  CHECK(comparison.large_ratio.value() < 0.9);
  REQUIRE_FALSE(comparison.causes.empty());
  CHECK_THAT(comparison.causes.front(), Catch::Contains("RING"));
}

TEST_CASE("NVLink that is not used shows as PCIe") {
  const auto cluster = nodes_of_log("p5.48xlarge", 1);
  const NcclLog log =
      log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce, 20.0);
  const auto comparison = compared_run(*cluster, log);
  REQUIRE_FALSE(comparison.causes.empty());
  CHECK_THAT(comparison.causes.front(), Catch::Contains("PCIe-bound"));
}

TEST_CASE("small sizes that alone fall short are latency") {
  const auto cluster = nodes_of_log("p5.48xlarge", 4);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  for (NcclLogLine& line : log.lines)
    if (line.size_bytes < 1e6) line.time_us *= 2.0;
  const auto comparison = compared_run(*cluster, log);
  CHECK(comparison.large_ratio.value() == Approx(1.0));
  REQUIRE(comparison.causes.size() == 1);
  CHECK_THAT(comparison.causes.front(), Catch::Contains("latency"));
}

TEST_CASE("remarks tell a cut-off sweep, wrong values and forced choices") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_gather);
  log.concluded = false;
  log.unusable = {2, 40, "time nan us"};
  log.lines[1].wrong = 5.0;
  log.forced_protocol = "Simple";
  const auto comparison = compared_run(*cluster, log);
  REQUIRE(comparison.remarks.size() == 4);
  CHECK_THAT(comparison.remarks[0], Catch::Contains("cut off"));
  CHECK_THAT(comparison.remarks[1], Catch::Contains("5 wrong values at 64 bytes"));
  CHECK(comparison.remarks[2] == "2 rows passed over: time nan us in line 40");
  CHECK_THAT(comparison.remarks[3], Catch::Contains("NCCL_PROTO=Simple"));
  for (const ComparedLine& line : comparison.lines)
    CHECK(line.expected.protocol == collective::Protocol::simple);
}

TEST_CASE("a log that does not fit the cluster is refused") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  log.ranks = 15;
  const auto many =
      compare_log(shipped_catalog(), *cluster, profile_named("collectives-p5"), log, std::nullopt);
  REQUIRE_FALSE(many);
  CHECK(many.error().front().code == Code::bad_placement);
  log.ranks = 16;
  log.operation.reset();
  const auto nameless =
      compare_log(shipped_catalog(), *cluster, profile_named("collectives-p5"), log, std::nullopt);
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().front().code == Code::bad_collective);
  CHECK_THAT(nameless.error().front().hint,
             Catch::Contains("name it, `flowplan collective all_reduce --compare run.log`"));
}

TEST_CASE("ranks of a log are spread evenly over the nodes") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log;
  log.ranks = 4;
  const auto group = ranks_of_log(*cluster, log);
  REQUIRE(group);
  CHECK(*group == collective::Group{topology::GpuId{0}, topology::GpuId{1}, topology::GpuId{8},
                                    topology::GpuId{9}});
}

TEST_CASE("of two large sizes the summary is the worse one") {
  const auto cluster = nodes_of_log("p5.48xlarge", 4);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  log.lines.erase(log.lines.begin(), log.lines.end() - 2);
  log.lines.front().time_us /= 1.307;
  log.lines.back().time_us /= 0.118;
  const auto comparison = compared_run(*cluster, log);
  CHECK(comparison.large_ratio.value() == Approx(0.118));
  CHECK_FALSE(comparison.small_ratio);
  CHECK(comparison.least_ratio == Approx(0.118));
  CHECK(comparison.least_bytes == log.lines.back().size_bytes);
}

TEST_CASE("a size that falls short alone is a switch of algorithm only where there is one") {
  const auto cluster = nodes_of_log("p5.48xlarge", 4);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  NcclLogLine& gib = *(log.lines.end() - 2);
  REQUIRE(gib.size_bytes == 1024.0 * 1024 * 1024);
  const double expected = gib.time_us;
  // Eight times slower than it should be: neither neighbour's choice takes that long.
  gib.time_us = 8.0 * expected;
  auto causes = compared_run(*cluster, log).causes;
  REQUIRE(causes.size() == 1);
  CHECK_THAT(causes.front(), Catch::Contains("1073741824 bytes (0.125)"));
  CHECK_THAT(causes.front(), Catch::Contains("no switch of algorithm explains it"));
}

TEST_CASE("a size that took its neighbour's choice is next to a switch") {
  const auto cluster = nodes_of_log("p5.48xlarge", 4);
  const auto& profile = profile_named("collectives-p5");
  const auto stack = collective::read_stack(profile);
  REQUIRE(stack);
  NcclLog log = log_of_run(*cluster, profile, Operation::all_reduce);
  const auto plain = compared_run(*cluster, log);
  bool seen = false;
  for (std::size_t i = 0; i + 1 < log.lines.size() && !seen; ++i) {
    collective::Request request;
    request.operation = Operation::all_reduce;
    request.groups = {collective::contiguous_group(cluster->gpus())};
    request.size = Bytes(log.lines[i].size_bytes);
    request.algorithm = plain.lines[i + 1].expected.algorithm;
    request.protocol = plain.lines[i + 1].expected.protocol;
    const auto other = collective::predict(*stack, *cluster, request);
    if (!other || other->time.value() < 1.2 * plain.lines[i].expected.time.value()) continue;
    seen = true;
    log.lines[i].time_us = other->time.value() * 1e6;
    const auto causes = compared_run(*cluster, log).causes;
    REQUIRE(causes.size() == 1);
    CHECK_THAT(causes.front(), Catch::Contains("next to a switch"));
  }
  CHECK(seen);
}

TEST_CASE("a run faster than its band asks whether this is the cluster") {
  const auto comparison = of_p5(1.0 / 1.949);
  REQUIRE(comparison.causes.size() == 1);
  CHECK_THAT(comparison.causes.front(), Catch::Contains("1.949): is this the cluster?"));
  CHECK(comparison.lines.back().faster);
  CHECK_FALSE(comparison.lines.front().faster);
  // Ten per cent above is within what is told neither above nor below.
  CHECK(of_p5(1.0 / 1.1).causes.empty());
}

TEST_CASE("a log of another GPU or number of hosts is told first") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  for (const char* same : {"NVIDIA H100 80GB HBM3", "NVIDIA H100"}) {
    log.gpu = same;
    CHECK(compared_run(*cluster, log).remarks.empty());
  }
  for (const char* other : {"NVIDIA A100-SXM4-80GB", "NVIDIA H100 96GB", "NVIDIA GH200 480GB"}) {
    log.gpu = other;
    const auto remarks = compared_run(*cluster, log).remarks;
    REQUIRE(remarks.size() == 1);
    CHECK_THAT(remarks.front(), Catch::Contains(other) && Catch::Contains("H100-SXM-80GB"));
  }
  log.gpu.clear();
  log.hosts = 1;
  log.lines.back().time_us /= 2.0;
  const auto comparison = compared_run(*cluster, log);
  REQUIRE(comparison.remarks.size() == 1);
  CHECK_THAT(comparison.remarks.front(), Catch::Contains("1 in the log, 2 here"));
  REQUIRE(comparison.causes.size() == 2);
  CHECK_THAT(comparison.causes.front(), Catch::Contains("another cluster"));
}

TEST_CASE("an UltraServer has as many hosts as instances") {
  const auto cluster = nodes_of_log("u-p6e-gb200x36", 1);
  NcclLog log = log_of_run(*cluster, profile_named(cluster->spec().instance->collective_profile),
                           Operation::all_reduce);
  log.gpu = "NVIDIA GB200";
  log.hosts = 9;
  CHECK(compared_run(*cluster, log).remarks.empty());
}

}  // namespace flowplan::accuracy::compare_log_test
