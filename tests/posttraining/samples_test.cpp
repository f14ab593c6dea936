#include "flowplan/posttraining/samples.hpp"

#include <cmath>

#include <catch2/catch.hpp>

#include "handmade.hpp"

namespace flowplan::posttraining::samples_test {

using inference::TokenCount;

TEST_CASE("the mean of a distribution counts its cut") {
  CHECK(mean_tokens({TokenCount::Kind::fixed, 100.0, 0.0}) == 100.0);
  CHECK(mean_tokens({TokenCount::Kind::fixed, 100.0, 0.0, 60.0}) == 60.0);
  // Uniform in [50, 150], cut at 100: half of it 75 on average, half of it 100.
  CHECK(mean_tokens({TokenCount::Kind::uniform, 100.0, 0.5, 100.0}) == Approx(87.5));
  CHECK(mean_tokens({TokenCount::Kind::below, 100.0, 0.2}) == Approx(90.0));
  // Exponential: the mean of min(X, m) is mean (1 - exp(-m / mean)).
  CHECK(mean_tokens({TokenCount::Kind::exponential, 100.0, 0.0, 100.0}) ==
        Approx(100.0 * (1.0 - std::exp(-1.0))));
  CHECK(mean_tokens({TokenCount::Kind::lognormal, 100.0, 0.7}) == Approx(100.0));
  CHECK(mean_tokens({TokenCount::Kind::lognormal, 100.0, 0.7, 120.0}) < 90.0);
}

TEST_CASE("a distribution can be given the mean that is left after its cut") {
  for (const auto kind :
       {TokenCount::Kind::uniform, TokenCount::Kind::lognormal, TokenCount::Kind::exponential}) {
    const TokenCount found = with_mean({kind, 1.0, 0.7, 8000.0}, 5700.0);
    CHECK(mean_tokens(found) == Approx(5700.0).epsilon(1e-6));
  }
  CHECK(mean_tokens(with_mean({TokenCount::Kind::lognormal, 1.0, 0.7, 8000.0}, 9000.0)) == 8000.0);
}

TEST_CASE("draws have the mean that was asked for") {
  RolloutLoad load = handmade::equal_answers(500, 8, 1.0);
  load.response = with_mean({TokenCount::Kind::lognormal, 1.0, 0.7, 1000.0}, 600.0);
  const auto requests = rollout_requests(load);
  REQUIRE(requests);
  const auto samples = samples_of(*requests);
  REQUIRE(samples.size() == 4000);
  double sum = 0.0;
  for (const Sample& sample : samples) {
    CHECK(sample.prompt == 1);
    CHECK(sample.response <= 1000);
    sum += sample.response;
  }
  CHECK(sum / 4000.0 == Approx(600.0).epsilon(0.02));
}

TEST_CASE("a sample with tools is as long as its last turn") {
  RolloutLoad load = handmade::equal_answers(3, 1, 20.0);
  inference::AgentLoop tools;
  tools.calls = {TokenCount::Kind::fixed, 3.0, 0.0};
  tools.tool_tokens = {TokenCount::Kind::fixed, 5.0, 0.0};
  tools.tool_ms = {TokenCount::Kind::fixed, 1000.0, 0.0};
  load.tools = tools;
  const auto requests = rollout_requests(load);
  REQUIRE(requests);
  const auto samples = samples_of(*requests);
  REQUIRE(samples.size() == 3);
  // 1 of the prompt; three turns of 20 tokens and two answers of the tool.
  CHECK(samples[0].prompt == 1);
  CHECK(samples[0].response == 3 * 20 + 2 * 5);
}

}  // namespace flowplan::posttraining::samples_test
