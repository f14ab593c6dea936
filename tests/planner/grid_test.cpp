#include "flowplan/planner/grid.hpp"

#include <catch2/catch.hpp>

namespace flowplan::planner::grid_test {

namespace {

using Texts = std::vector<std::string>;

Texts values(std::string_view text) {
  const auto axis = parse_axis(text);
  if (!axis) FAIL(render(axis.error()));
  return axis->values;
}

Result<Grid> grid_of(const std::string& scenario, const Texts& typed = {}) {
  return read_grid(JsonDocument::parse(scenario, "s.json").value(), typed);
}

}  // namespace

TEST_CASE("an axis is a list, a range of steps or a range of factors") {
  CHECK(values("a.b=1,2,4") == Texts{"1", "2", "4"});
  CHECK(values("a=16:64:16") == Texts{"16", "32", "48", "64"});
  CHECK(values("a=1:3") == Texts{"1", "2", "3"});
  CHECK(values("a=8:64:x2") == Texts{"8", "16", "32", "64"});
  CHECK(values("a=5:9:3") == Texts{"5", "8"});  // the end need not be met
  CHECK(values("a=0.1:0.3:0.1").size() == 3);   // 0.1 + 2 x 0.1 rounds above 0.3
  CHECK(values("a=1:10:x1.5").front() == "1");
  CHECK(values("a=-2:0:1") == Texts{"-2", "-1", "0"});
}

TEST_CASE("values that are not JSON are texts") {
  CHECK(values("c=p5.48xlarge,p6-b200.48xlarge") ==
        Texts{"\"p5.48xlarge\"", "\"p6-b200.48xlarge\""});
  CHECK(values("c=true,none") == Texts{"true", "\"none\""});
  CHECK(values(R"(c=["a,b", 3])") == Texts{"\"a,b\"", "3"});
  CHECK(values("c=a:b") == Texts{"\"a:b\""});  // no range
}

TEST_CASE("axes that mean nothing are refused") {
  for (const char* text : {"", "a", "=1", "a=", "a=1,,2", "a=3:1", "a=1:x", "a=1:4:0", "a=1:4:-1",
                           "a=1:4:x1", "a=0:4:x2", "a=[", "a=[]", "a=1:1e9:1"}) {
    CAPTURE(text);
    const auto axis = parse_axis(text);
    REQUIRE_FALSE(axis);
    CHECK(axis.error().front().code == Code::usage);
    CHECK_FALSE(axis.error().front().hint.empty());
  }
}

TEST_CASE("points count through all combinations, the last axis fastest") {
  const auto grid = grid_of("{}", {"a=1,2", "b=x,y,z"});
  REQUIRE(grid);
  CHECK(grid->points() == 6);
  CHECK(grid->overrides(0) == Texts{"a=1", "b=\"x\""});
  CHECK(grid->overrides(1) == Texts{"a=1", "b=\"y\""});
  CHECK(grid->overrides(5) == Texts{"a=2", "b=\"z\""});
  CHECK(Grid{}.points() == 1);
}

TEST_CASE("what is typed replaces the scenario's axis of that path, and is added else") {
  const std::string text =
      R"({"sweep": {"vary": {"cluster.count": "8:32:x2", "workload.micro_batch": [1, 2]}}})";
  const auto grid = grid_of(text, {"workload.micro_batch=4", "workload.seq_len=4096"});
  REQUIRE(grid);
  REQUIRE(grid->axes.size() == 3);
  CHECK(grid->axes[0].values == Texts{"8", "16", "32"});
  CHECK(grid->axes[1].values == Texts{"4"});
  CHECK(grid->axes[2].path == "workload.seq_len");
}

TEST_CASE("all that is wrong with a grid is told at once") {
  const auto grid = grid_of(R"({"sweep": {"vary": {"a": "4:1"}}})", {"b"});
  REQUIRE_FALSE(grid);
  REQUIRE(grid.error().size() == 2);
  CHECK(grid.error()[0].code == Code::bad_quantity);
  CHECK(grid.error()[0].place.line == 1);
  CHECK(grid.error()[1].code == Code::usage);
  CHECK_FALSE(grid_of("{}", {"a=1:1000000", "b=1:1000000"}));
}

}  // namespace flowplan::planner::grid_test
