#include "flowplan/inference/pass_traffic.hpp"

#include "step_fixture.hpp"

namespace flowplan::inference::pass_traffic_test {

namespace {

PassTraffic must_send(const StepSetup& setup, double tokens, double sequences) {
  const auto traffic = pass_traffic(step_catalog(), setup, tokens, sequences);
  if (!traffic) FAIL(render(traffic.error()));
  return *traffic;
}

}  // namespace

TEST_CASE("one GPU sends nothing") {
  const PassTraffic traffic =
      must_send(known_setup("llama3.1-8b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1)),
                64.0, 64.0);
  CHECK(traffic.nvlink.value() == 0.0);
  CHECK(traffic.network.value() == 0.0);
}

TEST_CASE("small all-reduces send the vector to every other rank") {
  // Llama 3.1 70B: two all-reduces in each of 80 layers of one token of 8,192 x 2 bytes, one-shot
  // to 7 others; of the logits of one sequence, 128,256 x 2 bytes, a gather of half that.
  const PassTraffic traffic = must_send(
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(8)), 1.0, 1.0);
  const double layers = 160.0 * 7.0 * 8192.0 * 2.0;
  // One-shot or two-shot, by what is faster at 128 KB.
  CHECK(traffic.nvlink.value() >= layers + 2.0 * 7.0 / 8.0 * 128256.0);
  CHECK(traffic.nvlink.value() <= layers + 7.0 * 128256.0);
  CHECK(traffic.network.value() == 0.0);
}

TEST_CASE("large all-reduces send twice what is not a rank's own") {
  // 16,384 tokens of 8,192 x 2 bytes, 2 (n - 1) / n of it out of each GPU whatever does it; NVLink
  // SHARP sends less.
  const PassTraffic traffic =
      must_send(known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(8)),
                16384.0, 1.0);
  const double vector = 16384.0 * 8192.0 * 2.0;
  CHECK(traffic.nvlink.value() <= 160.0 * 2.0 * 7.0 / 8.0 * vector * 1.001);
  CHECK(traffic.nvlink.value() >= 160.0 * vector);
}

TEST_CASE("stages on machines of their own send over the network") {
  Layout layout = tensor_parallel(8);
  layout.pp = 2;
  const PassTraffic traffic =
      must_send(known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::bf16, layout), 64.0, 64.0);
  // Each GPU of the first stage sends an eighth of 64 x 8,192 x 2 bytes, those of the second none.
  CHECK(traffic.network.value() == Approx(64.0 * 8192.0 * 2.0 / 8.0 / 2.0));
}

}  // namespace flowplan::inference::pass_traffic_test
