#include "flowplan/scenario/search.hpp"

#include <catch2/catch.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/scenario/scenario.hpp"

namespace flowplan::scenario::search_test {

namespace {

Result<Scenario> read_for(const std::string& text, ReadFor purpose) {
  static const auto catalog = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs");
  static const auto schema =
      JsonDocument::read(FLOWPLAN_SOURCE_DIR "/catalogs/schema/scenario.schema.json");
  return read(*catalog, *JsonDocument::parse(text, "test.json"), *schema, purpose);
}

const std::string whole = R"({"cluster": {}, "workload": {"kind": "pretraining",
  "model": "llama3-70b", "tokens": "15T"}, "search": {"objective": "cost",
  "instances": ["p5", "p6-b200.48xlarge"], "counts": [64, 128], "min_gpus": 8, "max_gpus": 4096,
  "budget_usd": "5M", "deadline": "30d", "memory_headroom": 0.1, "only_purchasable": true,
  "top": 7, "per_cluster": 2, "space": {"tp": [4, 8], "precision": ["bf16", "mxfp8"],
  "recompute": ["operators"], "sharding": ["fsdp"], "schedule": ["zb_h1", "dual_pipe"],
  "context_parallel": ["hybrid"], "sequence_parallel": [true], "global_batch": [512]}}})";

}  // namespace

TEST_CASE("every key of a search is read") {
  const auto scenario = read_for(whole, ReadFor::search);
  REQUIRE(scenario);
  const SearchSection& s = scenario->search;
  CHECK(s.objective == Objective::cost);
  REQUIRE(s.instances.size() == 2);
  CHECK(s.instances[1]->id == "p6-b200.48xlarge");
  CHECK(s.counts == std::vector<int>{64, 128});
  CHECK(s.min_gpus == 8);
  CHECK(s.max_gpus == 4096);
  CHECK(s.budget->value() == 5e6);
  CHECK(s.deadline->value() == 30 * 86400.0);
  CHECK(s.memory_headroom == 0.1);
  CHECK(s.only_purchasable);
  CHECK(s.top == 7);
  CHECK(s.per_cluster == 2);
  CHECK(s.space.tp == std::vector<int>{4, 8});
  CHECK(s.space.precision[1] == model::Precision::mxfp8);
  CHECK(s.space.recompute[0] == training::Recompute::operators);
  CHECK(s.space.sharding[0] == training::Sharding::fsdp);
  CHECK(s.space.schedule[1] == training::Schedule::dual_pipe);
  CHECK(s.space.context_parallel[0] == training::ContextParallel::hybrid);
  CHECK(s.space.global_batch == std::vector<std::int64_t>{512});
}

TEST_CASE("what a search leaves open cannot be run") {
  const auto scenario = read_for(whole, ReadFor::run);
  REQUIRE(!scenario);
  CHECK(scenario.error()[0].code == Code::missing_key);
  CHECK(scenario.error()[0].place.pointer == "/cluster");
  CHECK(scenario.error()[0].hint.find("flowplan plan") != std::string::npos);
}

TEST_CASE("objectives have names that are found again") {
  for (const Objective one :
       {Objective::time, Objective::cost, Objective::throughput, Objective::smallest})
    CHECK(find_objective(name(one)) == one);
  CHECK(!find_objective("fastest"));
}

}  // namespace flowplan::scenario::search_test
