#include "flowplan/catalog/constants.hpp"

#include "support.hpp"

namespace flowplan::catalog::constants_test {

TEST_CASE("a set finds its values by name and keeps the last of equals") {
  const Constants set(
      "id", "kind", {{"b", {2.0}, {}}, {"a", {1.0}, {}}, {"b", {3.0}, {}}, {"t", {1.0, 2.0}, {}}});
  CHECK(set.entries().size() == 3);
  CHECK(set.at("b") == 3.0);
  CHECK(set.at("a") == 1.0);
  CHECK(set.get("c", 7.0) == 7.0);
  CHECK(set.get("t", 7.0) == 7.0);
  CHECK(set.find("aa") == nullptr);
  CHECK(set.table("t").size() == 2);
  CHECK(set.table("none").empty());
}

TEST_CASE("a set inherits the figures of the one that it extends") {
  const auto catalog = with_overlay(R"({"sources": {"s": "x"}, "constants": [
    {"id": "base", "kind": "k", "figures": {"a": [1, "s"], "b": [2, "s"]}},
    {"id": "middle", "kind": "k", "extends": "base", "figures": {"b": [3, "s"]}},
    {"id": "top", "kind": "k", "extends": "middle", "figures": {"c": [4, "s"]}}]})");
  INFO((catalog ? std::string() : render(catalog.error())));
  REQUIRE(catalog.has_value());
  const Constants& top = **catalog->constants("top");
  CHECK(top.at("a") == 1);
  CHECK(top.at("b") == 3);
  CHECK(top.at("c") == 4);
}

TEST_CASE("an overlay of a set changes single figures, also for the sets that extend it") {
  const auto before = with_overlay(R"({"sources": {"s": "x"}, "constants": [
    {"id": "base", "kind": "k", "figures": {"a": [1, "s"], "b": [2, "s"]}},
    {"id": "top", "kind": "k", "extends": "base", "figures": {}}]})");
  REQUIRE(before.has_value());
  const TemporaryFolder folder;
  const auto after = Catalog::load(
      catalog_directory, {folder.write("a.json", R"({"sources": {"s": "x"}, "constants": [
         {"id": "base", "kind": "k", "figures": {"a": [1, "s"], "b": [2, "s"]}},
         {"id": "top", "kind": "k", "extends": "base", "figures": {}}]})"),
                          folder.write("b.json", R"({"sources": {"m": "mine"}, "constants": [
         {"id": "base", "figures": {"a": [9, "m"]}}]})")});
  REQUIRE(after.has_value());
  CHECK((*before->constants("top"))->at("a") == 1);
  CHECK((*after->constants("top"))->at("a") == 9);
  CHECK((*after->constants("top"))->at("b") == 2);
}

TEST_CASE("a set tells what it extends and which figures it states itself") {
  const auto catalog = with_overlay(R"({"sources": {"s": "x"}, "constants": [
    {"id": "base", "kind": "k", "figures": {"a": [1, "s"]}},
    {"id": "middle", "kind": "k", "extends": "base", "figures": {"b": [2, "s"]}},
    {"id": "top", "kind": "k", "extends": "middle", "figures": {"c": [3, "s"], "a": [4, "s"]}}]})");
  REQUIRE(catalog.has_value());
  const auto lineage = catalog->lineage("top");
  REQUIRE(lineage.has_value());
  CHECK(lineage->bases == std::vector<std::string>{"middle", "base"});
  CHECK(lineage->own == std::vector<std::string>{"c", "a"});
  CHECK(catalog->lineage("nothing").error().front().code == Code::unknown_name);
}

TEST_CASE("extending nothing, itself or another kind is refused") {
  const auto refused = [](const std::string& sets, const char* message) {
    const auto catalog = with_overlay(R"({"sources": {"s": "x"}, "constants": [)" + sets + "]}");
    REQUIRE_FALSE(catalog.has_value());
    CHECK_THAT(render(catalog.error()), Catch::Contains(message));
  };
  refused(R"({"id": "a1", "kind": "k", "extends": "kernels-h10", "figures": {}})",
          "unknown set `kernels-h10`");
  refused(R"({"id": "a1", "kind": "k", "extends": "a2", "figures": {}},
             {"id": "a2", "kind": "k", "extends": "a1", "figures": {}})",
          "extends itself");
  refused(R"({"id": "a1", "kind": "k", "figures": {}},
             {"id": "a2", "kind": "other", "extends": "a1", "figures": {}})",
          "of kind");
}

TEST_CASE("names that a kind's schema requires or does not know are reported") {
  const TemporaryFolder folder;
  const auto copy = folder.path() / "catalogs";
  std::filesystem::copy(catalog_directory, copy, std::filesystem::copy_options::recursive);
  REQUIRE(write_text((copy / "schema" / "constants-probe.schema.json").string(),
                     R"({"properties": {"figures": {"additionalProperties": false,
                         "required": ["a_us"], "properties": {"b_us": {}}}}})")
              .has_value());
  const auto load = [&](const std::string& figures) {
    return Catalog::load(copy.string(),
                         {folder.write("overlay.json", R"({"sources": {"s": "x"}, "constants": [
                           {"id": "p1", "kind": "probe", "figures": {)" +
                                                           figures + "}}]}")});
  };
  CHECK(load(R"("a_us": [1, "s"], "b_us": [2, "s"])").has_value());
  const auto lacking = load(R"("b_us": [2, "s"])");
  REQUIRE_FALSE(lacking.has_value());
  CHECK_THAT(lacking.error().front().message, Catch::Contains("`a_us`"));
  const auto unknown = load(R"("a_us": [1, "s"], "b_ms": [2, "s"])");
  REQUIRE_FALSE(unknown.has_value());
  CHECK_THAT(unknown.error().front().message, Catch::Contains("`b_ms`"));
  CHECK_THAT(unknown.error().front().hint, Catch::Contains("b_us"));
}

TEST_CASE("a file of constants is read when its set is asked for, and its faults are said then") {
  const TemporaryFolder folder;
  const auto copy = folder.path() / "catalogs";
  std::filesystem::copy(catalog_directory, copy, std::filesystem::copy_options::recursive);
  const auto put = [&](const char* id, const std::string& rest) {
    REQUIRE(write_text((copy / "constants" / (std::string(id) + ".json")).string(),
                       std::string(R"({"id": ")") + id + R"(", "kind": "k", )" + rest));
  };
  put("bad", R"("sources": {"s": "x"}, "figures": {"a_us": ["fast", "s"]}})");
  put("cut", R"("figures": {"a_us": [1)");
  put("heir", R"("sources": {"s": "x"}, "extends": "bad", "figures": {"b_us": [1, "s"]}})");
  put("sound", R"("sources": {"s": "x"}, "figures": {"a_us": [1, "s"]}})");
  const auto catalog = Catalog::load(copy.string());
  REQUIRE(catalog);
  CHECK(catalog->constants_ids("k") == std::vector<std::string>{"bad", "cut", "heir", "sound"});
  CHECK((*catalog->constants("sound"))->at("a_us") == 1.0);
  CHECK(*catalog->constants("sound") == *catalog->constants("sound"));
  for (int asked = 0; asked < 2; ++asked) {
    CHECK(catalog->constants("cut").error().front().code == Code::json_syntax);
    CHECK(catalog->constants("bad").error().front().code == Code::catalog_invalid);
    const auto heir = catalog->constants("heir");
    CHECK_THAT(heir.error().front().place.file, Catch::Contains("bad.json"));
  }
  CHECK(catalog->all_constants().error().size() == 3);
}

TEST_CASE("what is wrong before the figures of a file of constants is said at once") {
  const TemporaryFolder folder;
  const auto copy = folder.path() / "catalogs";
  std::filesystem::copy(catalog_directory, copy, std::filesystem::copy_options::recursive);
  const auto refused = [&](const std::string& text) {
    REQUIRE(write_text((copy / "constants" / "odd.json").string(), text));
    const auto catalog = Catalog::load(copy.string());
    return catalog ? std::string() : render(catalog.error());
  };
  CHECK_THAT(refused(R"({"id": "other", "kind": "k", "figures": {}})"),
             Catch::Contains("named after its id"));
  CHECK_THAT(refused(R"({"id": "odd", "figures": {}})"), Catch::Contains("`kind` is missing"));
  CHECK_THAT(refused(R"({"id": "odd", "kind")"), Catch::Contains("FP010"));
  CHECK_THAT(refused(R"({"id": "odd", "kind": "k"})"), Catch::Contains("`figures` is missing"));
  // Figures before the head are in order, only slower.
  CHECK(refused(R"({"sources": {"s": "x"}, "figures": {"a": [1, "s"]}, "id": "odd", "kind": "k"})")
            .empty());
}

TEST_CASE("values that are not numbers are refused with their place") {
  const auto catalog = with_overlay(R"({"sources": {"s": "x"}, "constants": [
    {"id": "a1", "kind": "k", "figures": {
      "good": [1, "s"],
      "bad": ["fast", "s"]}}]})");
  REQUIRE_FALSE(catalog.has_value());
  CHECK(catalog.error().front().place.line == 4);
}

}  // namespace flowplan::catalog::constants_test
