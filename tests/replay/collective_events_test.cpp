#include "flowplan/replay/collective_events.hpp"

#include <catch2/catch.hpp>

#include "flowplan/base/text_file.hpp"

namespace flowplan::replay::collective_events_test {

namespace {

const std::string profile = FLOWPLAN_SOURCE_DIR "/tests/replay/files/profile.json";

EventLog sample() {
  auto read = read_recording({profile});
  if (!read) FAIL(render(read.error()));
  REQUIRE(std::holds_alternative<EventLog>(*read));
  return std::get<EventLog>(std::move(*read));
}

std::string told(const std::string& text) {
  const auto log = parse_events(text, "p.json");
  return log ? std::string() : render(log.error());
}

}  // namespace

TEST_CASE("a profile's collectives have nccl-tests' sizes and their ranks") {
  const EventLog log = sample();
  CHECK(log.rank == 0u);
  CHECK(log.world == 16u);
  REQUIRE(log.events.size() == 3);
  CHECK(log.events[0].operation == collective::Operation::all_reduce);
  CHECK(log.events[0].size == mebibytes(64));
  CHECK(log.events[0].group == "mesh_tp");
  CHECK(log.events[0].ranks.size() == 8);
  CHECK(log.events[0].duration.value() == Approx(1.5e-3));
  CHECK(log.events[2].operation == collective::Operation::all_gather);
  CHECK(log.events[2].size == mebibytes(64));  // what comes out
  CHECK(log.events[2].ranks.size() == 16);     // "..." goes on
  CHECK(log.events[2].ranks.back() == 15);
  CHECK(log.skipped.at("the kernel's event says no sizes") == 1);
}

TEST_CASE("what a profile exposes is communication without other kernels") {
  const EventLog log = sample();
  // GEMM from 1 to 3 ms; exchanges from 2 to 3.5, 4 to 4.5, 5 to 5.9 and 6 to 6.01 ms.
  CHECK(log.span.value() == Approx(5.01e-3));
  CHECK(log.compute.value() == Approx(2e-3));
  CHECK(log.communication.value() == Approx(2.91e-3));
  CHECK(log.exposed.value() == Approx(1.91e-3));
}

TEST_CASE("measured and predicted stand side by side") {
  const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  REQUIRE(catalog);
  topology::ClusterSpec spec;
  spec.instance = *catalog->instance("p5.48xlarge");
  spec.count = 2;
  const auto cluster = topology::Cluster::build(*catalog, spec);
  REQUIRE(cluster);
  const auto stack = collective::read_stack(**catalog->constants("collectives-p5"));
  const auto placement = topology::place(*cluster, 16);
  const auto rows = compare_events(sample(), *stack, *cluster, *placement);
  INFO((rows ? std::string() : render(rows.error())));
  REQUIRE(rows);
  REQUIRE(rows->size() == 2);
  const EventComparison& reduce = rows->front();  // 2 ms in all
  CHECK(reduce.count == 2);
  CHECK(reduce.ranks == 8);
  CHECK(reduce.fastest.value() == Approx(0.5e-3));
  CHECK(reduce.total.value() == Approx(2e-3));
  collective::Request request;
  request.operation = collective::Operation::all_reduce;
  request.size = mebibytes(64);
  request.groups = {collective::contiguous_group(8)};
  CHECK(reduce.predicted.time == collective::predict(*stack, *cluster, request)->time);

  const auto few = topology::place(*cluster, 8);
  const auto refused = compare_events(sample(), *stack, *cluster, *few);
  REQUIRE_FALSE(refused);
  CHECK_THAT(render(refused.error()), Catch::Contains("rank 8, the cluster room for 8"));
}

TEST_CASE("a damaged profile is refused with its place") {
  CHECK_THAT(told("{}"), Catch::Contains("FP016"));
  CHECK_THAT(told(R"({"traceEvents": 5})"), Catch::Contains("FP082"));
  CHECK_THAT(told(R"({"traceEvents": []})"), Catch::Contains("no kernel"));
  const std::string whole = read_text(profile, 1 << 20).value();
  for (std::size_t size = 0; size + 3 < whole.size(); size += 11)
    CHECK_FALSE(told(whole.substr(0, size)).empty());
}

}  // namespace flowplan::replay::collective_events_test
