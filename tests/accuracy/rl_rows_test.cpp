#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/validate.hpp"
#include "shipped_catalog.hpp"

namespace rl_rows_test {

using namespace flowplan;
using namespace flowplan::accuracy;

namespace {

/// Published step times of NeMo-RL v0.6.
const std::vector<Row>& rows() {
  static const std::vector<Row> all = [] {
    const auto table = CsvTable::read(FLOWPLAN_SOURCE_DIR "/tests/accuracy/rl-steps.csv");
    if (!table) FAIL(render(table.error()));
    return training_rows(shipped_catalog(), *table);
  }();
  return all;
}

const Row& row_of(const std::string& id) {
  const auto found =
      std::find_if(rows().begin(), rows().end(), [&](const Row& row) { return row.id == id; });
  REQUIRE(found != rows().end());
  REQUIRE(found->predicted);
  return *found;
}

double step(const std::string& id) {
  return *row_of(id).predicted;
}

}  // namespace

TEST_CASE("published steps of reinforcement learning are met within a fifth", "[slow]") {
  std::vector<double> errors;
  std::size_t skipped = 0, banded = 0;
  for (const Row& row : rows()) {
    if (!row.predicted) {
      ++skipped;
      CHECK(row.skipped == "model dimensions are not stated");
      continue;
    }
    errors.push_back(row.ape());
    REQUIRE(row.band);
    banded += row.in_band() ? 1 : 0;
  }
  REQUIRE(errors.size() == 16);
  CHECK(skipped == 1);
  CHECK(banded >= 14);
  std::sort(errors.begin(), errors.end());
  CHECK((errors[7] + errors[8]) / 2.0 < 20.0);
  CHECK(errors.back() < 35.0);
}

TEST_CASE("the orderings of the published steps hold", "[slow]") {
  // Twice the GPUs, in turns: measured 17 % less for DeepSeek-V3.
  const double once = step("nemorl06-deepseekv3-h100-256-onpolicy");
  const double twice = step("nemorl06-deepseekv3-h100-512-onpolicy");
  CHECK(twice < once);
  CHECK(twice > 0.75 * once);
  // One step off on as many GPUs beats turns where generation binds,
  CHECK(step("nemorl06-deepseekv3-h100-512-1stepoff") < 0.8 * twice);
  CHECK(step("nemorl06-deepseekv3-gb200-256-1stepoff") <
        0.8 * step("nemorl06-deepseekv3-gb200-256-onpolicy"));
  CHECK(step("nemorl06-qwen3235b-gb200-128-1stepoff") <
        step("nemorl06-qwen3235b-gb200-128-onpolicy"));
  // and loses where half of the GPUs have to train.
  CHECK(step("nemorl06-qwen330b3a-gb200-16-1stepoff") >
        step("nemorl06-qwen330b3a-gb200-16-onpolicy"));
}

TEST_CASE("steps of measurements are grouped and say what was assumed", "[slow]") {
  const Row& row = row_of("nemorl06-qwen330b3a-h100-192-8stepoff");
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::any_of(row.by.begin(), row.by.end(), [&](const auto& by) {
      return by.first == key && by.second.find(value) != std::string::npos;
    });
  };
  CHECK(has("group", "RL"));
  CHECK(has("source", "NeMo-RL"));
  CHECK(has("layout", "GPUs of each pool"));
}

}  // namespace rl_rows_test
