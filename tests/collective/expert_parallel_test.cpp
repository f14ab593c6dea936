#include "flowplan/collective/expert_parallel.hpp"

#include <random>

#include "fixture.hpp"

namespace flowplan::collective::expert_parallel_test {

namespace {

// The benchmark behind the published rows.
ExpertTraffic benchmark(double tokens) {
  ExpertTraffic traffic;
  traffic.tokens = tokens;
  traffic.hidden = 7168.0;
  traffic.top_k = 8;
  traffic.experts = 256;
  return traffic;
}

ExpertGroup group_on(std::string_view instance, int nodes) {
  const auto found = shipped().instance(instance);
  if (!found) FAIL(render(found.error()));
  return expert_group(shipped(), **found, nodes, 8);
}

ExpertOutcome expert_outcome(ExpertBackend backend, ExpertMode mode, const ExpertGroup& group,
                             const ExpertTraffic& traffic) {
  auto outcome = expert_parallel(shipped(), backend, mode, group, traffic);
  if (!outcome) FAIL(render(outcome.error()));
  return std::move(*outcome);
}

double of_set(std::string_view set, std::string_view figure, std::size_t stage) {
  const auto constants = shipped().constants(set);
  if (!constants) FAIL(render(constants.error()));
  const auto values = (*constants)->table(figure);
  REQUIRE(values.size() > stage);
  return values[stage];
}

}  // namespace

TEST_CASE("a token's experts are on as many nodes and GPUs as chance has it") {
  ExpertGroup group;
  group.nodes = 2;
  group.gpus_per_node = 2;
  ExpertTraffic traffic;
  traffic.tokens = traffic.hidden = 1.0;
  traffic.top_k = 2;
  // 2 of 4 experts, 2 on each node: both on the other node in 2/4 x 1/3 of the cases.
  traffic.experts = 4;
  CHECK(expert_copies(group, traffic).nodes == Approx(2.0 * (1.0 - 1.0 / 6.0)));
  CHECK(expert_copies(group, traffic).ranks == Approx(2.0));  // one expert a GPU: no two meet
  // Many experts: 1 - (1/2)^2 for each of two nodes, 1 - (3/4)^2 for each of four GPUs.
  traffic.experts = 0;
  CHECK(expert_copies(group, traffic).nodes == Approx(1.5));
  CHECK(expert_copies(group, traffic).ranks == Approx(1.75));
  // Group routing: never more nodes than allowed.
  group.nodes = 16;
  traffic.top_k = 8;
  traffic.max_nodes = 1;
  CHECK(expert_copies(group, traffic).nodes == Approx(1.0));
}

TEST_CASE("normal kernels send one copy a node, which the network binds") {
  const ExpertGroup group = group_on("p5.48xlarge", 4);
  const ExpertTraffic traffic = benchmark(4096);
  const auto outcome = expert_outcome(ExpertBackend::deepep, ExpertMode::normal, group, traffic);
  CHECK(outcome.set == "expert-parallel-deepep-p5");
  CHECK(outcome.calibrated);
  const double copies = expert_copies(group, traffic).nodes;
  const double bytes = 4096.0 * 7168.0 * 2.0 * copies * 3.0 / 4.0;
  CHECK(outcome.combine.network.value() == Approx(bytes));
  CHECK(outcome.combine.bound == "network");
  const double rate = of_set(outcome.set, "normal.net_gbytes_per_s", 1);
  const double start =
      of_set(outcome.set, "normal.start_us", 1) + of_set(outcome.set, "normal.net_start_us", 1);
  CHECK(us(outcome.combine.time) == Approx(start + bytes / (rate * 1e3)));
}

TEST_CASE("kernels without deduplication send one copy an expert") {
  const ExpertGroup group = group_on("p5en.48xlarge", 8);
  const auto outcome =
      expert_outcome(ExpertBackend::nvshmem, ExpertMode::normal, group, benchmark(4096));
  CHECK(outcome.dispatch.network.value() == Approx(4096.0 * 7168.0 * 2.0 * 8.0 * 7.0 / 8.0));
  // 7 of the 64 GPUs are neighbours.
  CHECK(outcome.dispatch.nvlink.value() == Approx(4096.0 * 7168.0 * 2.0 * 8.0 * 7.0 / 64.0));
  const auto once = expert_outcome(ExpertBackend::uccl, ExpertMode::normal, group, benchmark(4096));
  CHECK(once.dispatch.network < outcome.dispatch.network);
}

TEST_CASE("proxies on EFA are bound by messages in low latency") {
  const auto outcome = expert_outcome(ExpertBackend::uccl, ExpertMode::low_latency,
                                      group_on("p5en.48xlarge", 4), benchmark(128));
  CHECK(outcome.dispatch.bound == "messages");
  // 128 x 8 messages, 3/4 of them to other nodes, each sqrt(4) times as dear as between two halves.
  const double rate = of_set(outcome.set, "low_latency.messages_per_us", 0);
  const double start = of_set(outcome.set, "low_latency.start_us", 0) +
                       of_set(outcome.set, "low_latency.net_start_us", 0);
  CHECK(us(outcome.dispatch.time) == Approx(start + 768.0 * 2.0 / rate));
}

TEST_CASE("on one node nothing takes the network") {
  const auto outcome = expert_outcome(ExpertBackend::uccl, ExpertMode::normal,
                                      group_on("p6-b200.48xlarge", 1), benchmark(4096));
  CHECK(outcome.dispatch.network.value() == 0.0);
  CHECK(outcome.dispatch.bound == "nvlink");
  CHECK(outcome.set == "expert-parallel-uccl-p6-b200");
}

TEST_CASE("a fabric without rows takes the nearest one's fractions, and says so") {
  // P6-B200 has half of P6-B300's line a GPU and the same EFA version; DeepEP was not measured on
  // it.
  const auto here = expert_outcome(ExpertBackend::deepep, ExpertMode::normal,
                                   group_on("p6-b200.48xlarge", 8), benchmark(4096));
  CHECK_FALSE(here.calibrated);
  CHECK_THAT(here.note, Catch::Contains("carried over"));
  const auto measured = expert_outcome(ExpertBackend::deepep, ExpertMode::normal,
                                       group_on("p6-b300.48xlarge", 8), benchmark(4096));
  CHECK(measured.calibrated);
  CHECK(here.band > measured.band);
  CHECK(here.set == "expert-parallel-deepep-p6-b300");
  // The network binds both, so the part above the start is exactly twice as long.
  const double start =
      of_set(here.set, "normal.start_us", 0) + of_set(here.set, "normal.net_start_us", 0);
  CHECK(us(here.dispatch.time) - start == Approx(2.0 * (us(measured.dispatch.time) - start)));
}

TEST_CASE("a backend that nobody measured stands on the all-to-all of NCCL") {
  const auto outcome = expert_outcome(ExpertBackend::nccl, ExpertMode::normal,
                                      group_on("p5.48xlarge", 4), benchmark(4096));
  CHECK_FALSE(outcome.calibrated);
  const auto deduplicated = expert_outcome(ExpertBackend::deepep, ExpertMode::normal,
                                           group_on("p5.48xlarge", 4), benchmark(4096));
  CHECK(outcome.dispatch.time > deduplicated.dispatch.time);
}

TEST_CASE("numbers out of range are refused") {
  const ExpertGroup group = group_on("p5.48xlarge", 2);
  const auto refused = [&](ExpertGroup g, ExpertTraffic t, std::string_view why) {
    const auto outcome =
        expert_parallel(shipped(), ExpertBackend::deepep, ExpertMode::normal, g, t);
    REQUIRE_FALSE(outcome);
    CHECK(outcome.error().front().code == Code::bad_collective);
    CHECK_THAT(outcome.error().front().message, Catch::Contains(std::string(why)));
  };
  refused(group, benchmark(0), "tokens");
  ExpertTraffic few = benchmark(1);
  few.experts = 4;
  refused(group, few, "fewer experts");
  few.experts = 256;
  few.top_k = 0;
  refused(group, few, "top-k");
  ExpertGroup alone = group;
  alone.nodes = alone.gpus_per_node = 1;
  refused(alone, benchmark(1), "one GPU");
  ExpertGroup blind = group;
  blind.nic = BytesPerSecond(0.0);
  refused(blind, benchmark(1), "NICs");
}

TEST_CASE("no stage outruns the links, and more tokens are never faster") {
  std::mt19937 random(20261130);
  const auto pick = [&](int least, int most) {
    return std::uniform_int_distribution<int>(least, most)(random);
  };
  const std::vector<std::string_view> instances{"p5.48xlarge",      "p5en.48xlarge",
                                                "p6-b200.48xlarge", "p6-b300.48xlarge",
                                                "dgx-h100",         "h800-node"};
  for (int trial = 0; trial < 4000; ++trial) {
    const auto instance = instances[static_cast<std::size_t>(pick(0, 5))];
    ExpertGroup group = group_on(instance, 1 << pick(0, 8));
    group.gpus_per_node = 1 << pick(1, 3);
    ExpertTraffic traffic;
    traffic.tokens = pick(1, 16384);
    traffic.hidden = 128.0 * pick(4, 128);
    traffic.top_k = pick(1, 16);
    traffic.experts = pick(0, 1) * traffic.top_k * pick(1, 64);
    traffic.max_nodes = pick(0, 8);
    traffic.dispatch_bytes = pick(1, 2);
    const auto backend = all_expert_backends[static_cast<std::size_t>(pick(0, 4))];
    const auto mode = pick(0, 1) == 0 ? ExpertMode::normal : ExpertMode::low_latency;
    const auto outcome = expert_outcome(backend, mode, group, traffic);
    for (const ExpertStage& stage : {outcome.dispatch, outcome.combine}) {
      CHECK(stage.network / stage.time <= group.nic);
      CHECK(stage.nvlink / stage.time <= group.nvlink);
      CHECK(stage.time.value() > 0.0);
    }
    ExpertTraffic more = traffic;
    more.tokens += pick(1, 4096);
    const auto longer = expert_outcome(backend, mode, group, more);
    CHECK(longer.dispatch.time >= outcome.dispatch.time);
    CHECK(longer.combine.time >= outcome.combine.time);
  }
}

}  // namespace flowplan::collective::expert_parallel_test
