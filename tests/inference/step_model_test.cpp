#include "flowplan/inference/step_model.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "flowplan/inference/deployment.hpp"
#include "step_fixture.hpp"

namespace flowplan::inference::step_model_test {

namespace {

StepModel model_of(const StepSetup& setup) {
  const auto step = StepModel::on(step_catalog(), setup);
  if (!step) FAIL(render(step.error()));
  return *step;
}

/// Layouts of every kind of model: dense, latent attention, windows, linear attention.
std::vector<StepSetup> every_kind() {
  Layout wide;
  wide.tp = 1;
  wide.attention_dp = wide.ep = 8;
  return {known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::fp8, tensor_parallel(4)),
          known_setup("llama3.1-8b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1)),
          known_setup("deepseek-v3", "p6-b200.48xlarge", WeightFormat::nvfp4, tensor_parallel(8),
                      "trtllm"),
          known_setup("deepseek-v3", "p6-b200.48xlarge", WeightFormat::fp8_block, wide, "sglang"),
          known_setup("gpt-oss-120b", "p5en.48xlarge", WeightFormat::mxfp4, tensor_parallel(2)),
          known_setup("qwen3.5-397b-a17b", "p6-b200.48xlarge", WeightFormat::bf16,
                      tensor_parallel(8), "sglang")};
}

}  // namespace

TEST_CASE("a pass never beats the GPU's peak or its memory") {
  for (const StepSetup& setup : every_kind()) {
    INFO(setup.model->name << " tp " << setup.layout.tp);
    const StepModel step = model_of(setup);
    const catalog::Gpu& gpu = step_catalog().gpu_of(*setup.instance);
    double peak = gpu.peak(model::Precision::bf16)->value();
    for (const auto precision : {model::Precision::fp8, model::Precision::nvfp4}) {
      if (const auto narrow = gpu.peak(precision)) peak = std::max(peak, narrow->value());
    }
    const model::Parameters p = model::count_parameters(*setup.model);
    const double embedding = p.embedding + p.output;
    for (const double tokens : {1.0, 64.0, 4096.0}) {
      const double all = tokens * setup.layout.attention_dp;
      const Seconds time = step.dense(tokens).total() + step.experts(all).total();
      const double flops = 2.0 * (p.active - embedding) * all;
      CHECK(time.value() >= flops / (peak * setup.layout.ranks()));
    }
    // A decode pass over many tokens reads every weight that a rank holds once.
    const WeightBytes weights = weight_bytes(*setup.model, setup.layout, setup.formats);
    const Seconds full = step.dense(2048.0).total() + step.experts(16384.0).total();
    const double hbm = gigabytes_per_second(gpu.hbm_gbytes_per_s.value).value();
    CHECK(full.value() >= (weights.total() - weights.embedding).value() / hbm);
    const KvGeometry kv = kv_geometry(*setup.model, setup.layout, setup.formats, 16);
    CHECK(step.decode_attention(64.0, 8192.0).value() >=
          64.0 * kv.full_per_token.value() * 8192.0 / hbm);
  }
}

TEST_CASE("more tokens, more sequences and longer contexts take longer") {
  for (const StepSetup& setup : every_kind()) {
    INFO(setup.model->name << " tp " << setup.layout.tp);
    const StepTable table = model_of(setup).table(8192, 512, 16384);
    CHECK(table.dense_s(8192) > table.dense_s(1024));
    CHECK(table.head_s(512) > table.head_s(16));
    CHECK(table.decode_attention_s(256, 4096) > table.decode_attention_s(16, 4096));
    CHECK(table.decode_attention_s(64, 16384) > table.decode_attention_s(64, 1024));
    CHECK(table.prefill_attention_s(16384) > table.prefill_attention_s(2048));
    CHECK(table.prefill_attention_s(0) == 0.0);
    if (!setup.model->experts) {
      CHECK(table.moe_s.empty());
      continue;
    }
    const auto y = table.moe_s.y();
    CHECK(std::is_sorted(y.begin(), y.end()));
  }
}

TEST_CASE("the parts of a pass sum to the table's entries") {
  const StepSetup setup = every_kind()[2];
  const StepModel step = model_of(setup);
  const StepTable table = step.table(1024, 64, 4096);
  const DenseParts dense = step.dense(256);
  CHECK(dense.total() ==
        dense.products + dense.all_reduce + dense.element_wise + dense.launches + dense.stages);
  CHECK(table.dense_s(256) == Approx(dense.total().value()));
  CHECK(table.head_s(64) == Approx(step.head(64).total().value()));
  CHECK(table.gap == setup.engine.gap);
  CHECK(table.eager_floor.value() == Approx(61.0 * setup.engine.eager_layer.value()));
}

TEST_CASE("tensor parallelism pays in all-reduces what it saves in products") {
  const auto one =
      model_of(known_setup("llama3.1-8b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1)));
  const auto eight =
      model_of(known_setup("llama3.1-8b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(8)));
  CHECK(one.dense(64).all_reduce.value() == 0.0);
  CHECK(eight.dense(64).all_reduce.value() > 0.0);
  CHECK(eight.dense(64).products < one.dense(64).products);
  // 64 all-reduces of 64 x 4096 elements: at least the launch of each.
  CHECK(eight.dense(64).all_reduce.value() > 64.0 * 2e-6);
}

TEST_CASE("a TP group over two nodes pays the network") {
  const auto inside = model_of(
      known_setup("deepseek-v3", "p5.48xlarge", WeightFormat::fp8_block, tensor_parallel(8)));
  const auto across = model_of(
      known_setup("deepseek-v3", "p5.48xlarge", WeightFormat::fp8_block, tensor_parallel(16)));
  CHECK(across.dense(8).all_reduce.value() > 2.0 * inside.dense(8).all_reduce.value());
}

TEST_CASE("attention DP exchanges tokens with experts; across nodes that takes longer") {
  Layout wide;
  wide.attention_dp = wide.ep = 8;
  const auto node = model_of(
      known_setup("deepseek-v3", "p5en.48xlarge", WeightFormat::fp8_block, wide, "sglang"));
  CHECK(model_of(known_setup("deepseek-v3", "p5en.48xlarge", WeightFormat::fp8_block,
                             tensor_parallel(8)))
            .experts(1024)
            .exchange.value() == 0.0);
  CHECK(node.experts(1024).exchange.value() > 0.0);
  wide.attention_dp = wide.ep = 32;
  const auto nodes = model_of(
      known_setup("deepseek-v3", "p5en.48xlarge", WeightFormat::fp8_block, wide, "sglang"));
  // The same 128 tokens a rank.
  CHECK(nodes.experts(4096).exchange > node.experts(1024).exchange);
  CHECK(nodes.experts(4096).experts < node.experts(4096).experts);

  // Behind the kernels of the other half of the batch, at large batches.
  wide.two_batch_overlap = true;
  const auto overlapped = model_of(
      known_setup("deepseek-v3", "p5en.48xlarge", WeightFormat::fp8_block, wide, "sglang"));
  CHECK(overlapped.experts(262144).total() < nodes.experts(262144).total());
  CHECK(overlapped.experts(64).total() <= nodes.experts(64).total());
}

TEST_CASE("windowed layers stop growing with the context, linear ones never do") {
  const auto oss = model_of(
      known_setup("gpt-oss-120b", "p5en.48xlarge", WeightFormat::mxfp4, tensor_parallel(1)));
  const auto llama =
      model_of(known_setup("llama3.1-8b", "p5en.48xlarge", WeightFormat::bf16, tensor_parallel(1)));
  const auto growth = [](const StepModel& step) {
    return step.decode_attention(64, 65536) / step.decode_attention(64, 16384);
  };
  CHECK(growth(llama) > 3.0);
  CHECK(growth(oss) < growth(llama));
  const auto linear = model_of(known_setup("qwen3.5-397b-a17b", "p6-b200.48xlarge",
                                           WeightFormat::bf16, tensor_parallel(8), "sglang"));
  // At one token of context only states are read: 45 layers of 4 MiB a sequence over 8 ranks,
  // twice.
  const double hbm = 8e12;
  CHECK(linear.decode_attention(256, 1).value() >
        256.0 * 45.0 * 2.0 * 64.0 * 128.0 * 128.0 * 4.0 / 8.0 / hbm);
}

TEST_CASE("verifying drafts costs a little, drafting a layer and the head each") {
  StepSetup setup = known_setup("deepseek-v3", "p6-b200.48xlarge", WeightFormat::fp8_block,
                                tensor_parallel(8), "trtllm");
  const StepModel plain = model_of(setup);
  setup.draft_tokens = 3;
  const StepModel drafted = model_of(setup);
  const Seconds one = plain.decode_attention(4, 4096), four = drafted.decode_attention(4, 4096);
  CHECK(four >= one);
  CHECK(four.value() < 4.0 * one.value());  // the cache is read once
  const Seconds layers = plain.dense(4).total() + plain.experts(4).total();
  CHECK(plain.draft(4).value() ==
        Approx((layers / 61.0 + plain.head(4).total()).value()).epsilon(1e-9));
}

TEST_CASE("adapters are read once and cost each token") {
  const auto setup =
      known_setup("llama3.1-8b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1));
  const AdapterCost cost = model_of(setup).adapters(16);
  // Rank 16 on q, k, v together, o, gate and up together, down of 32 layers, 16 bits.
  const double each =
      16.0 * ((6144.0 + 4096.0) + (4096.0 + 4096.0) + (28672.0 + 4096.0) + (4096.0 + 14336.0));
  CHECK(cost.adapter.value() == 32.0 * each * 2.0);
  CHECK(cost.per_pass.value() == Approx(32.0 * 4.0 * setup.engine.lora_module.value()));
  CHECK(cost.per_adapter.value() > 0.0);
  CHECK(cost.per_token < cost.per_adapter);
}

TEST_CASE("formats that a GPU has no kernels for are refused by name") {
  const auto setup =
      known_setup("deepseek-v3", "p5.48xlarge", WeightFormat::nvfp4, tensor_parallel(8));
  const auto none = StepModel::on(step_catalog(), setup);
  REQUIRE_FALSE(none);
  CHECK(none.error().front().code == Code::unsupported_feature);
  CHECK(none.error().front().message.find("nvfp4") != std::string::npos);
}

TEST_CASE("a deployment has the engine's scheduler and room for its sequences") {
  const auto setup =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::fp8, tensor_parallel(4));
  const auto instance = deploy(step_catalog(), setup, {4096, 64});
  REQUIRE(instance);
  CHECK(check(*instance).empty());
  CHECK(instance->gpus == 4);
  CHECK(instance->engine.max_sequences == 64);
  CHECK(instance->engine.token_budget == setup.engine.token_budget);
  CHECK(instance->kv.capacity_blocks > 0);
  CHECK(instance->table.micro_batches == 1);

  const auto small =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::bf16, tensor_parallel(1));
  const auto none = deploy(step_catalog(), small, {4096, 64});
  REQUIRE_FALSE(none);
  CHECK(none.error().front().hint.find("tp 2") != std::string::npos);
}

TEST_CASE("pipeline stages are micro-batches, and their sends cost") {
  StepSetup setup =
      known_setup("llama3.1-70b", "p5.48xlarge", WeightFormat::fp8, tensor_parallel(4));
  CHECK(model_of(setup).dense(64).stages.value() == 0.0);
  setup.layout.pp = 2;
  const StepModel step = model_of(setup);
  CHECK(step.dense(64).stages.value() > 0.0);
  CHECK(step.table(1024, 64, 4096).micro_batches == 2);
}

}  // namespace flowplan::inference::step_model_test
