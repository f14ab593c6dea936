#include "flowplan/inference/memory.hpp"

#include <cmath>

#include "step_fixture.hpp"

namespace flowplan::inference::serving_memory_test {

namespace {

ServingMemory memory_of(const StepSetup& setup, double sequences, double tokens) {
  return serving_memory(*setup.instance, *setup.model, setup.layout, setup.formats, setup.engine,
                        {sequences, tokens});
}

constexpr double giga = 1e9;

}  // namespace

TEST_CASE("weights of a dense model divide by TP") {
  const auto one = weight_bytes(known_model("llama3.1-70b"), tensor_parallel(1),
                                usual_formats(known_model("llama3.1-70b"), WeightFormat::fp8));
  // 80 layers of 8192 x (8192 + 2 x 1024) + 8192 x 8192 and 3 x 8192 x 28672, a byte each;
  // embedding and output of 128256 x 8192 in 16 bits.
  const double attention = 80.0 * (8192.0 * 10240.0 + 8192.0 * 8192.0);
  CHECK(one.attention.value() == attention);
  CHECK(one.ffn.value() == 80.0 * 3.0 * 8192.0 * 28672.0);
  CHECK(one.embedding.value() == 2.0 * 2.0 * 128256.0 * 8192.0);
  const auto four = weight_bytes(known_model("llama3.1-70b"), tensor_parallel(4),
                                 usual_formats(known_model("llama3.1-70b"), WeightFormat::fp8));
  CHECK(four.total().value() == Approx(one.total().value() / 4.0));
}

TEST_CASE("DeepSeek-V3's weights come to its published sizes") {
  const auto& model = known_model("deepseek-v3");
  const auto fp8 =
      weight_bytes(model, tensor_parallel(1), usual_formats(model, WeightFormat::fp8_block));
  CHECK(fp8.total().value() / giga == Approx(673.0).epsilon(0.01));  // 671e9 parameters, some wide
  const auto fp4 =
      weight_bytes(model, tensor_parallel(1), usual_formats(model, WeightFormat::nvfp4));
  // "about 400 GB in the NVFP4 release" (TensorRT-LLM blog 3): experts 4 bits, the rest 16.
  CHECK(fp4.total().value() / giga == Approx(400.0).epsilon(0.03));
}

TEST_CASE("redundant experts take memory, expert parallelism divides whole experts") {
  const auto& model = known_model("deepseek-v3");
  const auto formats = usual_formats(model, WeightFormat::fp8_block);
  Layout wide;
  wide.attention_dp = wide.ep = 32;
  const auto plain = weight_bytes(model, wide, formats);
  wide.redundant_experts = 32;
  const auto redundant = weight_bytes(model, wide, formats);
  // 256 experts over 32 ranks are 8 each, 288 are 9.
  CHECK(redundant.experts.value() == Approx(plain.experts.value() * 9.0 / 8.0));
  CHECK(redundant.attention == plain.attention);
}

TEST_CASE("the KV cache of a token is that of the model's layers") {
  const auto& llama = known_model("llama3.1-70b");
  const auto kv =
      kv_geometry(llama, tensor_parallel(1), usual_formats(llama, WeightFormat::fp8), 16);
  CHECK(kv.full_per_token.value() == 163840.0);  // 2 x 80 x 8 x 128 bytes
  CHECK(kv.block_bytes().value() == 16.0 * 163840.0);

  const auto& deepseek = known_model("deepseek-v3");
  const auto formats = usual_formats(deepseek, WeightFormat::fp8_block);
  const auto latent = kv_geometry(deepseek, tensor_parallel(8), formats, 64);
  CHECK(latent.full_per_token.value() == 61.0 * 576.0);  // on each of the eight ranks

  const auto& oss = known_model("gpt-oss-120b");
  const auto window =
      kv_geometry(oss, tensor_parallel(1), usual_formats(oss, WeightFormat::mxfp4), 16);
  CHECK(window.window_tokens == 128);
  CHECK(window.full_per_token == window.windowed_per_token);  // half the layers each

  const auto& linear = known_model("qwen3.5-397b-a17b");
  const auto state =
      kv_geometry(linear, tensor_parallel(4), usual_formats(linear, WeightFormat::nvfp4), 16);
  // 45 layers of 64 x 128 x 128 in fp32, and three inputs of 12288 channels in 16 bits.
  CHECK(state.state_per_sequence.value() ==
        45.0 * (64.0 * 128.0 * 128.0 * 4.0 + 3.0 * 12288.0 * 2.0) / 4.0);
  CHECK(state.full_per_token.value() == 15.0 * 2.0 * 1.0 * 256.0);  // one of two KV heads
}

TEST_CASE("the cache gets the engine's share of what the driver reports, less the rest") {
  const auto setup =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::fp8, tensor_parallel(4));
  const auto use = memory_of(setup, 1, 2048);
  REQUIRE(use.fits);
  CHECK(use.binding.empty());
  CHECK(use.remedies.empty());
  const double room = setup.instance->hbm_per_gpu().value() * setup.engine.hbm_fraction -
                      use.weights.total().value() - setup.engine.other_memory.value();
  CHECK(use.kv_room.value() == Approx(room));
  CHECK(use.kv.capacity_blocks == static_cast<std::int64_t>(room / use.kv.block_bytes().value()));
  CHECK(use.sequences_of(2048.0) ==
        std::floor(static_cast<double>(use.kv.capacity_blocks) / 128.0));
}

TEST_CASE("what does not fit names its binding term and changes that mend it") {
  const auto weights =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1));
  const auto heavy = memory_of(weights, 1, 2048);  // 141 GB of weights on 80 GB
  CHECK_FALSE(heavy.fits);
  CHECK(heavy.binding == "weights");
  REQUIRE_FALSE(heavy.remedies.empty());
  CHECK(heavy.remedies.front().change == "tp 2");  // 71 GB each, 77 allowed, 4 beside

  const auto cache =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::fp8, tensor_parallel(2));
  const auto crowded = memory_of(cache, 1000, 8192);
  CHECK_FALSE(crowded.fits);
  CHECK(crowded.binding == "kv cache");
  REQUIRE_FALSE(crowded.remedies.empty());
  const double most = crowded.sequences_of(8192);
  const auto fewer = memory_of(cache, most, 8192);
  CHECK(fewer.fits);
  CHECK(crowded.remedies.front().change.find("sequences at once") != std::string::npos);
}

}  // namespace flowplan::inference::serving_memory_test
