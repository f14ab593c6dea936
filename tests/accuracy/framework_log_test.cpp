#include "flowplan/accuracy/framework_log.hpp"

#include <algorithm>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/scenario/run.hpp"
#include "shipped_catalog.hpp"

namespace flowplan::accuracy::framework_log_test {

namespace {

std::string megatron_line(int step, double ms, int batch = 1024) {
  return " [2026-01-01 00:00:00] iteration " + std::to_string(step) +
         "/     100 | consumed samples:         2048 | elapsed time per iteration (ms): " +
         std::to_string(ms) +
         " | throughput per GPU (TFLOP/s/GPU): 480.5 | learning rate: 3.0E-04 | global batch "
         "size: " +
         std::to_string(batch) + " | lm loss: 2.1E+00 | grad norm: 0.5 |\n";
}

FrameworkLog must_parse(const std::string& text) {
  auto log = parse_framework_log(text, "train.log");
  if (!log) FAIL(render(log.error()));
  return std::move(*log);
}

std::string told(const std::string& text) {
  const auto log = parse_framework_log(text, "train.log");
  return log ? std::string() : render(log.error());
}

scenario::Scenario scenario_of(const std::string& file) {
  const auto document = JsonDocument::read(FLOWPLAN_SOURCE_DIR "/scenarios/" + file);
  const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  auto scenario = scenario::read(shipped_catalog(), document.value(), schema.value());
  if (!scenario) FAIL(render(scenario.error()));
  return std::move(*scenario);
}

const std::string bench = R"({"date": "20260101-000000", "backend": "vllm",
  "model_id": "meta-llama/Llama-3.1-70B-Instruct", "num_prompts": 200, "request_rate": "inf",
  "max_concurrency": 16, "duration": 100.0, "completed": 200, "total_input_tokens": 204800,
  "total_output_tokens": 51200, "mean_ttft_ms": 250.5, "median_ttft_ms": 240.0,
  "mean_tpot_ms": 15.25, "median_tpot_ms": 15.0})";

}  // namespace

TEST_CASE("Megatron's steps give the median after the warm-up") {
  std::string text = "building model\n" + megatron_line(1, 60000);
  for (const double ms : {14900.0, 14700.0, 14800.0})
    text += megatron_line(2, ms);
  const FrameworkLog log = must_parse(text);
  CHECK(log.kind == LogKind::megatron);
  REQUIRE(log.steps.size() == 4);
  CHECK(log.steps[0].step == 1);
  CHECK(log.steps[0].line == 2);
  CHECK(log.warm_up == 1);
  CHECK(log.step_time->value() == Approx(14.8));
  CHECK(*log.tflops_per_gpu == Approx(480.5));
  CHECK(log.steps[1].global_batch == 1024);
  CHECK_FALSE(log.tokens_per_second_per_gpu);
}

TEST_CASE("Megatron-Bridge and torchtitan are read through colours, commas and rank names") {
  const FrameworkLog bridge =
      must_parse("0: Step Time : 1.23s GPU utilization: 456.7MODEL_TFLOP/s/GPU\n");
  CHECK(bridge.kind == LogKind::megatron_bridge);
  CHECK(bridge.step_time->value() == Approx(1.23));
  CHECK(*bridge.tflops_per_gpu == Approx(456.7));
  const FrameworkLog titan = must_parse(
      "[rank0]:[titan] 2026-01-01 - root - INFO - \x1b[31mstep:  1  \x1b[32mloss: 12.2  "
      "\x1b[33mmemory: 29.16GiB(36.87%)  \x1b[34mtps: 1,000  \x1b[36mtflops: 50.0  mfu: "
      "5.0%\x1b[39m\r\n"
      "[rank0]:[titan] \x1b[31mstep: 10  loss: 8.0  tps: 12,456  tflops: 142.22  mfu: 14.38%\n");
  CHECK(titan.kind == LogKind::torchtitan);
  REQUIRE(titan.steps.size() == 2);
  CHECK(titan.steps[1].step == 10);
  CHECK(*titan.tokens_per_second_per_gpu == Approx(12456));
  CHECK(*titan.tflops_per_gpu == Approx(142.22));
}

TEST_CASE("a training log becomes rows that predict what its scenario predicts") {
  for (const char* file : {"pretrain-llama3-70b-p5.json", "pretrain-llama3-70b-p6-b200.json"}) {
    CAPTURE(file);
    const scenario::Scenario scenario = scenario_of(file);
    const FrameworkLog log = must_parse(megatron_line(1, 20000) + megatron_line(2, 15000));
    const auto rows = measurement_rows(shipped_catalog(), log, scenario);
    INFO((rows ? std::string() : render(rows.error())));
    REQUIRE(rows);
    const auto report = validate_text(shipped_catalog(), *rows, "train.log");
    INFO((report ? std::string() : render(report.error())));
    REQUIRE(report);
    REQUIRE(report->details.size() == 2);  // step time and FLOP/s
    const Row& step = report->details[0];
    CAPTURE(step.skipped);
    REQUIRE(step.predicted);
    CHECK(step.measured == Approx(15.0));
    const auto answer = scenario::run(shipped_catalog(), scenario, "test");
    REQUIRE(answer);
    CHECK(*step.predicted == Approx(answer->iteration.step.value()).epsilon(1e-9));
    CHECK(std::find(step.by.begin(), step.by.end(),
                    std::pair<std::string, std::string>{"origin", "ec2"}) != step.by.end());
  }
}

TEST_CASE("another batch than the scenario's is refused where it stands") {
  const auto rows = measurement_rows(
      shipped_catalog(), must_parse(megatron_line(1, 9, 1024) + megatron_line(2, 9, 512)),
      scenario_of("pretrain-llama3-70b-p5.json"));
  REQUIRE_FALSE(rows);
  CHECK_THAT(render(rows.error()), Catch::Contains("train.log:2:") && Catch::Contains("512"));
}

TEST_CASE("a benchmark of serving becomes a point that is predicted") {
  const FrameworkLog log = must_parse(bench);
  REQUIRE(log.bench);
  CHECK(log.bench->input_tokens == 1024);
  CHECK(log.bench->output_tokens == 256);
  CHECK(log.bench->concurrency == 16);
  CHECK_FALSE(log.bench->rate_per_s);
  const auto rows =
      measurement_rows(shipped_catalog(), log, scenario_of("serve-llama3-70b-p5.json"));
  INFO((rows ? std::string() : render(rows.error())));
  REQUIRE(rows);
  const auto report = validate_text(shipped_catalog(), *rows, "bench.json");
  REQUIRE(report);
  REQUIRE(report->details.size() == 2);
  CAPTURE(report->details[0].skipped);
  CHECK(report->details[0].measured == Approx(250.5));
  CHECK(report->details[0].predicted);
  CHECK(report->details[1].measured == Approx(15.25));
  CHECK_FALSE(measurement_rows(shipped_catalog(), log, scenario_of("pretrain-llama3-70b-p5.json")));
}

TEST_CASE("logs of other kinds and numbers that cannot be are refused") {
  CHECK_THAT(told("hello\n"), Catch::Contains("FP016"));
  CHECK_THAT(told("{\"a\": 1}"), Catch::Contains("FP016"));
  CHECK_THAT(told(" iteration 1/ 5 | elapsed time per iteration (ms): nan | x\n"),
             Catch::Contains("FP082") && Catch::Contains("train.log:1:"));
  CHECK_THAT(told("step: 1 loss: 2 tps: 0 tflops: 1\n"), Catch::Contains("FP082"));
  CHECK_THAT(told(R"({"total_output_tokens": 5})"),
             Catch::Contains("`completed` is missing") &&
                 Catch::Contains("`total_input_tokens` is missing"));
  for (std::size_t size = 0; size + 1 < bench.size(); size += 5)
    CHECK_FALSE(told(bench.substr(0, size)).empty());
  const std::string line = megatron_line(1, 9);
  for (std::size_t size = 0; size < line.size(); ++size)
    (void)parse_framework_log(line.substr(0, size), "train.log");
}

}  // namespace flowplan::accuracy::framework_log_test
