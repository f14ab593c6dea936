#include "flowplan/model/memory.hpp"

#include <vector>

#include <catch2/catch.hpp>

namespace flowplan::model::memory_test {

namespace {

/// A model of Korthikanti et al. 2022, table of configurations.
struct Published {
  const char* name;
  std::int64_t layers, hidden, heads;
  std::int64_t micro_batch;
  int pp, vp;
  double none_gib, lean_gib;  // Figure 1: per GPU without and with SP + selective recomputation
};
const std::vector<Published> published{
    {"22B", 48, 6144, 64, 4, 1, 1, 59.3, 9.6},
    {"175B", 96, 12288, 96, 1, 8, 3, 66.8, 12.4},
    {"530B", 105, 20480, 128, 1, 35, 3, 114.0, 23.1},
    {"1T", 128, 25600, 160, 1, 64, 1, 131.3, 26.6},
};
constexpr std::int64_t published_seq_len = 2048;
constexpr std::int64_t many_micro_batches = 512;

Transformer gpt(const Published& p) {
  Transformer m;
  m.layers = p.layers;
  m.hidden = p.hidden;
  m.heads = m.kv_heads = p.heads;
  m.head_dim = p.hidden / p.heads;
  m.ffn = 4 * p.hidden;
  m.vocab = 51200;
  m.gated_mlp = false;
  return m;
}

ActivationSetting paper(bool sp, Recomputation recompute, int tp = 8) {
  ActivationSetting s;
  s.tp = tp;
  s.sequence_parallel = sp;
  s.recompute = recompute;
  s.fused_attention = false;
  s.dropout = true;
  return s;
}

double layer_bytes(const Published& p, const ActivationSetting& s) {
  return activation_bytes(gpt(p), published_seq_len, p.micro_batch, s).total().value();
}

double stage_gib(const Published& p, const ActivationSetting& s) {
  const double in_flight =
      in_flight_micro_batches(PipelineSchedule::interleaved, 0, p.pp, p.vp, many_micro_batches);
  const double layers = static_cast<double>(p.layers) / p.pp;
  return layer_bytes(p, s) * layers * in_flight / gibibytes(1).value();
}

Transformer llama_70b() {
  Transformer m;
  m.layers = 80;
  m.hidden = 8192;
  m.heads = 64;
  m.kv_heads = 8;
  m.head_dim = 128;
  m.ffn = 28672;
  m.vocab = 128256;
  return m;
}

Transformer with_experts() {
  Transformer m = llama_70b();
  m.experts = Experts{64, 4, 4096, 1, 0, 1};
  return m;
}

}  // namespace

TEST_CASE("activations of a layer equal the formulas of Korthikanti et al.") {
  for (const Published& p : published) {
    const double sbh = static_cast<double>(published_seq_len * p.micro_batch * p.hidden);
    const double as_h =
        static_cast<double>(p.heads * published_seq_len) / static_cast<double>(p.hidden);
    const double t = 8;
    INFO(p.name);
    CHECK(layer_bytes(p, paper(false, Recomputation::none, 1)) ==
          Approx(sbh * (34 + 5 * as_h)).epsilon(1e-12));
    CHECK(layer_bytes(p, paper(false, Recomputation::none)) ==
          Approx(sbh * (10 + 24 / t + 5 * as_h / t)).epsilon(1e-12));
    CHECK(layer_bytes(p, paper(true, Recomputation::none)) ==
          Approx(sbh / t * (34 + 5 * as_h)).epsilon(1e-12));
    CHECK(layer_bytes(p, paper(true, Recomputation::selective)) ==
          Approx(34 * sbh / t).epsilon(1e-12));
    CHECK(layer_bytes(p, paper(false, Recomputation::full)) == Approx(2 * sbh).epsilon(1e-12));
    CHECK(layer_bytes(p, paper(true, Recomputation::full)) == Approx(2 * sbh / t).epsilon(1e-12));
  }
}

TEST_CASE("activations per GPU are those of Figure 1 of Korthikanti et al.") {
  for (const Published& p : published) {
    INFO(p.name);
    CHECK(stage_gib(p, paper(false, Recomputation::none)) == Approx(p.none_gib).epsilon(2e-3));
    CHECK(stage_gib(p, paper(true, Recomputation::selective)) == Approx(p.lean_gib).epsilon(5e-3));
  }
}

TEST_CASE("relative activation memory lies in the ranges of Figure 7 of Korthikanti et al.") {
  constexpr double rounding = 0.6;  // the figure prints whole percents
  for (const Published& p : published) {
    const double baseline = layer_bytes(p, paper(false, Recomputation::none));
    const auto percent = [&](bool sp, Recomputation r) {
      return 100.0 * layer_bytes(p, paper(sp, r)) / baseline;
    };
    INFO(p.name);
    CHECK(percent(true, Recomputation::none) > 58 - rounding);
    CHECK(percent(true, Recomputation::none) < 67 + rounding);
    CHECK(percent(false, Recomputation::selective) > 49 - rounding);
    CHECK(percent(false, Recomputation::selective) < 62 + rounding);
    CHECK(percent(true, Recomputation::selective) > 16 - rounding);
    CHECK(percent(true, Recomputation::selective) < 20 + rounding);
    CHECK(percent(false, Recomputation::full) > 8 - rounding);
    CHECK(percent(false, Recomputation::full) < 9 + rounding);
  }
}

TEST_CASE("a SwiGLU layer without dropout is counted tensor by tensor") {
  const Transformer m = llama_70b();
  ActivationSetting s;
  const double tokens = 8192;
  // x h: layer in, norm out, residual, norm out; q, k, v, out; gate and up, their product.
  const double h = 8192, qkv = 8192 + 2 * 1024, f = 28672;
  const double by_hand = tokens * (2 * 4 * h + 2 * qkv + 2 * h + 2 * 2 * f + 2 * f);
  CHECK(activation_bytes(m, 8192, 1, s).total().value() == Approx(by_hand).epsilon(1e-12));
  s.recompute_mlp_activation = true;
  CHECK(activation_bytes(m, 8192, 1, s).total().value() ==
        Approx(by_hand - tokens * 2 * f).epsilon(1e-12));
}

TEST_CASE("FP8 storage halves the inputs of the linear layers only") {
  const Transformer m = llama_70b();
  ActivationSetting s;
  const double wide = activation_bytes(m, 4096, 1, s).total().value();
  s.gemm_inputs = Precision::fp8;
  const double narrow = activation_bytes(m, 4096, 1, s).total().value();
  // Inputs of qkv, output projection, first and last MLP matrices: 3h + f elements a token.
  CHECK(wide - narrow == Approx(4096.0 * (3 * 8192 + 28672)).epsilon(1e-12));
}

TEST_CASE("activation memory falls with every way to divide it") {
  for (const bool experts : {false, true}) {
    const Transformer m = experts ? with_experts() : llama_70b();
    const auto bytes = [&](auto change) {
      ActivationSetting s;
      s.fused_attention = false;
      change(s);
      return activation_bytes(m, 4096, 2, s, experts).total().value();
    };
    const double base = bytes([](ActivationSetting&) {});
    const double tp = bytes([](ActivationSetting& s) { s.tp = 4; });
    const double tp_only = bytes([](ActivationSetting& s) {
      s.tp = 4;
      s.sequence_parallel = false;
    });
    CHECK(tp == Approx(base / 4));
    CHECK(tp_only > tp);
    CHECK(tp_only < base);
    CHECK(bytes([](ActivationSetting& s) { s.cp = 2; }) == Approx(base / 2));
    CHECK(bytes([](ActivationSetting& s) { s.recompute = Recomputation::selective; }) < base);
    CHECK(bytes([](ActivationSetting& s) { s.recompute = Recomputation::full; }) <
          bytes([](ActivationSetting& s) { s.recompute = Recomputation::selective; }));
    CHECK(bytes([](ActivationSetting& s) { s.dropout = true; }) > base);
  }
}

TEST_CASE("the parts of a layer's activations add up and follow the tokens") {
  const Transformer m = with_experts();
  ActivationSetting s;
  const ActivationBytes a = activation_bytes(m, 2048, 1, s, true);
  CHECK(a.total() == a.replicated + a.attention + a.scores + a.mlp);
  CHECK(activation_bytes(m, 2048, 3, s, true).total().value() ==
        Approx(3 * a.total().value()).epsilon(1e-12));
}

TEST_CASE("routed copies and imbalance enlarge the expert part") {
  const Transformer m = with_experts();
  ActivationSetting s;
  const double tokens = 1000, h = 8192, f = 4096;
  // Four routed copies with dispatch and combine buffers, one shared expert.
  const double by_hand = tokens * (4 * (2 * 2 * h + 2 * 3 * f) + 2 * 3 * f);
  CHECK(activation_bytes(m, 1000, 1, s, true).mlp.value() == Approx(by_hand).epsilon(1e-12));
  s.expert_imbalance = 1.5;
  CHECK(activation_bytes(m, 1000, 1, s, true).mlp.value() ==
        Approx(by_hand + 0.5 * tokens * 4 * (2 * 2 * h + 2 * 3 * f)).epsilon(1e-12));
}

TEST_CASE("model states are those of Megatron-LM's table") {
  const auto bytes = [](const StateFormat& f, StateSharding s, double d) {
    return state_bytes_per_parameter(f, s, d).total();
  };
  CHECK(bytes(bf16_states(), StateSharding::none, 64) == 18.0);
  CHECK(bytes(fp16_states(), StateSharding::none, 64) == 20.0);
  CHECK(bytes(fp32_states(), StateSharding::none, 64) == 16.0);
  for (const double d : {1.0, 2.0, 8.0, 64.0, 1024.0}) {
    CHECK(bytes(bf16_states(), StateSharding::optimizer, d) == 6.0 + 12.0 / d);
    CHECK(bytes(fp16_states(), StateSharding::optimizer, d) == 4.0 + 16.0 / d);
    CHECK(bytes(fp32_states(), StateSharding::optimizer, d) == 8.0 + 8.0 / d);
    CHECK(bytes(bf16_states(), StateSharding::gradients, d) == 2.0 + 16.0 / d);
    CHECK(bytes(bf16_states(), StateSharding::weights, d) == 18.0 / d);
  }
}

TEST_CASE("variants of the states change their own part only") {
  const StateBytes usual = state_bytes_per_parameter(bf16_states(), StateSharding::optimizer, 8);
  const StateBytes lean =
      state_bytes_per_parameter(lean_bf16_states(), StateSharding::optimizer, 8);
  CHECK(lean.weights == usual.weights);
  CHECK(lean.gradients == 2.0);
  CHECK(lean.optimizer == (4.0 + 4.0) / 8);
  CHECK(state_bytes_per_parameter(fp8_states(false), StateSharding::none, 1).weights == 1.0);
  CHECK(state_bytes_per_parameter(fp8_states(true), StateSharding::none, 1).weights == 2.0);
}

TEST_CASE("model states fall, never rise, the more is divided among more ranks") {
  for (const StateFormat& f : {bf16_states(), fp16_states(), fp32_states(), lean_bf16_states()}) {
    double before = state_bytes_per_parameter(f, StateSharding::none, 1).total();
    for (const double d : {2.0, 4.0, 16.0, 256.0}) {
      const double plain = state_bytes_per_parameter(f, StateSharding::none, d).total();
      const double zero1 = state_bytes_per_parameter(f, StateSharding::optimizer, d).total();
      const double zero2 = state_bytes_per_parameter(f, StateSharding::gradients, d).total();
      const double zero3 = state_bytes_per_parameter(f, StateSharding::weights, d).total();
      CHECK(zero1 < plain);
      CHECK(zero2 < zero1);
      CHECK(zero3 < zero2);
      CHECK(zero3 < before);
      before = zero3;
    }
  }
}

TEST_CASE("in-flight micro-batches follow the schedule") {
  const auto at = [](PipelineSchedule s, int stage, int v = 1, std::int64_t m = 64) {
    return in_flight_micro_batches(s, stage, 8, v, m);
  };
  using S = PipelineSchedule;
  CHECK(at(S::gpipe, 0) == 64);
  CHECK(at(S::one_forward_one_backward, 0) == 8);
  CHECK(at(S::one_forward_one_backward, 7) == 1);
  CHECK(at(S::one_forward_one_backward, 0, 1, 3) == 3);
  CHECK(at(S::interleaved, 0, 3) == Approx(8 * (1 + 7.0 / (8 * 3))));
  CHECK(at(S::interleaved, 0, 1) == 8);
  CHECK(at(S::interleaved, 0, 3, 4) == 4);
  CHECK(at(S::zero_bubble_1, 3) == 8);
  CHECK(at(S::zero_bubble_2, 0) == 15);
  CHECK(at(S::dual_pipe, 0) == 9);
  for (int stage = 1; stage < 8; ++stage) {
    CHECK(at(S::interleaved, stage, 3) < at(S::interleaved, stage - 1, 3));
  }
}

TEST_CASE("one stage holds one micro-batch whatever the schedule but GPipe") {
  CHECK(in_flight_micro_batches(PipelineSchedule::one_forward_one_backward, 0, 1, 1, 9) == 1);
  CHECK(in_flight_micro_batches(PipelineSchedule::interleaved, 0, 1, 4, 9) == 1);
}

TEST_CASE("logits take bf16 and fp32 copies divided by TP and CP unless fused") {
  const Transformer m = llama_70b();
  CHECK(logits_bytes(m, 8192, 1, 8, 1).value() == 8192.0 * 128256 / 8 * 6);
  CHECK(logits_bytes(m, 8192, 1, 8, 2).value() == 8192.0 * 128256 / 16 * 6);
  CHECK(logits_bytes(m, 8192, 1, 8, 1, true).value() == 0.0);
}

TEST_CASE("a Llama 70B token takes 320 KiB of bf16 KV cache") {
  // 80 layers x 2 x 8 heads x 128 x 2 bytes.
  CHECK(kv_bytes_per_token(llama_70b(), Precision::bf16) == kibibytes(320));
  CHECK(kv_bytes(llama_70b(), 1000, Precision::fp8) == 1000 * kibibytes(160));
}

TEST_CASE("latent attention caches its latent and the rotary key") {
  Transformer m = llama_70b();
  m.layers = 61;
  m.latent_attention = LatentAttention{1536, 512, 128, 64, 128};
  CHECK(kv_bytes_per_token(m, Precision::bf16).value() == 61.0 * (512 + 64) * 2);
}

TEST_CASE("windowed layers keep at most their window") {
  Transformer m = llama_70b();
  m.sliding_window = 128;
  m.sliding_share = 0.5;
  const double layer_token = 2.0 * 8 * 128 * 2;
  CHECK(kv_bytes(m, 1000, Precision::bf16).value() ==
        Approx(40 * layer_token * 1000 + 40 * layer_token * 128));
  CHECK(kv_bytes(m, 100, Precision::bf16).value() == Approx(80 * layer_token * 100));
}

}  // namespace flowplan::model::memory_test
