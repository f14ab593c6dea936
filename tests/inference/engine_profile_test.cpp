#include "flowplan/inference/engine_profile.hpp"

#include <algorithm>

#include "step_fixture.hpp"

namespace flowplan::inference::engine_profile_test {

using catalog::GpuGeneration;

TEST_CASE("every shipped engine can be read for every generation") {
  const auto names = engine_names(step_catalog());
  REQUIRE(names.size() >= 4);
  for (const std::string& name : names) {
    for (const auto generation : {GpuGeneration::hopper, GpuGeneration::blackwell}) {
      const auto profile = engine_profile(step_catalog(), name, generation);
      INFO(name);
      REQUIRE(profile);
      CHECK(profile->token_budget > 0);
      CHECK(profile->max_sequences > 0);
      CHECK(profile->quantise_hidden >= 0.0);
      CHECK(profile->quantise_hidden <= 1.0);
      CHECK(profile->hbm_fraction > 0.5);
      CHECK(profile->hbm_fraction < 1.0);
      CHECK(profile->stream_interval_tokens == 1);
      CHECK(std::is_sorted(profile->captured_tokens.begin(), profile->captured_tokens.end()));
    }
  }
}

TEST_CASE("a later version keeps what it does not change") {
  const auto base = engine_profile(step_catalog(), "vllm", GpuGeneration::hopper);
  const auto later = engine_profile(step_catalog(), "vllm-0.22", GpuGeneration::hopper);
  REQUIRE((base && later));
  CHECK(base->hbm_fraction == 0.90);
  CHECK(later->hbm_fraction == 0.92);
  CHECK(later->product_scale == base->product_scale);
}

TEST_CASE("an unknown engine is refused with the nearest name") {
  const auto none = engine_profile(step_catalog(), "vlm", GpuGeneration::hopper);
  REQUIRE_FALSE(none);
  CHECK(none.error().front().code == Code::unknown_name);
  CHECK(none.error().front().hint.find("vllm") != std::string::npos);
}

}  // namespace flowplan::inference::engine_profile_test
