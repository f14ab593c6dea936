#include "flowplan/inference/layout.hpp"

#include "step_fixture.hpp"

namespace flowplan::inference::layout_test {

TEST_CASE("a stage's ranks are divided between attention groups and experts") {
  Layout layout;
  layout.tp = 2;
  layout.attention_dp = 4;
  layout.ep = 4;
  layout.pp = 3;
  CHECK(layout.ranks() == 8);
  CHECK(layout.expert_tp() == 2);
  CHECK(layout.gpus() == 24);
}

TEST_CASE("keys are replicated where TP exceeds or does not divide their heads, and it is said") {
  const auto& llama = known_model("llama3.1-70b");  // 8 KV heads
  CHECK(kv_heads_per_rank(llama, 4) == 2.0);
  CHECK(kv_copies(llama, 4) == 1.0);
  CHECK(kv_heads_per_rank(llama, 16) == 1.0);
  CHECK(kv_copies(llama, 16) == 2.0);
  CHECK(kv_copies(known_model("deepseek-v3"), 8) == 8.0);  // the latent is one head

  const auto whole = check_layout(tensor_parallel(8), llama);
  REQUIRE(whole);
  CHECK(whole->empty());
  const auto copied = check_layout(tensor_parallel(16), llama);
  REQUIRE(copied);
  REQUIRE(copied->size() == 1);
  CHECK(copied->front().severity == Severity::note);
  CHECK(copied->front().message.find("2 copies") != std::string::npos);
}

TEST_CASE("what ranks cannot divide is refused, all of it in one go") {
  const auto heads = check_layout(tensor_parallel(3), known_model("llama3.1-70b"));
  REQUIRE_FALSE(heads);
  CHECK(heads.error().size() == 2);  // 64 heads, 28672 columns
  CHECK(heads.error().front().code == Code::not_divisible);

  Layout experts = tensor_parallel(8);
  experts.ep = 3;
  const auto ranks = check_layout(experts, known_model("deepseek-v3"));
  REQUIRE_FALSE(ranks);
  CHECK(ranks.error().front().code == Code::layout_mismatch);

  Layout dense = tensor_parallel(2);
  dense.attention_dp = 2;
  const auto shared = check_layout(dense, known_model("llama3.1-8b"));
  REQUIRE_FALSE(shared);
  CHECK(shared.error().front().hint == "use replicas");

  Layout deep = tensor_parallel(1);
  deep.pp = 33;
  const auto stages = check_layout(deep, known_model("llama3.1-8b"));
  REQUIRE_FALSE(stages);
  CHECK(stages.error().front().code == Code::layout_too_deep);

  CHECK_FALSE(check_layout(tensor_parallel(0), known_model("llama3.1-8b")));
}

TEST_CASE("redundant experts have to divide among the ranks with the others") {
  Layout layout;
  layout.tp = 1;
  layout.attention_dp = layout.ep = 32;
  layout.redundant_experts = 32;
  CHECK(check_layout(layout, known_model("deepseek-v3")));  // 288 over 32
  layout.redundant_experts = 8;
  CHECK_FALSE(check_layout(layout, known_model("deepseek-v3")));
}

}  // namespace flowplan::inference::layout_test
