// What must hold for any engine under any load.
#include <algorithm>
#include <cmath>
#include <random>
#include <thread>

#include <catch2/catch.hpp>

#include "flowplan/inference/load.hpp"
#include "flowplan/inference/metrics.hpp"
#include "flowplan/inference/serve.hpp"
#include "handmade.hpp"

namespace flowplan::inference::property_test {

using namespace handmade;

namespace {

class Chance {
 public:
  explicit Chance(std::uint64_t seed) : bits_(seed) {}
  bool one_in(std::uint64_t n) { return bits_() % n == 0; }
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(high - low + 1));
  }

 private:
  std::mt19937_64 bits_;
};

Instance any_instance(Chance& chance) {
  Instance instance = like_a_70b();
  EngineSpec& engine = instance.engine;
  engine.token_budget = chance.between(200, 3000);
  engine.max_sequences = chance.between(4, 80);
  engine.admission = chance.one_in(2) ? Admission::reserve : Admission::on_demand;
  engine.scheduling = chance.one_in(4) ? Scheduling::prefill_first : Scheduling::mixed;
  engine.chunked_prefill = !chance.one_in(4);
  engine.async_scheduling = chance.one_in(2);
  engine.api = milliseconds(static_cast<double>(chance.between(0, 30)));
  if (chance.one_in(2)) engine.api_per_token = microseconds(3);
  engine.prefix_caching = chance.one_in(2);
  if (engine.prefix_caching && chance.one_in(2))
    engine.tiers = {{"host", chance.between(0, 3000), BytesPerSecond(2e9)},
                    {"nvme", chance.between(0, 3000), BytesPerSecond(2e8)}};
  if (chance.one_in(3)) {
    engine.preemption = Preemption::swap;
    engine.swap_rate = BytesPerSecond(2e10);
    engine.swap_blocks = chance.between(0, 500);
  }
  if (chance.one_in(3)) {
    engine.speculation.draft_tokens = 3;
    engine.speculation.tokens_per_pass = 1.0 + static_cast<double>(chance.between(0, 300)) / 100.0;
  }
  if (chance.one_in(3))
    engine.lora = {chance.between(1, 4), milliseconds(3), milliseconds(0.5), milliseconds(0.1),
                   microseconds(1)};
  instance.table.attention_ranks = static_cast<int>(chance.between(1, 3));
  instance.table.micro_batches = chance.one_in(3) ? 2 : 1;
  instance.table.host_overlapped = !chance.one_in(3);
  instance.kv.capacity_blocks = chance.between(150, 900);
  if (chance.one_in(3)) {
    instance.kv.windowed_per_token = Bytes(40960.0);
    instance.kv.window_tokens = 128;
  }
  return instance;
}

Load any_load(Chance& chance) {
  Load load;
  load.tasks = 60;
  load.input = {TokenCount::Kind::lognormal, 700, 1.2};
  load.output = {TokenCount::Kind::exponential, 90};
  load.shared_tokens = chance.one_in(2) ? 200 : 0;
  load.block_tokens = 32;
  load.adapters = chance.one_in(2) ? 5 : 0;
  load.seed = static_cast<std::uint64_t>(chance.between(0, 1 << 30));
  const TokenCount few{TokenCount::Kind::uniform, 3, 0.7};
  const TokenCount some{TokenCount::Kind::exponential, 60};
  switch (chance.between(0, 5)) {
    case 0:
      load.shape = Sessions{few, some, 0.4, true};
      break;
    case 1:
      load.shape = Samples{4, chance.one_in(2), 0.1};
      break;
    case 2:
      load.shape = TreeSearch{3, 2, 2, some, 0.05};
      break;
    case 3:
      load.shape = AgentLoop{few, some, {TokenCount::Kind::exponential, 300}};
      break;
    default:
      break;
  }
  if (chance.one_in(3)) {
    load.arrivals.kind = Arrivals::Kind::closed_loop;
    load.arrivals.concurrency = static_cast<std::uint32_t>(chance.between(1, 40));
  } else {
    load.arrivals.kind = Arrivals::Kind::gamma;
    load.arrivals.cv = 2.0;
    load.arrivals.rate = {{0.0, static_cast<double>(chance.between(1, 40))}};
  }
  return load;
}

/// Either one kind of fleet or the other.
Result<ServeRun> serve_any(const Instance& instance, bool disaggregated, const Workload& workload,
                           const ServeOptions& options) {
  if (!disaggregated)
    return serve(Fleet{instance, 2, {Routing::prefix_aware, 8.0}}, workload, options);
  Disaggregated fleet{Fleet{instance, 2, {Routing::least_loaded}},
                      Fleet{instance, 1, {Routing::round_robin}},
                      {},
                      false};
  fleet.transfer.rate = BytesPerSecond(5e9);
  fleet.transfer.per_token = Bytes(40960.0);
  return serve(fleet, workload, options);
}

void check_conservation(const ServeRun& run, const Workload& workload, bool stopped) {
  const RequestRecords& r = run.requests;
  for (RequestId id = 0; id < r.size(); ++id) {
    CAPTURE(id);
    const Request& request = workload.requests[id];
    switch (r.outcome[id]) {
      case Outcome::finished:
        REQUIRE(r.generated[id] == request.output_tokens);
        REQUIRE(r.first_token_s[id] > r.sent_s[id]);
        REQUIRE(r.finish_s[id] >= r.first_token_s[id]);
        REQUIRE(r.cached_tokens[id] < request.input_tokens);
        break;
      case Outcome::refused_context:
      case Outcome::refused_memory:
        REQUIRE(r.generated[id] == 0);
        break;
      case Outcome::not_sent:
        REQUIRE(stopped);
        REQUIRE(r.sent_s[id] < 0.0);
        break;
      case Outcome::waiting:
      case Outcome::running:
        REQUIRE(stopped);
        REQUIRE(r.sent_s[id] >= 0.0);
        REQUIRE(r.sent_s[id] <= run.end_s);
        REQUIRE(r.finish_s[id] < 0.0);
        REQUIRE(r.generated[id] < request.output_tokens);
        break;
    }
  }
  for (const PoolTotals& pool : run.pools)
    REQUIRE(pool.peak_kv_blocks <= pool.kv_capacity_blocks);
  const Summary summary = summarize(run, workload);
  REQUIRE(summary.sent ==
          summary.finished + summary.unfinished + summary.refused_context + summary.refused_memory);
  REQUIRE(summary.ttft_s.count == summary.finished + summary.unfinished);
}

void require_same(const std::vector<double>& a, const std::vector<double>& b) {
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    REQUIRE(a[i] == Approx(b[i]).epsilon(1e-9).margin(0.0));
  }
}

}  // namespace

TEST_CASE("every request is accounted for, and skipping passes changes nothing") {
  std::uint64_t skipped = 0, preempted = 0, cached = 0, refused = 0, swapped = 0;
  for (std::uint64_t seed = 1; seed <= 120; ++seed) {
    CAPTURE(seed);
    Chance chance(seed);
    const Instance instance = any_instance(chance);
    const Workload workload = *generate(any_load(chance));
    const bool disaggregated = chance.one_in(4);
    ServeOptions options;
    const Result<ServeRun> skipping = serve_any(instance, disaggregated, workload, options);
    options.skip = false;
    const Result<ServeRun> stepping = serve_any(instance, disaggregated, workload, options);
    REQUIRE(skipping);
    REQUIRE(stepping);
    check_conservation(*skipping, workload, false);
    require_same(skipping->requests.first_token_s, stepping->requests.first_token_s);
    require_same(skipping->requests.finish_s, stepping->requests.finish_s);
    REQUIRE(skipping->requests.preemptions == stepping->requests.preemptions);
    REQUIRE(skipping->requests.cached_tokens == stepping->requests.cached_tokens);
    REQUIRE(skipping->gaps.count() == Approx(stepping->gaps.count()).epsilon(1e-12));
    REQUIRE(skipping->gaps.mean() == Approx(stepping->gaps.mean()).epsilon(1e-9));
    for (const PoolTotals& pool : skipping->pools) {
      skipped += pool.passes - pool.events;
      preempted += pool.preemptions;
      swapped += pool.swaps;
    }
    const Summary summary = summarize(*skipping, workload);
    cached += summary.cached_share > 0.0;
    refused += summary.refused_memory;

    options.skip = true;
    options.until_s = skipping->end_s / 3.0;
    check_conservation(*serve_any(instance, disaggregated, workload, options), workload, true);
  }
  // The cases above did happen.
  CHECK(skipped > 10000);
  CHECK(preempted > 100);
  CHECK(swapped > 20);
  CHECK(cached > 20);
  CHECK(refused > 20);
}

TEST_CASE("gaps count each token after the first") {
  Chance chance(3);
  Load load = any_load(chance);
  load.shape = {};
  const Workload workload = *generate(load);
  Instance instance = like_a_70b();
  for (const Scheduling scheduling : {Scheduling::mixed, Scheduling::prefill_first}) {
    instance.engine.scheduling = scheduling;
    instance.kv.capacity_blocks = 400;  // with preemptions
    const ServeRun run = *serve(one(instance), workload);
    double expected = 0.0, decoding_s = 0.0;
    for (RequestId id = 0; id < run.requests.size(); ++id) {
      if (run.requests.outcome[id] != Outcome::finished) continue;
      expected += workload.requests[id].output_tokens - 1.0;
      decoding_s += run.requests.finish_s[id] - run.requests.first_token_s[id];
    }
    CHECK(run.pools[0].preemptions > 0);
    CHECK(run.gaps.count() == expected);
    CHECK(run.gaps.mean() == Approx(decoding_s / expected).epsilon(1e-9));
  }
}

TEST_CASE("Little's law holds in steady state") {
  // Requests in the system, as the replica's own clock counted them, against rate x latency of the
  // requests sent in the window.
  Load load;
  load.tasks = 20000;
  load.input = {TokenCount::Kind::uniform, 986, 0.5};
  load.output = {TokenCount::Kind::uniform, 128, 0.5};
  load.arrivals.rate = {{0.0, 12.0}};
  const Workload workload = *generate(load);
  const ServeRun run = *serve(one(like_a_70b()), workload);
  const Summary summary = summarize(run, workload, steady_window(run, 2000, 2000));
  const double latency_s = summary.e2e_s.mean;
  CHECK(summary.mean_in_system == Approx(summary.requests_per_s * latency_s).epsilon(0.01));
  const PoolTotals& pool = run.pools[0];
  const double all = (pool.batch.integral() + pool.queue.integral()) / run.end_s;
  const Summary whole = summarize(run, workload);
  CHECK(all == Approx(whole.requests_per_s * whole.e2e_s.mean).epsilon(0.01));
}

TEST_CASE("an overloaded system shows in its percentiles") {
  Load load;
  load.tasks = 3000;
  load.input = {TokenCount::Kind::fixed, 986};
  load.output = {TokenCount::Kind::fixed, 128};
  load.arrivals.rate = {{0.0, 60.0}};
  const Workload workload = *generate(load);
  ServeOptions options;
  options.until_s = 50.0;
  const ServeRun run = *serve(one(like_a_70b()), workload, options);
  const Summary summary = summarize(run, workload);
  CHECK(summary.unfinished > summary.sent / 2);
  CHECK(summary.without_first_token > 0);
  CHECK(summary.ttft_s.count == summary.sent);
  CHECK(summary.ttft_s.p50 > 10.0);
  CHECK(summary.queue_growth_per_s > 10.0);
}

TEST_CASE("the same on any number of threads") {
  Chance chance(11);
  const Instance instance = any_instance(chance);
  const Workload workload = *generate(any_load(chance));
  const Fleet fleet{instance, 3, {Routing::least_loaded}};
  const ServeRun alone = *serve(fleet, workload);
  std::vector<std::vector<double>> ends(4);
  std::vector<std::thread> threads;
  for (std::vector<double>& end : ends)
    threads.emplace_back([&] { end = serve(fleet, workload)->requests.finish_s; });
  for (std::thread& thread : threads)
    thread.join();
  for (const std::vector<double>& end : ends)
    CHECK(end == alone.requests.finish_s);
}

}  // namespace flowplan::inference::property_test
