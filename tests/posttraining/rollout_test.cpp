#include "flowplan/posttraining/rollout.hpp"

#include <catch2/catch.hpp>

#include "handmade.hpp"

namespace flowplan::posttraining::rollout_test {

using namespace handmade;
using inference::TokenCount;

TEST_CASE("equal answers end together, without stragglers") {
  const auto rollout = run_rollout(ten_ms_a_pass(2), equal_answers(8, 4, 100.0));
  REQUIRE(rollout);
  // The pass of the prompt gives the first token, 99 more passes the rest.
  CHECK(rollout->end_s == Approx(1.0));
  CHECK(rollout->tail_s == Approx(0.0).margin(1e-9));
  CHECK(rollout->busy_share == Approx(1.0));
  CHECK(rollout->generated_tokens == 32 * 100.0);
  CHECK(rollout->kept.size() == 32);
}

TEST_CASE("one sample a prompt is a group of one") {
  const auto one = run_rollout(ten_ms_a_pass(2), equal_answers(32, 1, 100.0));
  const auto grouped = run_rollout(ten_ms_a_pass(2), equal_answers(8, 4, 100.0));
  REQUIRE((one && grouped));
  CHECK(one->end_s == grouped->end_s);
  CHECK(one->kept.size() == grouped->kept.size());
}

TEST_CASE("more engines do not shorten what the longest answer takes") {
  RolloutLoad load = equal_answers(32, 8, 1.0);
  load.response = with_mean({TokenCount::Kind::lognormal, 1.0, 1.0, 4000.0}, 500.0);
  const auto few = run_rollout(ten_ms_a_pass(2), load);
  const auto many = run_rollout(ten_ms_a_pass(4), load);
  REQUIRE((few && many));
  CHECK(many->end_s == Approx(few->end_s));  // passes take the same whatever their batch
  CHECK(few->tail_s > 0.5 * few->end_s);
  CHECK(few->busy_share > many->busy_share);
}

TEST_CASE("a verifier with few workers ends later than its samples") {
  const std::vector<double> finish{1.0, 1.0, 1.0, 4.0};
  CHECK(scored(finish, {Seconds(2.0), 0}) == std::vector<double>{3.0, 3.0, 3.0, 6.0});
  // Two at a time: the third starts when the first is done.
  CHECK(scored(finish, {Seconds(2.0), 2}) == std::vector<double>{3.0, 3.0, 5.0, 6.0});
  const auto rollout =
      run_rollout(ten_ms_a_pass(2), equal_answers(8, 4, 100.0), {}, {Seconds(2.0), 0});
  REQUIRE(rollout);
  CHECK(rollout->scored_s == Approx(rollout->end_s + 2.0));
}

TEST_CASE("what is late is dropped when enough prompts are finished") {
  RolloutLoad load = equal_answers(40, 2, 1.0);
  load.response = with_mean({TokenCount::Kind::lognormal, 1.0, 1.0, 4000.0}, 500.0);
  RolloutEnd end;
  end.prompts = 20;
  const auto all = run_rollout(ten_ms_a_pass(4), load, end);
  end.stop_early = true;
  const auto early = run_rollout(ten_ms_a_pass(4), load, end);
  REQUIRE((all && early));
  CHECK(all->kept.size() == 40);
  CHECK(early->kept.size() == 40);
  CHECK(early->end_s < all->end_s);
  for (const std::uint32_t i : early->kept)
    CHECK(early->finish_s[i] <= early->end_s);
}

TEST_CASE("tools add their time between turns") {
  RolloutLoad load = equal_answers(4, 1, 10.0);
  inference::AgentLoop tools;
  tools.calls = {TokenCount::Kind::fixed, 2.0, 0.0};
  tools.tool_tokens = {TokenCount::Kind::fixed, 5.0, 0.0};
  tools.tool_ms = {TokenCount::Kind::fixed, 3000.0, 0.0};
  load.tools = tools;
  const auto rollout = run_rollout(ten_ms_a_pass(2), load);
  REQUIRE(rollout);
  CHECK(rollout->end_s == Approx(2 * 10 * 10e-3 + 3.0));
}

}  // namespace flowplan::posttraining::rollout_test
