#include "flowplan/training/framework.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "fixture.hpp"

namespace framework_test {

using namespace flowplan;
using namespace flowplan::training;

TEST_CASE("every framework set of the catalog is complete") {
  int found = 0;
  for (const std::string& set : the_catalog().constants_ids("framework")) {
    INFO(set);
    const auto profile = framework(the_catalog(), set);
    REQUIRE(profile);
    CHECK(profile->tp_exposed > 0.0);
    CHECK(profile->dp_exposed <= 1.0);
    CHECK(profile->band_p90 > 0.0);
    CHECK_FALSE(profile->band_regime.empty());
    ++found;
  }
  CHECK(found >= 5);
}

TEST_CASE("a framework is found with and without its prefix") {
  const auto by_name = framework(the_catalog(), "megatron-core");
  const auto by_id = framework(the_catalog(), "framework-megatron-core");
  REQUIRE(by_name);
  REQUIRE(by_id);
  CHECK(by_name->id == by_id->id);
}

TEST_CASE("a set overrides only the figures that it gives") {
  const auto base = framework(the_catalog(), "megatron-core");
  const auto bridge = framework(the_catalog(), "megatron-bridge");
  REQUIRE(base);
  REQUIRE(bridge);
  CHECK(bridge->gradient_bytes == 2.0);
  CHECK(base->gradient_bytes == 4.0);
  CHECK(bridge->tp_exposed == base->tp_exposed);
}

TEST_CASE("weights are gathered in the width of the GEMMs where the framework can") {
  const auto bridge = framework(the_catalog(), "megatron-bridge");
  REQUIRE(bridge);
  CHECK(bridge->gather_bytes(model::Precision::bf16) == 2.0);
  CHECK(bridge->gather_bytes(model::Precision::fp8) == 1.0);
}

TEST_CASE("a set that lacks figures is refused by their names") {
  const auto path = std::filesystem::temp_directory_path() / "flowplan-framework-test.json";
  std::ofstream(path) << R"({"constants": [{"id": "framework-thin", "kind": "framework",
    "about": "two figures", "sources": {"me": "me"},
    "figures": {"host.norm": [4, "me"], "tp.exposed_share": [1, "me"]}}]})";
  const auto loaded = catalog::Catalog::load(FLOWPLAN_SOURCE_DIR "/catalogs", {path.string()});
  std::filesystem::remove(path);
  if (!loaded) FAIL(render(loaded.error()));
  const auto thin = framework(*loaded, "thin");
  REQUIRE_FALSE(thin);
  CHECK(thin.error().front().code == Code::unknown_figure);
  CHECK(render(thin.error()).find("memory_bound.factor") != std::string::npos);
  CHECK(render(thin.error()).find("host.norm") == std::string::npos);
}

}  // namespace framework_test
