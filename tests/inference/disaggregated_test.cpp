// Prefill and decode on workers of their own.
#include <catch2/catch.hpp>

#include "flowplan/inference/serve.hpp"
#include "handmade.hpp"

namespace flowplan::inference::disaggregated_test {

using namespace handmade;

namespace {

/// Prompts at 1 ms a token, decode passes of 10 ms, KV of 1 byte a token at 10,000 bytes/s.
Disaggregated by_hand() {
  Disaggregated fleet;
  fleet.prefill = one(one_ms_a_token());
  fleet.decode = one(ten_ms_a_pass());
  fleet.transfer.rate = BytesPerSecond(10000.0);
  fleet.transfer.handshake = milliseconds(1);
  fleet.transfer.per_token = Bytes(1.0);
  return fleet;
}

void check_request(const ServeRun& run, RequestId id, double first_s, double finish_s) {
  CAPTURE(id);
  CHECK(run.requests.first_token_s[id] == Approx(first_s).epsilon(1e-9).margin(0.0));
  CHECK(run.requests.finish_s[id] == Approx(finish_s).epsilon(1e-9).margin(0.0));
}

}  // namespace

TEST_CASE("a transfer takes its bytes, or what layers sent early leave of them") {
  KvTransfer transfer = by_hand().transfer;
  transfer.per_sequence = Bytes(20.0);
  CHECK(transfer_seconds(transfer, 100, 0.1) == Approx(0.001 + 0.012));
  transfer.pushed_layers = 10;
  CHECK(transfer_seconds(transfer, 100, 0.1) == Approx(0.001 + 0.0012));
  CHECK(transfer_seconds(transfer, 100, 0.005) == Approx(0.001 + 0.007));
}

TEST_CASE("the prompt, its transfer, then the other tokens") {
  Disaggregated fleet = by_hand();
  const Workload workload = load_of({{0.0, 100, 5}, {0.5, 50, 1}});
  ServeRun run = *serve(fleet, workload);
  // 100 ms of prompt, 11 of transfer, 4 passes. One token needs no decode worker.
  check_request(run, 0, 0.111, 0.151);
  check_request(run, 1, 0.55, 0.55);
  CHECK(run.requests.replica == std::vector<std::uint16_t>{1, 0});
  CHECK(run.gaps.count() == 4);
  fleet.first_token_from_prefill = true;
  run = *serve(fleet, workload);
  check_request(run, 0, 0.1, 0.151);
  CHECK(run.gaps.percentile(1.0) == Approx(0.021).epsilon(GapHistogram::resolution));
  fleet.transfer.pushed_layers = 10;
  run = *serve(fleet, workload);
  check_request(run, 0, 0.1, 0.142);
  CHECK(run.gpus == 2);
}

TEST_CASE("a worker sends and receives one prompt at a time") {
  // Both prompts are ready at 200 ms. The second transfer ends at 222 ms, in the second decode
  // pass of the first request (221 to 231), and joins the third.
  const ServeRun run = *serve(by_hand(), load_of({{0.0, 100, 5}, {0.0, 100, 5}}));
  check_request(run, 0, 0.211, 0.251);
  check_request(run, 1, 0.222, 0.271);
}

TEST_CASE("a prompt's KV stays on its worker until it has been sent") {
  Disaggregated fleet = by_hand();
  fleet.prefill.instance.kv.capacity_blocks = 7;  // one prompt of 100 tokens
  const ServeRun run = *serve(fleet, load_of({{0.0, 100, 2}, {0.0, 100, 2}}));
  check_request(run, 0, 0.111, 0.121);
  check_request(run, 1, 0.111 + 0.1 + 0.011, 0.232);
}

TEST_CASE("decode workers are chosen by load, counting what is on its way") {
  Disaggregated fleet = by_hand();
  fleet.decode.replicas = 2;
  fleet.decode.router.routing = Routing::least_loaded;
  const ServeRun run = *serve(fleet, load_of({{0.0, 100, 5}, {0.0, 100, 5}}));
  CHECK(run.requests.replica == std::vector<std::uint16_t>{1, 2});
  // The sender is the same: the second transfer still waits for the first.
  check_request(run, 1, 0.222, 0.262);
}

TEST_CASE("a request must fit on both sides") {
  Disaggregated fleet = by_hand();
  fleet.decode.instance.kv.capacity_blocks = 7;
  const ServeRun run = *serve(fleet, load_of({{0.0, 100, 14}, {0.0, 100, 13}}));
  CHECK(run.requests.outcome == std::vector<Outcome>{Outcome::refused_memory, Outcome::finished});
}

TEST_CASE("a transfer needs a rate") {
  Disaggregated fleet = by_hand();
  fleet.transfer.rate = BytesPerSecond(0.0);
  CHECK_FALSE(serve(fleet, load_of({{0.0, 100, 13}})));
}

}  // namespace flowplan::inference::disaggregated_test
