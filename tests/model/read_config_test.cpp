#include "flowplan/model/read_config.hpp"

#include <string>

#include <catch2/catch.hpp>

#include "flowplan/model/memory.hpp"

namespace flowplan::model::read_config_test {

namespace {

Result<Transformer> read(const std::string& text) {
  const auto document = JsonDocument::parse(text, "config.json");
  REQUIRE(document.has_value());
  return read_config(*document, "m");
}

const std::string llama = R"({
  "model_type": "llama",
  "num_hidden_layers": 2,
  "hidden_size": 64,
  "intermediate_size": 256,
  "num_attention_heads": 4,
  "vocab_size": 100)";

}  // namespace

TEST_CASE("fields that a config leaves out take their family's meaning") {
  const auto m = read(llama + "}");
  REQUIRE(m.has_value());
  CHECK(m->kv_heads == 4);
  CHECK(m->head_dim == 16);
  CHECK(m->gated_mlp);
  CHECK_FALSE(m->tied_embeddings);
  CHECK(m->context == 0);
}

TEST_CASE("a Qwen2 config has biases on q, k and v and ignores an unused window") {
  const auto m = read(
      R"({"model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584,
          "intermediate_size": 18944, "num_attention_heads": 28, "num_key_value_heads": 4,
          "vocab_size": 152064, "tie_word_embeddings": false, "sliding_window": 131072,
          "use_sliding_window": false})");
  REQUIRE(m.has_value());
  CHECK(m->sliding_window == 0);
  CHECK(count_parameters(*m).total == 7615616512.0);
}

TEST_CASE("an MPT config counts to the parameters that llm-foundry prints") {
  const auto m = read(
      R"({"model_type": "mpt", "d_model": 8192, "n_layers": 80, "n_heads": 64,
          "expansion_ratio": 4, "vocab_size": 50368, "max_seq_len": 2048, "no_bias": false,
          "learned_pos_emb": true})");
  REQUIRE(m.has_value());
  CHECK(count_parameters(*m).total == 64862437376.0);
}

TEST_CASE("gated linear attention is read, counted and keeps a state of constant size") {
  const auto m = read(
      R"({"model_type": "qwen3_5_moe_text", "num_hidden_layers": 60, "hidden_size": 4096,
          "num_attention_heads": 32, "num_key_value_heads": 2, "head_dim": 256,
          "vocab_size": 248320, "tie_word_embeddings": false, "full_attention_interval": 4,
          "num_experts": 512, "num_experts_per_tok": 10, "moe_intermediate_size": 1024,
          "shared_expert_intermediate_size": 1024, "linear_num_key_heads": 16,
          "linear_num_value_heads": 64, "linear_key_head_dim": 128,
          "linear_value_head_dim": 128, "linear_conv_kernel_dim": 4})");
  REQUIRE(m.has_value());
  REQUIRE(m->linear_attention.has_value());
  CHECK(m->linear_attention->layers == 45);
  CHECK(m->attention_gate);
  CHECK(m->experts->shared_gate);
  // "397B-A17B"; a full layer: q with its gate, k, v and o; a linear one: q, k, v, gate, decay and
  // step, convolution, output.
  const double full = 4096.0 * (2.0 * 8192.0 + 2.0 * 512.0) + 8192.0 * 4096.0;
  const double linear = 4096.0 * (2.0 * 2048.0 + 2.0 * 8192.0 + 2.0 * 64.0) +
                        4.0 * (2.0 * 2048.0 + 8192.0) + 8192.0 * 4096.0;
  const Parameters p = count_parameters(*m);
  CHECK(p.attention == Approx((15.0 * full + 45.0 * linear) / 60.0));
  CHECK(p.total == Approx(397e9).epsilon(0.005));
  CHECK(p.active == Approx(17e9).epsilon(0.04));
  // fp32 states of 64 heads of 128 x 128, three inputs of the convolution's 12288 channels.
  CHECK(linear_state_bytes(*m).value() ==
        45.0 * (64.0 * 128.0 * 128.0 * 4.0 + 3.0 * 12288.0 * 2.0));
  CHECK(kv_bytes_per_token(*m, Precision::bf16).value() == 15.0 * 2.0 * 2.0 * 256.0 * 2.0);
  CHECK(kv_bytes(*m, 0, Precision::bf16) == linear_state_bytes(*m));
}

TEST_CASE("a Mamba hybrid is read block by block and counts to its checkpoint's parameters") {
  const std::string nano =
      R"({"model_type": "nemotron_h", "num_hidden_layers": 52, "hidden_size": 2688,
          "intermediate_size": 1856, "num_attention_heads": 32, "num_key_value_heads": 2,
          "head_dim": 128, "vocab_size": 131072, "tie_word_embeddings": false,
          "n_routed_experts": 128, "num_experts_per_tok": 6, "moe_intermediate_size": 1856,
          "n_shared_experts": 1, "moe_shared_expert_intermediate_size": 3712,
          "mamba_num_heads": 64, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
          "conv_kernel": 4, "hybrid_override_pattern": ")";
  const auto m = read(nano + R"(MEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEM*EMEMEMEM*EMEMEMEME"})");
  REQUIRE(m.has_value());
  CHECK(m->layers == 23);  // blocks of experts; 23 of Mamba-2 and 6 of attention go with them
  CHECK(m->linear_attention->layers == 23);
  CHECK(m->linear_attention->full_layers == 6);
  CHECK(m->norms_per_layer == Approx(52.0 / 23.0));
  CHECK(m->experts->shared == 2);
  // A Mamba-2 block: z, x (4096 each), B, C (1024 each) and 64 steps; 4 taps over x, B and C; the
  // output. Attention: 32 heads, 2 of keys. Each expert two matrices.
  const double mamba = 2688.0 * (2 * 4096 + 2 * 1024 + 64) + 4.0 * 6144 + 4096.0 * 2688;
  const double attention = 2.0 * 2688 * 128 * (32 + 2);
  const Parameters p = count_parameters(*m);
  CHECK(p.attention * 23.0 == Approx(23.0 * mamba + 6.0 * attention));
  CHECK(p.total == 31577937344.0);  // "30B-A3B": 31.6 B in the checkpoint
  CHECK(p.active == Approx(3.58e9).epsilon(0.001));
  CHECK(kv_bytes_per_token(*m, Precision::bf16).value() == 6.0 * 2.0 * 2.0 * 128.0 * 2.0);
  // Dense hybrids name their MLPs; a pattern of both kinds or of other letters is refused.
  CHECK(read(nano + R"(M-M*-"})")->layers == 2);
  CHECK_FALSE(read(nano + R"(M-M*-"})")->experts.has_value());
  CHECK_FALSE(read(nano + R"(M-M*E"})"));
  CHECK_FALSE(read(nano + R"(MEX"})"));
}

TEST_CASE("experts behind a projection to fewer dimensions count at that width") {
  const auto m = read(
      R"({"model_type": "nemotron_h", "num_hidden_layers": 2, "hidden_size": 4096,
          "intermediate_size": 2688, "num_attention_heads": 32, "num_key_value_heads": 2,
          "head_dim": 128, "vocab_size": 131072, "n_routed_experts": 512,
          "num_experts_per_tok": 22, "moe_intermediate_size": 2688, "n_shared_experts": 1,
          "moe_shared_expert_intermediate_size": 5376, "moe_latent_size": 1024,
          "mamba_num_heads": 128, "mamba_head_dim": 64, "ssm_state_size": 128, "n_groups": 8,
          "hybrid_override_pattern": "ME"})");
  REQUIRE(m.has_value());
  const Parameters p = count_parameters(*m);
  CHECK(p.routed_experts == 512.0 * 2.0 * 1024.0 * 2688.0);
  // Two shared ones at the model's width, the router, and the way to the latents and back.
  CHECK(p.expert_mlp - p.routed_experts ==
        2.0 * 2.0 * 4096.0 * 2688.0 + 4096.0 * 512.0 + 2.0 * 4096.0 * 1024.0);
}

TEST_CASE("sliding attention is read from the list of layer types") {
  const std::string gpt_oss =
      R"({"model_type": "gpt_oss", "num_hidden_layers": 4, "hidden_size": 64,
          "intermediate_size": 64, "num_attention_heads": 4, "head_dim": 16, "vocab_size": 100,
          "num_local_experts": 8, "num_experts_per_tok": 2, "sliding_window": 128)";
  CHECK(read(gpt_oss + "}")->sliding_share == 0.5);
  const auto quarter = read(gpt_oss +
                            R"(, "layer_types": ["sliding_attention", "full_attention",
                                                 "full_attention", "full_attention"]})");
  CHECK(quarter->sliding_share == 0.25);
}

TEST_CASE("every missing or wrong field is reported with its place") {
  const auto m = read(R"({
  "model_type": "llama",
  "num_hidden_layers": 0,
  "hidden_size": "wide",
  "intermediate_size": 256,
  "num_attention_heads": 4.5
})");
  REQUIRE_FALSE(m.has_value());
  REQUIRE(m.error().size() == 4);
  CHECK(m.error()[0].code == Code::value_out_of_range);
  CHECK(m.error()[0].place.line == 3);
  CHECK(m.error()[0].place.pointer == "/num_hidden_layers");
  CHECK(m.error()[1].code == Code::wrong_type);
  CHECK(m.error()[1].place.line == 4);
  CHECK(m.error()[2].place.line == 6);
  CHECK(m.error()[3].code == Code::missing_key);
  CHECK_THAT(m.error()[3].message, Catch::Contains("vocab_size"));
}

TEST_CASE("dimensions that contradict each other are refused") {
  CHECK_FALSE(read(llama + R"(, "num_key_value_heads": 3})").has_value());
  CHECK_FALSE(read(R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 65,
                       "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 100})")
                  .has_value());
  CHECK_FALSE(read(llama + R"(, "num_local_experts": 4, "num_experts_per_tok": 5})").has_value());
}

TEST_CASE("families count to the parameters of their published checkpoints") {
  struct Published {
    const char* config;
    double parameters;
  };
  // Counts as the model cards' safetensors metadata state them, vision towers left out.
  const Published all[] = {
      {R"({"model_type": "gemma", "num_hidden_layers": 28, "hidden_size": 3072,
           "intermediate_size": 24576, "num_attention_heads": 16, "num_key_value_heads": 16,
           "head_dim": 256, "vocab_size": 256000})",
       8537680896.0},
      {R"({"model_type": "gemma2", "num_hidden_layers": 42, "hidden_size": 3584,
           "intermediate_size": 14336, "num_attention_heads": 16, "num_key_value_heads": 8,
           "head_dim": 256, "vocab_size": 256000, "sliding_window": 4096})",
       9241705984.0},
      {R"({"model_type": "gemma3_text", "num_hidden_layers": 26, "hidden_size": 1152,
           "intermediate_size": 6912, "num_attention_heads": 4, "num_key_value_heads": 1,
           "head_dim": 256, "vocab_size": 262144, "sliding_window": 512,
           "sliding_window_pattern": 6})",
       999885952.0},
      {R"({"model_type": "phi3", "num_hidden_layers": 32, "hidden_size": 3072,
           "intermediate_size": 8192, "num_attention_heads": 32, "num_key_value_heads": 32,
           "vocab_size": 32064, "sliding_window": 2047})",
       3821079552.0},
      {R"({"model_type": "qwen2_moe", "num_hidden_layers": 24, "hidden_size": 2048,
           "intermediate_size": 5632, "num_attention_heads": 16, "num_key_value_heads": 16,
           "vocab_size": 151936, "num_experts": 60, "num_experts_per_tok": 4,
           "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632})",
       14315784192.0},
      {R"({"model_type": "deepseek_v2", "num_hidden_layers": 27, "hidden_size": 2048,
           "intermediate_size": 10944, "num_attention_heads": 16, "num_key_value_heads": 16,
           "vocab_size": 102400, "n_routed_experts": 64, "n_shared_experts": 2,
           "num_experts_per_tok": 6, "moe_intermediate_size": 1408, "first_k_dense_replace": 1,
           "q_lora_rank": null, "kv_lora_rank": 512, "qk_nope_head_dim": 128,
           "qk_rope_head_dim": 64, "v_head_dim": 128})",
       15706484224.0},
      {R"({"model_type": "starcoder2", "num_hidden_layers": 40, "hidden_size": 6144,
           "intermediate_size": 24576, "num_attention_heads": 48, "num_key_value_heads": 4,
           "vocab_size": 49152, "sliding_window": 4096, "tie_word_embeddings": false})",
       15957889024.0},
      {R"({"model_type": "mpt", "d_model": 4096, "n_layers": 32, "n_heads": 32,
           "expansion_ratio": 4, "vocab_size": 50432, "max_seq_len": 2048, "no_bias": true,
           "attn_config": {"alibi": true}})",
       6649286656.0},
  };
  for (const Published& published : all) {
    const auto m = read(published.config);
    INFO(published.config);
    REQUIRE(m.has_value());
    CHECK(count_parameters(*m).total == published.parameters);
  }
}

TEST_CASE("a window counts for the layers that have it") {
  const std::string gemma =
      R"(, "num_hidden_layers": 12, "hidden_size": 64, "intermediate_size": 64,
         "num_attention_heads": 4, "vocab_size": 100, "sliding_window": 16)";
  const auto share = [&](const char* type, const char* more) {
    return read(std::string(R"({"model_type": ")") + type + "\"" + gemma + more + "}")
        ->sliding_share;
  };
  CHECK(share("gemma2", "") == 0.5);
  CHECK(share("gemma3_text", "") == Approx(5.0 / 6.0));
  CHECK(share("gemma3_text", R"(, "sliding_window_pattern": 4)") == 0.75);
  CHECK(share("mistral", "") == 1.0);
  CHECK(share("qwen3", "") == 0.0);
  CHECK(share("qwen3", R"(, "use_sliding_window": true, "max_window_layers": 9)") == 0.25);
}

TEST_CASE("what is computed differently is refused by the key that says so") {
  const auto refusal = [](const std::string& text) {
    const auto m = read(text);
    REQUIRE_FALSE(m.has_value());
    CHECK(m.error()[0].code == Code::unsupported_feature);
    return m.error()[0].place.pointer;
  };
  CHECK(refusal(R"({"model_type": "falcon", "parallel_attn": true})") == "/parallel_attn");
  CHECK(refusal(R"({"model_type": "falcon", "new_decoder_architecture": true})") ==
        "/new_decoder_architecture");
  CHECK(refusal(R"({"model_type": "phi"})") == "/model_type");
  CHECK(refusal(R"({"model_type": "gpt_neox", "use_parallel_residual": true})") ==
        "/use_parallel_residual");
  CHECK(refusal(R"({"model_type": "gemma3", "text_config": {}})") == "/text_config");
  CHECK(refusal(R"({"model_type": "t5", "is_encoder_decoder": true})") == "/is_encoder_decoder");
  const std::string moe = R"(, "num_experts": 4, "num_experts_per_tok": 2,
                             "moe_intermediate_size": 32)";
  CHECK(refusal(llama + moe + R"(, "mlp_only_layers": [0]})") == "/mlp_only_layers");
  CHECK(refusal(llama + moe + R"(, "shared_expert_intermediate_size": 48})") ==
        "/shared_expert_intermediate_size");
  CHECK(read(llama + moe + R"(, "mlp_only_layers": [], "is_encoder_decoder": false})"));
}

TEST_CASE("other architectures are refused with the reason") {
  const auto mamba = read(R"({"model_type": "nemotron_h", "num_hidden_layers": 52,
                              "mamba_num_heads": 64})");
  REQUIRE_FALSE(mamba.has_value());
  CHECK(mamba.error()[0].code == Code::unsupported_feature);
  CHECK_THAT(mamba.error()[0].message, Catch::Contains("hybrid_override_pattern"));
  const auto jamba = read(R"({"model_type": "jamba", "num_hidden_layers": 52,
                              "mamba_num_heads": 64})");
  REQUIRE_FALSE(jamba.has_value());
  CHECK_THAT(jamba.error()[0].message, Catch::Contains("Mamba"));

  const auto typo = read(R"({"model_type": "lama"})");
  REQUIRE_FALSE(typo.has_value());
  CHECK(typo.error()[0].code == Code::unsupported_feature);
  CHECK_THAT(typo.error()[0].hint, Catch::Contains("llama"));

  CHECK(read("{}").error()[0].code == Code::missing_key);
  CHECK(read("[]").error()[0].code == Code::wrong_type);
}

TEST_CASE("a configuration inside a larger document is read at its pointer") {
  const auto document = JsonDocument::parse("{\"models\": {\"a\": " + llama + "}}}", "models.json");
  REQUIRE(document.has_value());
  const auto m = read_config(*document, "/models/a", "a");
  REQUIRE(m.has_value());
  CHECK(m->name == "a");
  CHECK(m->layers == 2);
}

}  // namespace flowplan::model::read_config_test
