#include <catch2/catch.hpp>

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
