#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "program.hpp"

namespace serving_command_test {

TEST_CASE("a serving scenario is run, checked, explained and laid side by side", "[slow]") {
  const std::string scenario = "scenarios/serve-llama3-70b-p5.json";
  const Ran run = flowplan_run({"run", scenario});
  CHECK(run.code == 0);
  CHECK(contains(run.out, "TTFT"));
  CHECK(contains(run.out, "saturation"));
  CHECK(contains(run.out, "Load against latency"));
  const Ran json = flowplan_run({"run", scenario, "--format", "json"});
  CHECK(contains(json.out, "\"kind\": \"serving\""));
  CHECK(contains(json.out, "inference.ttft_p99"));
  CHECK(flowplan_run({"check", scenario}).code == 0);
  CHECK(contains(flowplan_run({"explain", scenario, "inference.tpot_mean"}).out,
                 "Time per output token"));
  const Ran diff = flowplan_run({"diff", scenario, "--set", "workload.parallelism.tp=8"});
  CHECK(diff.code == 0);
  CHECK(contains(diff.out, "inference.tpot_mean"));
  const Ran sweep = flowplan_run({"sweep", scenario, "--vary", "workload.load.rate_per_s=2,4"});
  CHECK(contains(sweep.out, "2 points: 2 fit"));
}

TEST_CASE("a deployment that does not fit: exit code 4 and what would") {
  const Ran ran = flowplan_run({"run", "scenarios/serve-llama3.1-405b-too-big.json"});
  CHECK(ran.code == 4);
  CHECK(contains(ran.out, "NO: "));
  CHECK(contains(ran.out, "least change that fits"));
}

TEST_CASE("weights of a serving scenario come from storage: cold start and scale-out by hand") {
  const std::string scenario = "scenarios/storage-serve-llama3.1-405b-scale-out.json";
  const auto metric = [](const nlohmann::json& result, const char* name) {
    return result["metrics"][name]["value"].get<double>();
  };
  const Ran ran = flowplan_run({"run", scenario, "--format", "json"});
  REQUIRE(ran.code == 0);
  const auto result = nlohmann::json::parse(ran.out);
  // 48,000 GiB are 46.875 TiB: disks of 1,000 MiB/s and a network of 2,600 MiB/s a TiB. Weights
  // that fit into the file servers' memory touch the disks once: one replica is bound by the disks,
  // 16 by the network. The engine takes 20 s beside.
  const double mib = 1024.0 * 1024.0;
  const double weights = 8.0 * metric(result, "inference.weights_per_gpu");
  CHECK(metric(result, "inference.scale_out") ==
        Approx(20.0 + weights / (46.875 * 1000.0 * mib)).epsilon(0.005));
  CHECK(metric(result, "inference.cold_start") ==
        Approx(20.0 + 16.0 * weights / (46.875 * 2600.0 * mib)).epsilon(0.005));
  CHECK(result["inference"]["start"]["nodes"] == 16);
  const auto quick =
      nlohmann::json::parse(flowplan_run({"run", scenario, "--set",
                                          "storage.weights.engine_start=5s", "--format", "json"})
                                .out);
  CHECK(metric(quick, "inference.scale_out") ==
        Approx(metric(result, "inference.scale_out") - 15.0));
}

TEST_CASE("storage of a serving scenario that makes no sense is refused where it stands") {
  const std::string scenario = "scenarios/storage-serve-llama3.1-405b-scale-out.json";
  const Ran off_step =
      flowplan_run({"run", scenario, "--set", "storage.weights.store.capacity=48001GiB"});
  CHECK(off_step.code == 3);
  CHECK(contains(off_step.err, "FP063"));
  CHECK(contains(off_step.err, "/storage/weights/store"));
  const Ran saves =
      flowplan_run({"run", scenario, "--set", R"(storage.checkpoint={"store":{"service":"s3"}})"});
  CHECK(contains(saves.err, "FP073"));
  const Ran training = flowplan_run({"run", "scenarios/pretrain-llama3-70b-p5.json", "--set",
                                     R"(storage.weights={"store":{"service":"s3"}})"});
  CHECK(contains(training.err, "FP073"));
  CHECK(contains(training.err, "serving engine"));
}

TEST_CASE("a limit below the floor: exit code 4 and the floor") {
  const Ran ran =
      flowplan_run({"run", "scenarios/serve-llama3-70b-p5.json", "--set", "workload.slo.tpot=1ms"});
  CHECK(ran.code == 4);
  CHECK(contains(ran.out, "one request alone"));
}

TEST_CASE("a fleet is planned for a rate and limits") {
  const Ran ran = flowplan_run({"plan", "scenarios/plan-serve-llama3-70b.json"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "Cheapest first"));
  CHECK(contains(ran.out, "Money against speed"));
  const Ran json =
      flowplan_run({"plan", "scenarios/plan-serve-llama3-70b.json", "--format", "json"});
  CHECK(contains(json.out, "\"kind\": \"serving_plan\""));
}

}  // namespace serving_command_test
