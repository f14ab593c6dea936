#include "flowplan/base/json_document.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

namespace json_document_test {

using namespace flowplan;

namespace {

Diagnostics faults(std::string text, const JsonLimits& limits = {}) {
  auto document = JsonDocument::parse(std::move(text), "t.json", limits);
  REQUIRE_FALSE(document);
  return document.error();
}

}  // namespace

TEST_CASE("every value knows its line and column") {
  const auto document = JsonDocument::parse(
      "{\n  \"a\": 1, // one\n  /* two */ \"b\": [true,\n    {\"c/d\": \"x\\\"y\"}]\n}\n",
      "t.json");
  REQUIRE(document);
  const auto at = [&](const char* pointer) {
    const Place place = document->place(pointer);
    return std::pair(place.line, place.column);
  };
  CHECK(at("") == std::pair(1, 1));
  CHECK(at("/a") == std::pair(2, 8));
  CHECK(at("/b") == std::pair(3, 18));
  CHECK(at("/b/0") == std::pair(3, 19));
  CHECK(at("/b/1") == std::pair(4, 5));
  CHECK(at("/b/1/c~1d") == std::pair(4, 13));
  CHECK(document->key_place("/b").column == 13);
  CHECK(document->place("/b").source_line == "  /* two */ \"b\": [true,");
}

TEST_CASE("the place of a missing value is that of its nearest ancestor") {
  const auto document = JsonDocument::parse("{\n \"a\": {\n}}", "t.json");
  REQUIRE(document);
  CHECK(document->place("/a/b/c").line == 2);
  CHECK(document->place("/a/b/c").pointer == "/a/b/c");
}

TEST_CASE("values and their order survive reading") {
  const auto document = JsonDocument::parse(R"({"z":1,"a":[1.5,-2,"s",null,false],"m":{}})", "t");
  REQUIRE(document);
  CHECK(document->root().dump() == R"({"z":1,"a":[1.5,-2,"s",null,false],"m":{}})");
}

TEST_CASE("broken JSON is refused at the place where it breaks") {
  const Diagnostics found = faults("{\n  \"a\": 1,\n  \"b\" 2\n}");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == Code::json_syntax);
  CHECK(found[0].place.line == 3);
  CHECK(faults("").at(0).code == Code::json_syntax);
  CHECK(faults("{} x").at(0).code == Code::json_syntax);
  CHECK(faults("[1e999]").at(0).code == Code::json_syntax);
  CHECK(faults("{\"a\": \"\xff\"}").at(0).code == Code::json_syntax);
}

TEST_CASE("all duplicate keys are named, each at its second place") {
  const Diagnostics found = faults("{\"a\": 1,\n \"a\": 2, \"b\": {\"c\": 1,\n \"c\": 2}}");
  REQUIRE(found.size() == 2);
  CHECK(found[0].code == Code::json_duplicate_key);
  CHECK(found[0].place.pointer == "/b/c");
  CHECK(found[0].place.line == 3);
  CHECK(found[1].place.pointer == "/a");
  CHECK(found[1].place.line == 2);
}

TEST_CASE("nesting is allowed to 64 levels and refused beyond") {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(JsonDocument::parse(nested(64), "t"));
  CHECK(faults(nested(65)).at(0).code == Code::json_too_deep);
  CHECK(faults("[\"[[\", // [[\n" + nested(64) + "]").at(0).place.line == 2);
  CHECK(faults("[\"[[\", // [[\n" + nested(64) + "]").at(0).place.column == 64);
  CHECK(faults(nested(100'000)).at(0).code == Code::json_too_deep);
  CHECK(faults(std::string(100'000, '[')).at(0).code == Code::json_too_deep);
}

TEST_CASE("a text over the size limit is refused") {
  JsonLimits limits;
  limits.max_bytes = 10;
  CHECK(JsonDocument::parse("[1,2,3]", "t", limits));
  CHECK(faults("[1,2,3,4,5]", limits).at(0).code == Code::file_too_large);
}

TEST_CASE("a missing file is named with its nearest neighbour") {
  const auto document = JsonDocument::read(FLOWPLAN_SOURCE_DIR "/CMakePreset.json");
  REQUIRE_FALSE(document);
  CHECK(document.error().at(0).code == Code::file_not_found);
  CHECK(document.error().at(0).hint.find("CMakePresets.json") != std::string::npos);
}

TEST_CASE("replacing the value keeps the places of the text") {
  const auto document = JsonDocument::parse("{\n\"a\": 1}", "t");
  REQUIRE(document);
  nlohmann::ordered_json root = document->root();
  root["b"] = 2;
  const JsonDocument changed = document->with(root);
  CHECK(changed.root().at("b") == 2);
  CHECK(changed.place("/a").line == 2);
  CHECK(changed.place("/b").line == 1);
}

}  // namespace json_document_test
