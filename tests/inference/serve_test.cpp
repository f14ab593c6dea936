#include "flowplan/inference/serve.hpp"

#include <catch2/catch.hpp>

#include "handmade.hpp"

namespace flowplan::inference::serve_test {

using namespace handmade;

namespace {

constexpr double tight = 1e-9;

ServeRun run_of(const Instance& instance, const Workload& workload, ServeOptions options = {}) {
  const Result<ServeRun> run = serve(one(instance), workload, options);
  REQUIRE(run);
  return *run;
}

ServeOptions stopping_at(double until_s) {
  ServeOptions options;
  options.until_s = until_s;
  return options;
}

void check_times(const std::vector<double>& got, const std::vector<double>& expected) {
  REQUIRE(got.size() == expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    CAPTURE(i);
    CHECK(got[i] == Approx(expected[i]).epsilon(tight).margin(0.0));
  }
}

/// The first with 5 tokens of output, the second with 3, sent while the third pass runs.
Workload one_joins_another() {
  return load_of({{0.0, 10, 5}, {0.025, 10, 3}});
}

}  // namespace

TEST_CASE("a prompt takes one pass, then each token one more") {
  const ServeRun run = run_of(one_ms_a_token(), load_of({{0.5, 100, 5}}));
  check_times(run.requests.first_token_s, {0.5 + 0.1});
  check_times(run.requests.finish_s, {0.5 + 0.1 + 4 * 0.001});
  CHECK(run.requests.outcome[0] == Outcome::finished);
  CHECK(run.requests.generated[0] == 5);
  CHECK(run.pools[0].events == 2);  // the prompt, and all decoding at once
  CHECK(run.pools[0].passes == 5);
  CHECK(run.gaps.count() == 4);
}

TEST_CASE("a request of one token ends with its prompt") {
  const ServeRun run = run_of(one_ms_a_token(), load_of({{0.0, 100, 1}}));
  check_times(run.requests.finish_s, {0.1});
  CHECK(run.gaps.count() == 0);
}

TEST_CASE("one request alone agrees with the sum of its passes") {
  // 3,000 tokens are cut at the budget of 2,048; then 899 passes at contexts 3,001 to 3,899, and
  // with 40,000 more the last lines of the tables are crossed.
  const Instance instance = [] {
    Instance big = like_a_70b();
    big.engine.token_budget = 2048;
    return big;
  }();
  for (const auto& [input, output] : {std::pair{3000u, 900u}, std::pair{700u, 40000u}}) {
    double at_s = 0.0;
    for (std::int64_t done = 0; done < input; done += 2048) {
      const Chunk chunk{done, std::min<std::int64_t>(2048, input - done)};
      StepLoad load;
      load.chunks = {&chunk, 1};
      load.finishing_sequences = done + chunk.chunk_tokens == input;
      load.tokens_all_ranks = chunk.chunk_tokens;
      load.sequences_all_lanes = 1;
      at_s += step_seconds(instance.table, load);
    }
    const double first_s = at_s;
    for (std::uint32_t n = 1; n < output; ++n) {
      StepLoad load;
      load.decode_sequences = load.tokens_all_ranks = load.sequences_all_lanes = 1;
      load.decode_context_tokens = input + n;
      at_s += step_seconds(instance.table, load);
    }
    const ServeRun run = run_of(instance, load_of({{0.0, input, output}}));
    check_times(run.requests.first_token_s, {first_s});
    check_times(run.requests.finish_s, {at_s});
    CHECK(run.pools[0].events <= 3);
  }
}

TEST_CASE("a newcomer joins the next pass") {
  // Passes of 10 ms. The second request comes at 25 ms, its prompt is in the pass from 30 to 40.
  const ServeRun run = run_of(ten_ms_a_pass(), one_joins_another());
  check_times(run.requests.first_token_s, {0.01, 0.04});
  check_times(run.requests.finish_s, {0.05, 0.06});
}

TEST_CASE("with asynchronous scheduling it joins one pass later") {
  Instance instance = ten_ms_a_pass();
  instance.engine.async_scheduling = true;
  ServeRun run = run_of(instance, one_joins_another());
  check_times(run.requests.first_token_s, {0.01, 0.05});
  check_times(run.requests.finish_s, {0.05, 0.07});
  // An idle engine has no pass queued.
  run = run_of(instance, load_of({{0.0, 10, 1}, {1.0, 10, 1}}));
  check_times(run.requests.finish_s, {0.01, 1.01});
}

TEST_CASE("the API's time passes before the queue") {
  Instance instance = ten_ms_a_pass();
  instance.engine.api = milliseconds(7);
  instance.engine.api_per_token = milliseconds(0.1);
  const ServeRun run = run_of(instance, load_of({{0.0, 10, 2}, {0.5, 20, 1}}));
  check_times(run.requests.first_token_s, {0.018, 0.519});
  check_times(run.requests.finish_s, {0.028, 0.519});
}

TEST_CASE("prompts are cut at the token budget, or computed whole") {
  Instance instance = ten_ms_a_pass();
  instance.engine.token_budget = 64;
  // 150 tokens in passes of 64, 64, 22; the second prompt's 30 fit into the third pass.
  const Workload two = load_of({{0.0, 150, 1}, {0.0, 30, 1}});
  check_times(run_of(instance, two).requests.finish_s, {0.03, 0.03});
  // Whole: the first, longer than any budget, alone; then the second.
  instance.engine.chunked_prefill = false;
  check_times(run_of(instance, two).requests.finish_s, {0.01, 0.02});
}

TEST_CASE("decoding takes its tokens from the budget first") {
  // While one sequence decodes, 63 of 64 tokens are left: 64 prompt tokens need two passes.
  Instance instance = ten_ms_a_pass();
  instance.engine.token_budget = 64;
  const ServeRun run = run_of(instance, load_of({{0.0, 10, 9}, {0.005, 64, 1}}));
  check_times(run.requests.first_token_s, {0.01, 0.03});
}

TEST_CASE("no more sequences run than the engine takes") {
  Instance instance = ten_ms_a_pass();
  instance.engine.max_sequences = 1;
  const ServeRun run = run_of(instance, one_joins_another());
  check_times(run.requests.finish_s, {0.05, 0.08});
  CHECK(run.pools[0].peak_batch == 1);
}

TEST_CASE("where prompts go first, decoding pauses") {
  Instance instance = ten_ms_a_pass();
  instance.engine.scheduling = Scheduling::prefill_first;
  const ServeRun run = run_of(instance, one_joins_another());
  // The pass from 30 to 40 ms has the second prompt alone: the first request's fourth token comes
  // at 50 ms, 20 after its third.
  check_times(run.requests.first_token_s, {0.01, 0.04});
  check_times(run.requests.finish_s, {0.06, 0.06});
  CHECK(run.gaps.count() == 6);
  CHECK(run.gaps.percentile(1.0) == Approx(0.02).epsilon(GapHistogram::resolution));
  CHECK(run.gaps.percentile(5.0 / 6.0) == Approx(0.01).epsilon(GapHistogram::resolution));
}

TEST_CASE("drafts let a pass give out several tokens") {
  Instance instance = one_ms_a_token();
  instance.engine.speculation = {2, 2.5, Curve({0.0}, {0.5e-3})};
  // 10 tokens after the first take 4 passes, 11 take 5; each has 3 tokens and 2 drafts: 4 ms.
  const ServeRun run = run_of(instance, load_of({{0.0, 100, 11}, {1.0, 100, 12}}));
  check_times(run.requests.finish_s, {0.1 + 4 * 0.004, 1.1 + 5 * 0.004});
}

TEST_CASE("tokens a pass from an acceptance rate, and from a table") {
  CHECK(tokens_per_pass(0.8, 0) == 1.0);
  CHECK(tokens_per_pass(0.8, 2) == Approx(1 + 0.8 + 0.64).epsilon(tight));
  CHECK(tokens_per_pass(1.0, 3) == 4.0);
  const std::vector<double> measured{1.92, 2.58, 2.82};
  CHECK(tokens_per_pass(measured, 0) == 1.0);
  CHECK(tokens_per_pass(measured, 2) == 2.58);
  CHECK(tokens_per_pass(measured, 5) == 2.82);
}

TEST_CASE("adapters cost time, and wait for room on the GPU") {
  Instance instance = ten_ms_a_pass();
  instance.engine.lora = {1, milliseconds(5), milliseconds(1), milliseconds(2), Seconds(0)};
  Workload workload = load_of({{0.0, 10, 3}, {0.0, 10, 1}, {0.0, 10, 1}});
  workload.requests[0].adapter = 1;
  workload.requests[1].adapter = 2;
  // The first pass loads adapter 1: 10 + 5 + 1 + 2 ms, the third request passes the second. Two
  // more of 13 ms; then the second request's adapter is loaded.
  const ServeRun run = run_of(instance, workload);
  check_times(run.requests.finish_s, {0.044, 0.062, 0.018});
}

TEST_CASE("attention ranks work on prompts of their own") {
  Instance instance = one_ms_a_token();
  instance.table.attention_ranks = 2;
  instance.engine.token_budget = 64;
  // 50 tokens on each rank at once; the third prompt gets the 14 left of a rank's budget in the
  // first pass (64 ms), and 6 in the second.
  const ServeRun run = run_of(instance, load_of({{0.0, 50, 1}, {0.0, 50, 1}, {0.0, 20, 1}}));
  check_times(run.requests.finish_s, {0.064, 0.064, 0.070});
}

TEST_CASE("a request is let in when its whole length has room") {
  Instance instance = ten_ms_a_pass();
  instance.engine.admission = Admission::reserve;
  instance.kv.capacity_blocks = 4;
  // 48 tokens take 3 of 4 blocks of 16, so the 2 of the second have to wait for the end.
  const ServeRun run = run_of(instance, load_of({{0.0, 16, 32}, {0.0, 16, 16}}));
  check_times(run.requests.finish_s, {0.32, 0.48});
  CHECK(run.pools[0].preemptions == 0);
}

TEST_CASE("the last one let in is preempted, and computed again") {
  // Room for 3 blocks. Both prompts fill one block each; their second token needs another one
  // each. The second request leaves at 10 ms with one token, and comes back when the first has
  // ended with 20 tokens at 200 ms: it computes 17 tokens, and 18 more passes.
  Instance instance = ten_ms_a_pass();
  instance.kv.capacity_blocks = 3;
  const ServeRun run = run_of(instance, load_of({{0.0, 16, 20}, {0.0, 16, 20}}));
  check_times(run.requests.first_token_s, {0.01, 0.01});
  check_times(run.requests.finish_s, {0.20, 0.39});
  CHECK(run.requests.preemptions == std::vector<std::uint16_t>{0, 1});
  CHECK(run.pools[0].preemptions == 1);
  CHECK(run.pools[0].peak_kv_blocks == 3);
  CHECK(run.pools[0].prefill_tokens == 16 + 16 + 17);
  CHECK(run.gaps.count() == 2 * 19);
  CHECK(run.gaps.percentile(1.0) == Approx(0.20).epsilon(GapHistogram::resolution));
}

TEST_CASE("or moved to the host and back") {
  // 16 tokens of 1 byte at 16,000 bytes/s: 1 ms out, which the pass waits for, and 1 ms in.
  Instance instance = ten_ms_a_pass();
  instance.kv.capacity_blocks = 3;
  instance.engine.preemption = Preemption::swap;
  instance.engine.swap_rate = BytesPerSecond(16000.0);
  instance.engine.swap_blocks = 1;
  const Workload workload = load_of({{0.0, 16, 20}, {0.0, 16, 20}});
  ServeRun run = run_of(instance, workload);
  check_times(run.requests.finish_s, {0.201, 0.201 + 0.011 + 18 * 0.01});
  CHECK(run.pools[0].swaps == 1);
  CHECK(run.pools[0].prefill_tokens == 32);
  CHECK(run.gaps.count() == 2 * 19);
  // No room on the host: computed again.
  instance.engine.swap_blocks = 0;
  run = run_of(instance, workload);
  check_times(run.requests.finish_s, {0.20, 0.39});
  CHECK(run.pools[0].swaps == 0);
}

TEST_CASE("what can never run is refused and counted") {
  Instance instance = ten_ms_a_pass();
  instance.engine.context_limit = 100;
  instance.kv.capacity_blocks = 5;
  const ServeRun run = run_of(instance, load_of({{0.0, 90, 11}, {0.0, 70, 12}, {0.0, 70, 11}}));
  CHECK(run.requests.outcome ==
        std::vector<Outcome>{Outcome::refused_context, Outcome::refused_memory, Outcome::finished});
}

TEST_CASE("a state and a window take room beside the blocks") {
  // Blocks of 16 bytes; a window of 32 tokens at 1 byte and a state of 1 byte: 3 blocks more.
  Instance instance = ten_ms_a_pass();
  instance.kv.windowed_per_token = Bytes(1.0);
  instance.kv.window_tokens = 32;
  instance.kv.state_per_sequence = Bytes(1.0);
  instance.kv.capacity_blocks = 7;
  // Each takes 1 + 3 blocks: one at a time.
  const ServeRun run = run_of(instance, load_of({{0.0, 10, 2}, {0.0, 10, 2}}));
  check_times(run.requests.finish_s, {0.02, 0.04});
  CHECK(instance.kv.longest_sequence() == 64);
}

TEST_CASE("the clock can stop before the end") {
  const ServeRun run =
      run_of(ten_ms_a_pass(), load_of({{0.0, 10, 100}, {0.9, 10, 5}}), stopping_at(0.055));
  CHECK(run.requests.outcome == std::vector<Outcome>{Outcome::running, Outcome::not_sent});
  CHECK(run.requests.generated[0] == 5);
  CHECK(run.end_s == 0.055);
  CHECK(run.gaps.count() == 4);
}

TEST_CASE("a closed loop sends the next when one ends") {
  Workload workload = load_of({{0.0, 10, 3}, {0.0, 10, 5}, {0.0, 10, 2}, {0.0, 10, 1}});
  workload.concurrency = 2;
  const ServeRun run = run_of(ten_ms_a_pass(), workload);
  check_times(run.requests.sent_s, {0.0, 0.0, 0.03, 0.05});
  check_times(run.requests.finish_s, {0.03, 0.05, 0.05, 0.06});
}

TEST_CASE("wrong engines and loads are refused with reasons") {
  Instance instance = ten_ms_a_pass();
  const Workload fine = load_of({{0.0, 10, 1}});
  CHECK(serve(one(instance), load_of({})).error()[0].code == Code::value_out_of_range);
  CHECK(serve(one(instance), load_of({{0.0, 10, 0}})).error()[0].message ==
        "request 0 has 10 input and 0 output tokens: each must be at least 1");
  CHECK(serve(one(instance), load_of({{1.0, 10, 1}, {0.5, 10, 1}})).error()[0].message ==
        "request 1 arrives before the one in front of it");
  CHECK_FALSE(serve(Fleet{instance, 0, {}}, fine));
  instance.engine.token_budget = 0;
  instance.engine.speculation.tokens_per_pass = 2.0;  // without drafts
  instance.kv.capacity_blocks = 0;
  CHECK(serve(one(instance), fine).error().size() == 3);
  instance = ten_ms_a_pass();
  instance.engine.tiers = {{"host", 10, BytesPerSecond(0.0)}};
  CHECK(serve(one(instance), fine).error().size() == 2);
  instance = ten_ms_a_pass();
  instance.engine.prefix_caching = true;
  CHECK(serve(one(instance), load_of({{0.0, 10, 1}}, 24)).error()[0].message ==
        "prefix blocks of 24 tokens are no whole number of KV blocks of 16 tokens");
}

}  // namespace flowplan::inference::serve_test
