#include "flowplan/collective/profile.hpp"

#include "fixture.hpp"

namespace flowplan::collective::profile_test {
namespace {

std::string profile(std::string_view id, const Versions& versions) {
  const auto found = find_profile(shipped(), id, versions);
  REQUIRE(found);
  return (*found)->id();
}

TEST_CASE("a version takes the nearest set that is not older") {
  CHECK(profile("collectives-ib-h100", {"2.18.5", ""}) == "collectives-ib-h100-nccl2.18");
  CHECK(profile("collectives-ib-h100", {"2.9", ""}) == "collectives-ib-h100-nccl2.18");
  CHECK(profile("collectives-ib-h100", {"2.19.3", ""}) == "collectives-ib-h100-nccl2.20");
  CHECK(profile("collectives-ib-h100", {"2.20.5", ""}) == "collectives-ib-h100-nccl2.20");
  CHECK(profile("collectives-ib-h100", {"2.21.5", ""}) == "collectives-ib-h100");
}

TEST_CASE("numbers count, not characters: 2.9 is older than 2.18") {
  CHECK(profile("collectives-p4", {"2.9.9", ""}) == "collectives-p4-nccl2.9");
  CHECK(profile("collectives-p4", {"2.18.5", ""}) == "collectives-p4");
}

TEST_CASE("what states no version is current") {
  for (const char* text : {"", "not stated", "DeepEP image", "2"})
    CHECK(profile("collectives-ib-h100", {text, ""}) == "collectives-ib-h100");
  CHECK(profile("collectives-p5", {"2.28.7 (Dockerfile)", "1.16.3"}) == "collectives-p5");
}

TEST_CASE("the plugin's version counts where NCCL's decides nothing") {
  CHECK(profile("collectives-p5", {"2.28.7", "1.7.3-aws"}) == "collectives-p5-plugin1.7");
  CHECK(profile("collectives-p5", {"2.18.5", "1.7.3"}) == "collectives-p5-nccl2.18");
}

TEST_CASE("a version newer than the set knows is said to be taken as the newest") {
  const auto of = [](std::string_view version) {
    return newer_than_known(**shipped().constants("collectives-p5"), {version, ""});
  };
  CHECK(of("99.1") == "NCCL 99.1 by the tables of 2.30, the newest known");
  CHECK(of("2.30.7").empty());
  CHECK(of("2.28").empty());
  CHECK(of("").empty());
}

TEST_CASE("two numbers with a dot are a version") {
  CHECK(holds_version("2.27"));
  CHECK(holds_version("v1.16.3-aws"));
  for (const char* text : {"", "abc", "2", "2.", "latest"})
    CHECK_FALSE(holds_version(text));
}

TEST_CASE("an unknown set is refused") {
  CHECK_FALSE(find_profile(shipped(), "collectives-nowhere", {"2.18", ""}));
}

}  // namespace
}  // namespace flowplan::collective::profile_test
