#include "flowplan/accuracy/compare_log.hpp"

#include "log_support.hpp"

namespace flowplan::accuracy::compare_log_test {

namespace {

using collective::Operation;

LogComparison compared_run(const topology::Cluster& cluster, const NcclLog& log) {
  auto comparison =
      compare_log(catalog_of_logs(), cluster,
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
  CHECK(comparison.large_ratio == Approx(1.0));
  CHECK(comparison.least_ratio == Approx(1.0));
  CHECK(comparison.causes.empty());
  CHECK(comparison.remarks.empty());
}

TEST_CASE("a shortfall of a quarter on P5 is one of a GPU's four NICs") {
  const auto comparison = of_p5(4.0 / 3.0);
  CHECK(comparison.large_ratio == Approx(0.75));
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
  CHECK(comparison.large_ratio < 0.9);
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
  CHECK(comparison.large_ratio == Approx(1.0));
  REQUIRE(comparison.causes.size() == 1);
  CHECK_THAT(comparison.causes.front(), Catch::Contains("latency"));
}

TEST_CASE("remarks tell a cut-off sweep, wrong values and forced choices") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_gather);
  log.concluded = false;
  log.lines[1].wrong = 5.0;
  log.forced_protocol = "Simple";
  const auto comparison = compared_run(*cluster, log);
  REQUIRE(comparison.remarks.size() == 3);
  CHECK_THAT(comparison.remarks[0], Catch::Contains("cut off"));
  CHECK_THAT(comparison.remarks[1], Catch::Contains("5 wrong values at 64 bytes"));
  CHECK_THAT(comparison.remarks[2], Catch::Contains("NCCL_PROTO=Simple"));
  for (const ComparedLine& line : comparison.lines)
    CHECK(line.expected.protocol == collective::Protocol::simple);
}

TEST_CASE("a log that does not fit the cluster is refused") {
  const auto cluster = nodes_of_log("p5.48xlarge", 2);
  NcclLog log = log_of_run(*cluster, profile_named("collectives-p5"), Operation::all_reduce);
  log.ranks = 15;
  const auto many =
      compare_log(catalog_of_logs(), *cluster, profile_named("collectives-p5"), log, std::nullopt);
  REQUIRE_FALSE(many);
  CHECK(many.error().front().code == Code::bad_placement);
  log.ranks = 16;
  log.operation.reset();
  const auto nameless =
      compare_log(catalog_of_logs(), *cluster, profile_named("collectives-p5"), log, std::nullopt);
  REQUIRE_FALSE(nameless);
  CHECK(nameless.error().front().code == Code::bad_collective);
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

}  // namespace flowplan::accuracy::compare_log_test
