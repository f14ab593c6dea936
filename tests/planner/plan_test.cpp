#include "flowplan/planner/plan.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include <catch2/catch.hpp>

#include "flowplan/base/json_document.hpp"

namespace flowplan::planner::plan_test {

namespace {

const catalog::Catalog& plan_catalog() {
  static const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  return *loaded;
}

/// A scenario with these sections; workload of a small model unless `workload` says more.
Result<Plan> planned(const std::string& search, const std::string& workload = R"("tokens": "1T")",
                     const std::string& cluster = "", int threads = 0) {
  static const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  const std::string text = R"({"cluster": {)" + cluster + R"(}, "workload": {"kind": "pretraining",
    "model": "llama3-8b", "seq_len": 4096, "global_batch": 256, "precision": "bf16", )" +
                           workload + R"(}, "search": {)" + search + "}}";
  const auto document = JsonDocument::parse(text, "test.json");
  REQUIRE(document);
  const auto scenario =
      scenario::read(plan_catalog(), *document, *schema, scenario::ReadFor::search);
  if (!scenario) return fail(scenario.error());
  return plan(plan_catalog(), *scenario, threads);
}

const std::string two_types =
    R"("instances": ["p5.48xlarge", "p4d.24xlarge"], "counts": [1, 2, 4], )";

const PlanCluster& cluster_of(const Plan& plan, const PlanRow& row) {
  return plan.clusters[row.cluster];
}

}  // namespace

TEST_CASE("each objective puts its best first, over all clusters", "[slow]") {
  const auto time = planned(two_types + R"("objective": "time")");
  REQUIRE(time);
  REQUIRE(time->ranked.size() == 6);
  for (std::size_t i = 1; i < time->ranked.size(); ++i)
    CHECK(*time->ranked[i - 1].time <= *time->ranked[i].time);
  CHECK(cluster_of(*time, time->ranked[0]).count == 4);

  const auto cost = planned(two_types + R"("objective": "cost")");
  REQUIRE(cost);
  for (std::size_t i = 1; i < cost->ranked.size(); ++i)
    CHECK(*cost->ranked[i - 1].cost()->total <= *cost->ranked[i].cost()->total);

  const auto smallest = planned(two_types + R"("objective": "smallest")");
  REQUIRE(smallest);
  CHECK(cluster_of(*smallest, smallest->ranked[0]).gpus == 8);
}

TEST_CASE("time, days and money of a row follow from its step") {
  const auto found = planned(R"("instances": ["p5.48xlarge"], "counts": [2])");
  REQUIRE(found);
  const PlanRow& row = found->ranked[0];
  // 1e12 tokens in steps of 256 x 4,096.
  const double steps = std::ceil(1e12 / (256.0 * 4096.0));
  CHECK(row.time->value() == Approx(row.step.value() * steps));
  CHECK(row.cost()->total->value() ==
        Approx(row.cost()->per_hour.value() * row.time->value() / 3600.0));
  CHECK(row.tokens_per_second == Approx(256.0 * 4096.0 / row.step.value()));
  CHECK(found->rechecked.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    const Recheck& one = found->rechecked[i];
    CHECK(one.iteration.step.value() == Approx(found->ranked[i].step.value()).epsilon(1e-12));
    CHECK(one.iteration.fits);
    CHECK(std::abs(one.difference) < 0.02);  // of the task graph, where stages may be unequal
  }
}

TEST_CASE("no other row is faster and cheaper than one of the front") {
  const auto found = planned(two_types + R"("objective": "time")");
  REQUIRE(found);
  REQUIRE(!found->front.empty());
  for (const PlanRow& best : found->front) {
    for (const PlanCluster& cluster : found->clusters) {
      const PlanRow& other = cluster.rows.front();
      CHECK(!(*other.time < *best.time && *other.cost()->total < *best.cost()->total));
    }
  }
  for (std::size_t i = 1; i < found->front.size(); ++i)
    CHECK(*found->front[i].cost()->total < *found->front[i - 1].cost()->total);
}

TEST_CASE("a deadline that nothing meets names what would") {
  const auto found = planned(R"("instances": ["p5.48xlarge"], "max_gpus": 16, "deadline": "30d")");
  REQUIRE(found);
  CHECK(found->ranked.empty());
  REQUIRE(found->nearest_misses.size() == 2);
  CHECK(found->nearest_misses[0].find("the fastest takes") == 0);
  // 6 x 8e9 x 1e12 FLOPs in 30 days at half of 989e12 FLOP/s a GPU take about 40 GPUs.
  CHECK(found->nearest_misses[1].find("needs ") == 0);
  CHECK(found->nearest_misses[1].find("GPUs to meet 30 d") != std::string::npos);
  for (const PlanCluster& cluster : found->clusters)
    CHECK(cluster.fate == Fate::past_deadline);
}

TEST_CASE("a budget that nothing keeps names the cheapest") {
  const auto found = planned(two_types + R"("budget_usd": "1K")");
  REQUIRE(found);
  CHECK(found->ranked.empty());
  REQUIRE(found->nearest_misses.size() == 1);
  CHECK(found->nearest_misses[0].find("the cheapest is") == 0);
}

TEST_CASE("deadline and budget that exclude each other: both nearest sides are named") {
  const auto loose = planned(two_types + R"("objective": "time")");
  REQUIRE(loose);
  const double fastest = loose->ranked[0].time->value();
  double cheapest = 1e30;
  for (const PlanCluster& cluster : loose->clusters)
    cheapest = std::min(cheapest, cluster.rows.front().cost()->total->value());
  const auto tight = planned(two_types + R"("deadline": ")" + std::to_string(fastest * 1.0001) +
                             R"(s", "budget_usd": )" + std::to_string(cheapest * 1.0001));
  REQUIRE(tight);
  if (tight->ranked.empty()) {
    REQUIRE(tight->nearest_misses.size() == 2);
    CHECK(tight->nearest_misses[0].find("within the budget") == 0);
    CHECK(tight->nearest_misses[1].find("within the deadline") == 0);
  } else {  // the fastest is the cheapest too
    CHECK(tight->ranked[0].cost()->total->value() == Approx(cheapest));
  }
}

TEST_CASE("what does not fit anywhere says how much is missing and how many GPUs do") {
  const auto found =
      planned(R"("instances": ["p4d.24xlarge"], "counts": [1])", R"("model_note": 1)");
  REQUIRE(!found);  // an unknown key stays an error
  const auto large = planned(R"("instances": ["p4d.24xlarge"], "counts": [1],
    "space": {"recompute": ["none"], "micro_batch": [8], "tp": [1], "pp": [1], "cp": [1]})");
  REQUIRE(large);
  CHECK(large->ranked.empty());
  CHECK(large->clusters[0].fate == Fate::nothing_fits);
  REQUIRE(large->nearest_misses.size() == 2);
  CHECK(large->nearest_misses[0].find("the leanest layout needs") == 0);
}

TEST_CASE("what cannot be bought is flagged, and out when asked so", "[slow]") {
  // One Capacity Block holds 64 instances; p5e is sold no other way.
  const std::string search = R"("instances": ["p5e.48xlarge"], "counts": [96])";
  const auto flagged = planned(search);
  REQUIRE(flagged);
  REQUIRE(!flagged->ranked.empty());
  CHECK(!flagged->ranked[0].purchasable());
  CHECK(!flagged->ranked[0].cost()->limits.empty());
  const auto refused = planned(search + R"(, "only_purchasable": true)");
  REQUIRE(refused);
  CHECK(refused->ranked.empty());
  CHECK(refused->clusters[0].fate == Fate::not_purchasable);
  CHECK(!refused->nearest_misses.empty());
}

TEST_CASE("the same answer on one thread and on several") {
  const auto one = planned(two_types + R"("top": 4)", R"("tokens": "1T")", "", 1);
  const auto many = planned(two_types + R"("top": 4)", R"("tokens": "1T")", "", 4);
  REQUIRE(one);
  REQUIRE(many);
  REQUIRE(one->ranked.size() == many->ranked.size());
  for (std::size_t i = 0; i < one->ranked.size(); ++i) {
    CHECK(one->ranked[i].cluster == many->ranked[i].cluster);
    CHECK(one->ranked[i].step == many->ranked[i].step);
  }
  CHECK(one->counts.slower == many->counts.slower);
}

TEST_CASE("a search that cannot be meant is refused with its place") {
  struct Case {
    std::string search, workload;
    Code code;
    std::string pointer;
  };
  const auto one = GENERATE(values<Case>({
      {R"("budget_usd": 5)", R"("micro_batch": 1)", Code::missing_key, "/search/budget_usd"},
      {R"("deadline": "3d")", R"("micro_batch": 1)", Code::missing_key, "/search/deadline"},
      {R"("objective": "time")", R"("micro_batch": 1)", Code::missing_key, "/search/objective"},
      {R"("budget_usd": 0)", R"("tokens": 1)", Code::value_out_of_range, "/search/budget_usd"},
      {R"("budget_usd": "-5M")", R"("tokens": 1)", Code::bad_quantity, "/search/budget_usd"},
      {R"("deadline": "0d")", R"("tokens": 1)", Code::value_out_of_range, "/search/deadline"},
      {R"("deadline": "soon")", R"("tokens": 1)", Code::bad_quantity, "/search/deadline"},
      {R"("instances": ["p5.48xlagre"])", R"("tokens": 1)", Code::unknown_name,
       "/search/instances/0"},
      {R"("min_gpus": 64, "max_gpus": 8)", R"("tokens": 1)", Code::value_out_of_range,
       "/search/min_gpus"},
      {R"("instances": ["p5.48xlarge"], "max_gpus": 4)", R"("tokens": 1)", Code::layout_mismatch,
       "/search"},
      {R"("instances": ["dgx-h100"], "counts": [1], "budget_usd": 5)", R"("tokens": 1)",
       Code::no_price, "/search/budget_usd"},
  }));
  const auto found = planned(one.search, one.workload);
  REQUIRE(!found);
  INFO(render(found.error()));
  CHECK(found.error()[0].code == one.code);
  CHECK(found.error()[0].place.pointer == one.pointer);
}

TEST_CASE("a stated cluster and stated degrees are kept") {
  const auto found = planned(R"("top": 5)", R"("parallelism": {"tp": 4})",
                             R"("instance": "p5.48xlarge", "count": 2)");
  REQUIRE(found);
  CHECK(found->clusters.size() == 1);
  CHECK(found->objective == scenario::Objective::throughput);
  REQUIRE(found->ranked.size() == 5);
  for (const PlanRow& row : found->ranked) {
    CHECK(row.job.layout.tp == 4);
    CHECK(!row.time);
  }
}

}  // namespace flowplan::planner::plan_test
