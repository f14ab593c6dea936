#include "flowplan/report/sizing.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "flowplan/base/json_schema.hpp"
#include "flowplan/report/text.hpp"

namespace sizing_test {

using namespace flowplan;
using nlohmann::ordered_json;

namespace {

Breakdown leaf(std::string id, double seconds, std::string limit) {
  Breakdown node;
  node.id = std::move(id);
  node.label = node.id;
  node.leaf_time = Seconds(seconds);
  node.limit = std::move(limit);
  return node;
}

scenario::Answer answer() {
  scenario::Answer a;
  a.name = "Small on 2 x p5";
  a.kind = "pretraining";
  a.instance = "p5.48xlarge";
  a.gpu = "H100";
  a.count = 2;
  a.ec2_instances = 2;
  a.gpus = 16;
  a.region = "us-east-1";
  a.job.model.name = "small";
  a.job.layout.dp = 16;
  a.job.gpus = 16;
  a.job.seq_len = 2048;
  a.job.global_batch = 64;
  a.parameters = 7e9;
  a.iteration.step = Seconds(2.0);
  a.iteration.fits = true;
  a.iteration.hbm = gibibytes(80);
  training::StageMemory stage;
  stage.weights = gibibytes(20);
  stage.activations = gibibytes(30);
  a.iteration.memory = {stage};
  a.iteration.tokens_per_second = 65536;
  a.iteration.model_tflops_per_gpu = 400;
  a.iteration.mfu = 0.404;
  a.iteration.tiers = {{topology::Tier::nvlink, 0.125}};
  a.iteration.time.id = "step";
  a.iteration.time.label = "step";
  a.iteration.time.children = {leaf("gemm", 1.5, "tensor cores"), leaf("dp", 0.5, "EFA")};
  a.estimate.time = a.iteration.time;
  a.estimate.band = {0.9, 1.1, 0.9, "test rows"};
  a.fabric_cases = {{1.0, Seconds(2.0), 65536, 0.404}, {2.0, Seconds(2.5), 52428.8, 0.323}};
  a.budget = scenario::TokenBudget{1e9, 7630, Seconds(15260)};
  operations::PurchaseCost cost;
  cost.purchase = "on_demand";
  cost.region = "us-east-1";
  cost.as_of = "2026-07-20";
  cost.per_hour = Usd(110.08);
  cost.total = Usd(466.6);
  cost.limits = {"sold out"};
  a.costs = {cost};
  a.purchase = "on_demand";
  a.estimate.add("training.mfu", 0.404);
  a.estimate.defaulted = {{"workload.micro_batch", "1", "needs the least memory"}};
  return a;
}

scenario::Answer too_big() {
  scenario::Answer a = answer();
  a.iteration.fits = false;
  a.iteration.does_not_fit = "stage 0: activations";
  a.least_change = "recompute full";
  return a;
}

std::string text(const scenario::Answer& a) {
  return report::to_text(report::sizing(a));
}

bool has(const std::string& where, const std::string& what) {
  INFO(where);
  return where.find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("the report begins with what the answer comes to") {
  const std::string report = text(answer());
  CHECK(has(report, "small, 7 B parameters"));
  CHECK(has(report, "2 x p5.48xlarge, 16 H100 GPUs"));
  CHECK(has(report, "yes: 50.0 GiB of 80.0 GiB on the fullest GPU (stage 0), 30.0 GiB left"));
  CHECK(has(report, "65,540 tokens/s, 4,096 tokens/s per GPU"));
  CHECK(has(report, "400.0 model TFLOP/s per GPU, MFU 40.4 %"));
  CHECK(has(report,
            "466.6 USD (419.9 USD to 513.3 USD); on demand, list price of 2026-07-20, us-east-1, "
            "100 % goodput"));
  CHECK(has(report, "tensor cores: 75.0 % of the step; next EFA: 25.0 %"));
  CHECK(has(report, "2.000 s (1.800 s to 2.200 s)"));
}

TEST_CASE("the report flags what cannot be bought and lists what was defaulted") {
  const std::string report = text(answer());
  CHECK(has(report, "NO"));
  CHECK(has(report, "on demand: sold out"));
  CHECK(has(report, "workload.micro_batch"));
  CHECK(has(report, "needs the least memory"));
}

TEST_CASE("a job that does not fit reports the reason and the least change, no speeds") {
  const std::string report = text(too_big());
  CHECK(has(report, "NO: stage 0: activations"));
  CHECK(has(report, "recompute full"));
  CHECK(!has(report, "tokens/s"));
}

TEST_CASE("stages alike share one line of the memory table") {
  scenario::Answer a = answer();
  for (int stage = 1; stage < 4; ++stage) {
    a.iteration.memory.push_back(a.iteration.memory[0]);
    a.iteration.memory.back().stage = stage;
  }
  a.iteration.memory.back().logits = gibibytes(1);
  const std::string report = text(a);
  CHECK(has(report, "  0-2 "));
  CHECK(has(report, "  3 "));
}

TEST_CASE("JSON results follow their schema") {
  const auto schema = JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/result.schema.json");
  REQUIRE(schema);
  for (const auto& a : {answer(), too_big()}) {
    const auto document = JsonDocument::parse(report::sizing_json(a), "result.json");
    REQUIRE(document);
    const Diagnostics faults = validate(*document, *schema);
    INFO(render(faults));
    CHECK(faults.empty());
  }
}

TEST_CASE("JSON gives SI units, and the tree sums to the step") {
  const auto json = ordered_json::parse(report::sizing_json(answer()));
  CHECK(json["format_version"] == 1);
  CHECK(json["feasible"] == true);
  CHECK(json["training"]["step_time_s"] == 2.0);
  CHECK(json["training"]["breakdown"]["time_s"] == 2.0);
  CHECK(json["training"]["breakdown"]["children"][0]["time_s"] == 1.5);
  CHECK(json["memory"]["peak_bytes"] == 50.0 * 1024 * 1024 * 1024);
  CHECK(json["budget"]["prices"][0]["purchasable"] == false);
  CHECK(json["metrics"]["training.mfu"]["value"] == 0.404);
}

TEST_CASE("JSON of a job that does not fit names binding and change") {
  const auto json = ordered_json::parse(report::sizing_json(too_big()));
  CHECK(json["feasible"] == false);
  CHECK(json["infeasible"]["binding"] == "memory");
  CHECK(json["infeasible"]["least_change"] == "recompute full");
  CHECK(!json.contains("training"));
}

TEST_CASE("the same answer gives the same bytes") {
  CHECK(report::sizing_json(answer()) == report::sizing_json(answer()));
}

}  // namespace sizing_test
