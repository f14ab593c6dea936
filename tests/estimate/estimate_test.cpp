#include "flowplan/estimate/estimate.hpp"

#include <algorithm>
#include <string>

#include <catch2/catch.hpp>

namespace estimate_test {

using namespace flowplan;

namespace {

Breakdown leaf(std::string id, double seconds, std::string limit) {
  Breakdown node;
  node.id = std::move(id);
  node.leaf_time = Seconds(seconds);
  node.limit = std::move(limit);
  return node;
}

}  // namespace

TEST_CASE("a node's time is the sum of its leaves and limits are ranked by time") {
  Breakdown step;
  step.id = "step";
  Breakdown compute;
  compute.id = "step.compute";
  compute.children = {leaf("step.compute.gemm", 3, "tensor cores"),
                      leaf("step.compute.norm", 1, "HBM")};
  step.children = {compute, leaf("step.dp", 2, "EFA"), leaf("step.optimizer", 0.5, "HBM")};
  CHECK(step.time().value() == 6.5);
  const auto ranked = limits(step);
  REQUIRE(ranked.size() == 3);
  CHECK(ranked[0].limit == "tensor cores");
  CHECK(ranked[1].limit == "EFA");
  CHECK(ranked[2].time.value() == 1.5);
  CHECK(find(step, "step.compute.norm")->leaf_time.value() == 1);
  CHECK(find(step, "nothing") == nullptr);
}

TEST_CASE("the metric registry is ordered, unique and complete") {
  const auto registry = metric_registry();
  CHECK(std::is_sorted(registry.begin(), registry.end(),
                       [](const MetricInfo& a, const MetricInfo& b) { return a.id < b.id; }));
  for (const MetricInfo& metric : registry) {
    INFO(metric.id);
    CHECK(find_metric(metric.id)->id == metric.id);
    CHECK_FALSE(metric.description.empty());
    CHECK(metric.prometheus_name.starts_with("flowplan_"));
    CHECK(metric.prometheus_name.find_first_not_of("abcdefghijklmnopqrstuvwxyz_0123456789") ==
          std::string_view::npos);
  }
  CHECK_FALSE(find_metric("training.speed"));
}

TEST_CASE("an estimate gives back the metrics put into it") {
  Estimate estimate;
  estimate.add("training.mfu", 0.4);
  CHECK(*estimate.value("training.mfu") == 0.4);
  CHECK(estimate.value("training.days") == nullptr);
}

}  // namespace estimate_test
