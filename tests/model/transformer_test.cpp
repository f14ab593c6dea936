#include "flowplan/model/transformer.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::model::transformer_test {

namespace {

Transformer read(const std::string& file) {
  const auto document =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/tests/model/configs/" + file + ".config.json");
  REQUIRE(document.has_value());
  const auto model = read_config(*document, file);
  INFO((model ? std::string() : render(model.error())));
  REQUIRE(model.has_value());
  return *model;
}

/// A Llama-like model by its dimensions.
Transformer dense(std::int64_t layers, std::int64_t hidden, std::int64_t heads,
                  std::int64_t kv_heads, std::int64_t ffn, std::int64_t vocab) {
  Transformer m;
  m.layers = layers;
  m.hidden = hidden;
  m.heads = heads;
  m.kv_heads = kv_heads;
  m.head_dim = hidden / heads;
  m.ffn = ffn;
  m.vocab = vocab;
  return m;
}

double gflop_per_token(const Transformer& m, std::int64_t seq_len) {
  return training_flops_per_token(m, seq_len).value() / 1e9;
}

}  // namespace

TEST_CASE("parameter counts are those of the published checkpoints") {
  // Sums over the tensors of the public safetensors files.
  CHECK(count_parameters(read("llama-3.1-8b")).total == 8030261248.0);
  CHECK(count_parameters(read("llama-3.1-70b")).total == 70553706496.0);
  CHECK(count_parameters(read("llama-3.1-405b")).total == 405853388800.0);
  CHECK(count_parameters(read("mixtral-8x7b")).total == 46702792704.0);
  CHECK(count_parameters(read("qwen3-32b")).total == 32762123264.0);
  CHECK(count_parameters(read("qwen3-235b-a22b")).total == 235093634560.0);
  CHECK(count_parameters(read("gpt-oss-120b")).total == 116829156672.0);
}

TEST_CASE("DeepSeek-V3 has 671.03e9 parameters of which a token touches 37.55e9") {
  const Parameters p = count_parameters(read("deepseek-v3"));
  CHECK(p.total / 1e9 == Approx(671.03).epsilon(1e-5));
  CHECK(p.active / 1e9 == Approx(37.55).epsilon(1e-4));
}

TEST_CASE("the multi-token prediction module is counted apart from the total") {
  Transformer model = read("deepseek-v3");
  const Parameters with = count_parameters(model);
  // Embedding and output are shared with the model: 11.5e9 of the 14e9 of the checkpoint are its
  // own.
  CHECK(with.mtp / 1e9 == Approx(11.6).epsilon(0.01));
  model.mtp_layers = 0;
  CHECK(count_parameters(model).mtp == 0.0);
  CHECK(count_parameters(model).total == with.total);
}

TEST_CASE("a GPT with biases, learned positions and tied embeddings follows Narayanan's count") {
  // 12 l h^2 (1 + 13/(12 h) + (V + s)/(12 l h)) leaves out the final norm's 2h.
  Transformer m = dense(96, 12288, 96, 96, 4 * 12288, 51200);
  m.gated_mlp = false;
  m.attention_bias = m.output_bias = m.mlp_bias = m.norm_bias = true;
  m.learned_positions = m.tied_embeddings = true;
  m.context = 2048;
  const double l = 96, h = 12288, v = 51200, s = 2048;
  const double narayanan = 12 * l * h * h * (1 + 13 / (12 * h) + (v + s) / (12 * l * h));
  CHECK(count_parameters(m).total == Approx(narayanan + 2 * h).epsilon(1e-12));
}

TEST_CASE("the parts of the count add up to the total") {
  for (const char* name : {"llama-3.1-70b", "deepseek-v3", "gpt-oss-120b", "deepseek-v3.2"}) {
    const Transformer m = read(name);
    const Parameters p = count_parameters(m);
    const double moe = static_cast<double>(m.moe_layers());
    const double plain = static_cast<double>(m.dense_layers());
    const double sum = p.embedding + p.output + p.final_norm +
                       (moe + plain) * (p.attention + p.norms) + plain * p.dense_mlp +
                       moe * p.expert_mlp;
    CHECK(p.total == Approx(sum).epsilon(1e-12));
    CHECK(p.active <= p.total);
    CHECK(p.routed_experts <= p.expert_mlp);
  }
}

TEST_CASE("Llama FLOPs per token match Megatron-Bridge's published ratios") {
  CHECK(gflop_per_token(read("llama-3.1-405b"), 8192) == Approx(2524.0).epsilon(1e-4));
  // 6 x matrices (without the embedding) + 6 a d s per layer.
  const double by_hand =
      6 * (32.0 * (2 * 4096.0 * 4096 * 1.25 + 3 * 4096.0 * 14336) + 4096.0 * 128256) +
      32.0 * 6 * 4096 * 8192;
  CHECK(gflop_per_token(read("llama-3.1-8b"), 8192) == Approx(by_hand / 1e9).epsilon(1e-12));
}

TEST_CASE("mixture-of-experts FLOPs per token match Megatron-Bridge's published ratios") {
  constexpr double published_within = 2e-3;
  Transformer qwen = dense(48, 2048, 32, 4, 6144, 151936);
  qwen.head_dim = 128;
  qwen.experts = Experts{128, 8, 768, 0, 0, 1};
  CHECK(gflop_per_token(qwen, 4096) == Approx(22.99).epsilon(published_within));

  Transformer deepseek = read("deepseek-v3");
  CHECK(gflop_per_token(deepseek, 4096) == Approx(260.2).epsilon(published_within));
  deepseek.mtp_layers = 0;
  CHECK(gflop_per_token(deepseek, 4096) == Approx(249.7).epsilon(published_within));

  Transformer kimi = deepseek;
  kimi.heads = kimi.kv_heads = 64;
  kimi.vocab = 163840;
  kimi.experts = Experts{384, 8, 2048, 1, 1, 1};
  CHECK(gflop_per_token(kimi, 4096) == Approx(204.2).epsilon(published_within));
}

TEST_CASE("GPT-OSS credits a causal band in the layers with a sliding window") {
  const Transformer m = read("gpt-oss-120b");
  REQUIRE(m.sliding_window == 128);
  REQUIRE(m.sliding_share == 0.5);
  // A causal band of w keys: w - w^2 / (2 s) keys a query on average.
  const double full = 4096 / 2.0, band = 128 - 128.0 * 128 / (2 * 4096);
  const double per_key = 2 * 64 * (64 + 64);
  CHECK(layer_flops_per_token(m, 4096).attention_core ==
        Approx(per_key * (full + band) / 2).epsilon(1e-12));
}

TEST_CASE("a window at least as long as the sequence changes nothing") {
  Transformer m = dense(4, 512, 8, 8, 2048, 1000);
  const double full = training_flops_per_token(m, 256).value();
  m.sliding_share = 1.0;
  m.sliding_window = 256;
  CHECK(training_flops_per_token(m, 256).value() == full);
  m.sliding_window = 4096;
  CHECK(training_flops_per_token(m, 256).value() == full);
  m.sliding_window = 64;
  CHECK(training_flops_per_token(m, 256).value() < full);
}

TEST_CASE("full attention credit doubles the core of a causal model") {
  const Transformer m = dense(4, 512, 8, 8, 2048, 1000);
  CHECK(layer_flops_per_token(m, 1024, AttentionCredit::full).attention_core ==
        2 * layer_flops_per_token(m, 1024).attention_core);
}

TEST_CASE("MLPerf's FLOPs of a 405B sample have no causal credit") {
  // Its reference prints 21,508 TFLOP for a sequence of 8,192 tokens.
  const double sample =
      training_flops_per_token(read("llama-3.1-405b"), 8192, AttentionCredit::full).value() * 8192;
  CHECK(sample / 1e12 == Approx(21508).epsilon(2e-3));
}

TEST_CASE("sparse attention reads at most its top-k keys and pays for its indexer") {
  const Transformer sparse = read("deepseek-v3.2");
  Transformer full = sparse;
  full.sparse_attention.reset();
  REQUIRE(sparse.sparse_attention->top_k == 2048);
  CHECK(layer_flops_per_token(sparse, 65536).attention_core <
        layer_flops_per_token(full, 65536).attention_core);
  CHECK(layer_flops_per_token(sparse, 2048).attention_core >
        layer_flops_per_token(full, 2048).attention_core);
}

TEST_CASE("a layer has experts where the pattern says so") {
  Transformer m = dense(48, 5120, 40, 8, 16384, 202048);
  m.experts = Experts{128, 1, 8192, 1, 0, 2};
  CHECK(m.moe_layers() == 24);
  CHECK_FALSE(m.has_experts(0));
  CHECK(m.has_experts(1));
  m.experts = Experts{256, 8, 2048, 1, 3, 1};
  CHECK(m.moe_layers() == 45);
  CHECK_FALSE(m.has_experts(2));
  CHECK(m.has_experts(3));
  std::int64_t counted = 0;
  for (std::int64_t layer = 0; layer < m.layers; ++layer)
    counted += m.has_experts(layer) ? 1 : 0;
  CHECK(counted == m.moe_layers());
}

TEST_CASE("FLOPs grow with every dimension") {
  const Transformer m = dense(8, 1024, 16, 4, 4096, 32000);
  const double base = training_flops_per_token(m, 2048).value();
  const auto with = [&](auto change) {
    Transformer other = m;
    change(other);
    return training_flops_per_token(other, 2048).value();
  };
  CHECK(with([](Transformer& x) { x.layers += 1; }) > base);
  CHECK(with([](Transformer& x) { x.ffn += 128; }) > base);
  CHECK(with([](Transformer& x) { x.vocab += 128; }) > base);
  CHECK(with([](Transformer& x) { x.kv_heads += 1; }) > base);
  CHECK(training_flops_per_token(m, 4096).value() > base);
}

}  // namespace flowplan::model::transformer_test
