#include "flowplan/export/serving.hpp"

#include <catch2/catch.hpp>

#include "example_plan.hpp"
#include "flowplan/base/split_mix.hpp"

namespace flowplan::exporting::serving_test {

namespace {

int value_of(const Launch& launch, const std::string& flag, int otherwise) {
  for (const Argument& one : launch.arguments)
    if (one.flag == flag) return std::stoi(one.value);
  return otherwise;
}

bool has(const Launch& launch, const std::string& flag) {
  for (const Argument& one : launch.arguments)
    if (one.flag == flag) return true;
  return false;
}

}  // namespace

TEST_CASE("flags of 200 random servers multiply to their GPUs") {
  SplitMix64 random(7);
  for (int i = 0; i < 200; ++i) {
    ServeCommand serve;
    serve.model = "a/model";
    serve.tp = 1 << static_cast<int>(random.below(4));
    serve.pp = static_cast<int>(1 + random.below(4));
    serve.dp = 1 << static_cast<int>(random.below(4));
    serve.ep = random.below(2) == 0 ? 1 : serve.tp * serve.dp;
    serve.nodes = serve.gpus() % 8 == 0 ? serve.gpus() / 8 : 1;
    CAPTURE(serve.tp, serve.pp, serve.dp, serve.ep);
    const Launch vllm = vllm_command(serve).value();
    CHECK(value_of(vllm, "--tensor-parallel-size", 0) *
              value_of(vllm, "--pipeline-parallel-size", 0) *
              value_of(vllm, "--data-parallel-size", 0) ==
          serve.gpus());
    CHECK(has(vllm, "--enable-expert-parallel") == (serve.ep > 1));
    const Launch sglang = sglang_command(serve).value();
    CHECK(value_of(sglang, "--tp-size", 0) * value_of(sglang, "--pp-size", 0) == serve.gpus());
    CHECK(value_of(sglang, "--dp-size", 1) == serve.dp);
    CHECK(value_of(sglang, "--ep-size", 1) == serve.ep);
    const auto tensorrt = tensorrt_llm_command(serve);
    CHECK(tensorrt.has_value() == (serve.dp == 1 || serve.tp == 1));
    if (!tensorrt) continue;
    CHECK(value_of(*tensorrt, "--tp_size", 0) * value_of(*tensorrt, "--pp_size", 0) ==
          serve.gpus());
    const YAML::Node options = YAML::Load(text_of(tensorrt->files, "trtllm.yaml"));
    CHECK(options["enable_attention_dp"].as<bool>(false) == (serve.dp > 1));
  }
}

TEST_CASE("limits and number formats reach each engine by its own name") {
  ServeCommand serve;
  serve.model = "a/model";
  serve.tp = 8;
  serve.weights = "fp8";
  serve.kv_cache = "fp8";
  serve.max_model_len = 32768;
  serve.max_sequences = 256;
  serve.max_batch_tokens = 8192;
  serve.memory_share = 0.9;
  serve.prefix_caching = false;
  CHECK(
      command_lines(vllm_command(serve).value(), "") ==
      "vllm \\\nserve \\\na/model \\\n--tensor-parallel-size 8 \\\n--pipeline-parallel-size 1 \\\n"
      "--data-parallel-size 1 \\\n--quantization fp8 \\\n--kv-cache-dtype fp8 \\\n"
      "--max-model-len 32768 \\\n--max-num-seqs 256 \\\n--max-num-batched-tokens 8192 \\\n"
      "--gpu-memory-utilization 0.9 \\\n--no-enable-prefix-caching");
  const Launch sglang = sglang_command(serve).value();
  CHECK(value_of(sglang, "--chunked-prefill-size", 0) == 8192);
  CHECK(value_of(sglang, "--context-length", 0) == 32768);
  CHECK(has(sglang, "--disable-radix-cache"));
  const YAML::Node options =
      YAML::Load(text_of(tensorrt_llm_command(serve).value().files, "trtllm.yaml"));
  CHECK(options["kv_cache_config"]["dtype"].as<std::string>() == "fp8");
  CHECK(options["kv_cache_config"]["free_gpu_memory_fraction"].as<double>() == 0.9);
  CHECK_FALSE(options["kv_cache_config"]["enable_block_reuse"].as<bool>());
}

TEST_CASE("a serving scenario's layout and limits reach the engines") {
  const auto scenario = scenario_from_text(R"({
    "name": "a server",
    "cluster": {"instance": "p5.48xlarge", "count": 1},
    "workload": {"kind": "serving", "model": "llama3.1-70b", "engine": "vllm", "precision": "fp8",
                 "parallelism": {"tp": 4},
                 "load": {"rate_per_s": 1, "requests": 50, "input_tokens": 256, "output_tokens": 16}}})");
  const auto plan = plan_of(shipped_catalog(), scenario);
  REQUIRE(plan);
  CHECK(plan->work == Plan::Work::serving);
  CHECK_FALSE(launch_of(*plan));  // it does not train
  const auto answer = scenario::run(shipped_catalog(), scenario, "test");
  if (!answer) FAIL(render(answer.error()));
  const auto serves = serve_commands(*plan, *answer, &*scenario.serving);
  REQUIRE(serves);
  REQUIRE(serves->size() == 1);
  CHECK(serves->front().command.tp == 4);
  CHECK(serves->front().command.nodes == 1);
  CHECK(serves->front().command.weights == "fp8");
  CHECK(serves->front().command.kv_cache == "fp8");
  const Plan trains = plan_from(three_pods());
  CHECK_FALSE(serve_commands(trains, scenario::Answer{}, nullptr));
}

TEST_CASE("what no engine does is refused") {
  ServeCommand serve;
  serve.tp = 8;
  serve.ep = 4;
  CHECK_FALSE(vllm_command(serve));
  CHECK(vllm_command(serve).error().front().code == Code::unsupported_feature);
  serve.ep = 8;
  serve.nodes = 3;
  CHECK_FALSE(sglang_command(serve));
}

}  // namespace flowplan::exporting::serving_test
