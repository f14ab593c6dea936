#include "flowplan/scenario/serving.hpp"

#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "flowplan/scenario/run.hpp"
#include "flowplan/scenario/schema.hpp"

namespace flowplan::scenario::serving_test {

namespace {

const catalog::Catalog& shipped() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

const JsonDocument& schema() {
  static const auto read_schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  return *read_schema;
}

Result<Scenario> scenario_of(const std::string& workload, int count = 1,
                             const std::string& more = "") {
  const std::string text = R"({"cluster": {"instance": "p5.48xlarge", "count": )" +
                           std::to_string(count) + R"(}, "workload": {"kind": "serving", )" +
                           workload + "}" + more + "}";
  return read(shipped(), JsonDocument::parse(text, "serving.json").value(), schema());
}

Answer answer_of(const std::string& workload, int count = 1) {
  const auto scenario = scenario_of(workload, count);
  if (!scenario) FAIL(render(scenario.error()));
  auto answer = run(shipped(), *scenario, "test");
  if (!answer) FAIL(render(answer.error()));
  return std::move(*answer);
}

Diagnostics faults_of(const std::string& workload, int count = 1, const std::string& more = "") {
  const auto scenario = scenario_of(workload, count, more);
  if (!scenario) return scenario.error();
  const auto answer = run(shipped(), *scenario, "test");
  return answer ? Diagnostics{} : answer.error();
}

const std::string model_8b = R"("model": "llama3-8b", "precision": "fp8", )";

double metric(const Answer& answer, const char* id) {
  const double* const value = answer.estimate.value(id);
  if (value == nullptr) FAIL(id);
  return *value;
}

}  // namespace

TEST_CASE("the schema of a kind of work has its keys only") {
  const auto document =
      JsonDocument::parse(R"({"workload": {"kind": "serving"}})", "s.json").value();
  const JsonDocument own = schema_for(document, schema());
  CHECK(own.root()["properties"]["workload"]["properties"].contains("slo"));
  CHECK_FALSE(own.root()["properties"]["workload"]["properties"].contains("micro_batch"));
  CHECK(schema_for(document, own).root() == own.root());
  const auto other = JsonDocument::parse("{}", "s.json").value();
  CHECK(schema_for(other, schema())
            .root()["properties"]["workload"]["properties"]
            .contains("micro_batch"));
}

TEST_CASE("a fleet in a steady state gives out what is asked of it") {
  const Answer answer = answer_of(
      model_8b + R"("parallelism": {"tp": 1}, "load": {"arrivals": "constant", "rate_per_s": 20,
                 "requests": 2000, "input_tokens": 512, "output_tokens": 128})");
  REQUIRE(answer.feasible());
  CHECK(answer.serving->replicas == 8);
  CHECK(metric(answer, "inference.requests_per_second") == Approx(20.0).epsilon(0.02));
  CHECK(metric(answer, "inference.output_tokens_per_second") == Approx(20.0 * 128).epsilon(0.02));
  CHECK(metric(answer, "inference.output_tokens_per_second_per_gpu") ==
        Approx(20.0 * 128 / 8).epsilon(0.02));
  CHECK(metric(answer, "inference.unfinished") == 0.0);
  CHECK(metric(answer, "inference.saturation_requests_per_second") > 20.0);
  // USD a million tokens: the machine's hour over what it gives out in an hour.
  const double per_hour = 55.04;  // p5.48xlarge on demand in us-east-1
  CHECK(metric(answer, "inference.cost_per_million_output_tokens_usd") ==
        Approx(per_hour / (metric(answer, "inference.output_tokens_per_second") * 3600.0) * 1e6));
}

TEST_CASE("no latency is below that of one request alone") {
  const Answer answer =
      answer_of(model_8b + R"("load": {"rate_per_s": 10, "requests": 500, "input_tokens": 512,
                 "output_tokens": 64})");
  const ServingAnswer& serving = *answer.serving;
  CHECK(serving.summary.tpot_s.mean >= serving.tpot_floor.value() * (1.0 - 1e-9));
  CHECK(serving.summary.ttft_s.p50 >= serving.ttft_floor.value() * (1.0 - 1e-9));
}

TEST_CASE("more load never makes the median token faster") {
  const Answer answer = answer_of(model_8b + R"("load": {"rate_per_s": 10, "requests": 1000})");
  const auto& curve = answer.serving->curve;
  REQUIRE(curve.size() == 5);
  for (std::size_t i = 1; i < curve.size(); ++i)
    CHECK(curve[i].summary.tpot_s.p50 >= curve[i - 1].summary.tpot_s.p50 * 0.99);  // of a sample
}

TEST_CASE("a closed loop keeps its concurrency") {
  const Answer answer =
      answer_of(model_8b + R"("parallelism": {"tp": 1, "replicas": 1}, "load": {"concurrency": 16,
                 "input_tokens": 256, "output_tokens": 256, "requests": 400})");
  const inference::Summary& s = answer.serving->summary;
  // Little: requests in the system are their rate times their time in it.
  CHECK(s.requests_per_s * s.e2e_s.mean == Approx(16.0).epsilon(0.05));
  CHECK_FALSE(answer.serving->saturation_per_s);
}

TEST_CASE("the smallest tensor parallel group that fits is chosen, and said") {
  // 70.6 B parameters of one byte: not on one GPU of 85 GB beside a cache, on two.
  const Answer answer = answer_of(
      R"("model": "llama3-70b", "precision": "fp8", "load": {"rate_per_s": 1, "requests": 50})");
  CHECK(answer.serving->layout.tp == 2);
  CHECK(answer.serving->replicas == 4);
  bool said = false;
  for (const Defaulted& one : answer.estimate.defaulted)
    said = said || one.path == "workload.parallelism.tp";
  CHECK(said);
}

TEST_CASE("weights that leave no room are an answer with what would fit") {
  const Answer answer = answer_of(R"("model": "llama3.1-405b", "precision": "bf16",
      "parallelism": {"tp": 8}, "load": {"rate_per_s": 1, "requests": 10})");
  CHECK_FALSE(answer.feasible());
  CHECK(answer.binding() == "memory");
  CHECK_FALSE(answer.least_change.empty());
  CHECK(answer.estimate.value("inference.ttft_mean") == nullptr);
}

TEST_CASE("a limit below what one request alone takes cannot be kept, and the floor is said") {
  const Answer answer = answer_of(
      model_8b + R"("load": {"rate_per_s": 1, "requests": 50}, "slo": {"tpot": "100us"})");
  CHECK_FALSE(answer.feasible());
  CHECK(answer.binding() == "slo");
  CHECK(answer.reason().find("one request alone") != std::string::npos);
}

TEST_CASE("prefill and decode apart: both pools work, and the KV has to travel") {
  const std::string load = R"("load": {"rate_per_s": 4, "requests": 300, "input_tokens": 2048,
                              "output_tokens": 128})";
  const Answer apart = answer_of(
      model_8b + R"("disaggregated": {"prefill": {"workers": 2}, "decode": {"workers": 2}}, )" +
      load);
  REQUIRE(apart.feasible());
  CHECK(apart.serving->gpus == 4);
  REQUIRE(apart.serving->pools.size() == 2);
  CHECK(apart.serving->pools[0].busy_share > 0.0);
  CHECK(apart.serving->pools[1].busy_share > 0.0);
  CHECK(metric(apart, "inference.unfinished") == 0.0);
}

TEST_CASE("the same scenario gives the same answer, another seed another load") {
  const std::string load = R"("load": {"rate_per_s": 20, "requests": 300, "seed": )";
  const Answer a = answer_of(model_8b + load + "1}"), b = answer_of(model_8b + load + "1}"),
               c = answer_of(model_8b + load + "2}");
  CHECK(metric(a, "inference.e2e_mean") == metric(b, "inference.e2e_mean"));
  CHECK(metric(a, "inference.e2e_mean") != metric(c, "inference.e2e_mean"));
}

TEST_CASE("serving scenarios that cannot be meant are refused with their place") {
  struct Case {
    std::string workload;
    Code code;
    std::string pointer;
  };
  const std::vector<Case> cases{
      {R"("model": "llama3-8b", "micro_batch": 1)", Code::unknown_key, "/workload/micro_batch"},
      {R"("model": "llama3-8b", "engine": "vlm")", Code::unknown_name, "/workload/engine"},
      {R"("model": "llama3-9b")", Code::unknown_name, "/workload/model"},
      {R"("model": "llama3-8b", "parallelism": {"tp": 3})", Code::not_divisible,
       "/workload/parallelism"},
      {R"("model": "llama3-8b", "parallelism": {"tp": 4, "replicas": 3})", Code::layout_mismatch,
       "/workload"},
      {R"("model": "llama3-8b", "load": {"rate_per_s": 0})", Code::value_out_of_range,
       "/workload/load/rate_per_s"},
      {R"("model": "llama3-8b", "load": {"rate_per_s": 1, "concurrency": 2})",
       Code::value_out_of_range, "/workload/load/concurrency"},
      {R"("model": "llama3-8b", "load": {"arrivals": "closed_loop"})", Code::value_out_of_range,
       "/workload/load"},
      {R"("model": "llama3-8b", "load": {"output_tokens": 0})", Code::value_out_of_range,
       "/workload/load/output_tokens"},
      {R"("model": "llama3-8b", "slo": {"ttft": "fast"})", Code::bad_quantity,
       "/workload/slo/ttft"},
      {R"("model": "llama3-8b", "slo": {"ttft": "0s"})", Code::value_out_of_range,
       "/workload/slo/ttft"},
      {R"("model": "llama3-8b", "disaggregated": {"prefill": {"workers": 8}, "decode": {}})",
       Code::layout_mismatch, "/workload"},
      {R"("model": "llama3-8b", "disaggregated": {"prefill": {}, "decode": {}})", Code::missing_key,
       "/workload/load"},
      {R"("model": "llama3-8b", "parallelism": {"tp": 2},
          "disaggregated": {"prefill": {}, "decode": {}}, "load": {"rate_per_s": 1})",
       Code::layout_mismatch, "/workload/parallelism"},
  };
  for (const Case& one : cases) {
    CAPTURE(one.workload);
    const Diagnostics faults = faults_of(one.workload);
    REQUIRE_FALSE(faults.empty());
    CHECK(faults.front().code == one.code);
    CHECK(faults.front().place.pointer == one.pointer);
    CHECK(faults.front().place.line > 0);
  }
  CHECK(faults_of(R"("model": "llama3-8b", "load": {"trace": "no-such.csv"})").front().code ==
        Code::file_not_found);
  CHECK(faults_of(R"("model": "llama3-8b")", 1, R"(, "operations": {})").front().code ==
        Code::unsupported_feature);
}

}  // namespace flowplan::scenario::serving_test
