#include "flowplan/export/plan.hpp"

#include <catch2/catch.hpp>

#include "example_plan.hpp"

namespace flowplan::exporting::plan_test {

TEST_CASE("a title becomes a DNS label") {
  CHECK(slug_of("Llama 3 70B on 64 x p5.48xlarge") == "llama-3-70b-on-64-x-p5-48xlarge");
  CHECK(slug_of("  a__b  ") == "a-b");
  CHECK(slug_of("405B") == "job-405b");
  CHECK(slug_of("") == "job");
  CHECK(slug_of("\xc3\xa9t\xc3\xa9") == "t");
  CHECK(slug_of(std::string(100, 'a')) == std::string(40, 'a'));
  CHECK(slug_of(std::string(39, 'a') + " b") == std::string(39, 'a'));
}

TEST_CASE("a plan names its nodes, its member type and the nodes of an UltraServer that work") {
  const Plan plan = plan_from(two_ultraservers());
  CHECK(plan.nodes() == 36);
  CHECK(plan.gpus_per_node() == 4);
  CHECK(plan.node_type->id == "p6e-gb200.36xlarge");
  CHECK(plan.domains_span_nodes());
  CHECK(plan.nodes_per_domain() == 18);
  CHECK(plan.ranks() == 128);
  CHECK(plan.job_nodes == 32);             // 128 GPUs, 4 a node
  CHECK(plan.job_nodes_per_domain == 16);  // 64 of 72
  // 10^12 tokens at 8192 x 256 a step are 476,837.2 steps.
  CHECK(plan.steps == 476838);
}

TEST_CASE("hosts are those that are given, each once") {
  std::vector<std::string> hosts;
  for (int i = 0; i < 22; ++i)
    hosts.push_back("p5-" + std::to_string(i + 1));
  CHECK(plan_from(three_pods(), hosts).node.back() == "p5-22");
  const auto scenario = scenario_from_text(three_pods());
  hosts.back() = "p5-1";
  CHECK_FALSE(plan_of(shipped_catalog(), scenario, hosts));
  hosts.pop_back();
  const auto fewer = plan_of(shipped_catalog(), scenario, hosts);
  REQUIRE_FALSE(fewer);
  CHECK(fewer.error().front().code == Code::bad_cluster);
}

TEST_CASE("ranks that leave GPUs of a node idle are refused") {
  const std::string text = R"({
    "cluster": {"instance": "p5.48xlarge", "nodes": 2},
    "workload": {"kind": "pretraining", "model": "llama3-8b", "seq_len": 4096, "global_batch": 96,
                 "placement": {"gpus_per_domain": 6}, "parallelism": {"tp": 2}}})";
  const auto plan = plan_of(shipped_catalog(), scenario_from_text(text));
  REQUIRE_FALSE(plan);
  CHECK(plan.error().front().code == Code::unsupported_feature);
}

}  // namespace flowplan::exporting::plan_test
