#include "flowplan/base/json_schema.hpp"

#include <catch2/catch.hpp>

namespace json_schema_test {

using namespace flowplan;

namespace {

Diagnostics check(const char* text) {
  static const char* const schema = R"({
    "type": "object", "required": ["name"], "additionalProperties": false,
    "properties": {
      "name": {"type": "string", "minLength": 1},
      "nodes": {"type": "integer", "minimum": 1, "maximum": 1000, "description": "EC2 instances"},
      "mode": {"enum": ["spray", "ecmp"]},
      "tokens": {"type": ["number", "string"]},
      "share": {"type": "number", "exclusiveMinimum": 0},
      "list": {"type": "array", "minItems": 1, "items": {"$ref": "#/definitions/item"}}
    },
    "definitions": {"item": {"type": "object", "additionalProperties": false,
                             "properties": {"gpu": {"type": "string"}}}}
  })";
  const auto document = JsonDocument::parse(text, "s.json");
  const auto rules = JsonDocument::parse(schema, "schema.json");
  REQUIRE(document);
  REQUIRE(rules);
  return validate(*document, *rules);
}

}  // namespace

TEST_CASE("a valid document has no faults") {
  CHECK(check(R"({"name": "x", "nodes": 4, "mode": "spray", "tokens": "15T", "list": [{}]})")
            .empty());
}

TEST_CASE("an unknown key names the nearest known one at the key's place") {
  const Diagnostics found = check("{\"name\": \"x\",\n  \"node\": 4}");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == Code::unknown_key);
  CHECK(found[0].place.line == 2);
  CHECK(found[0].place.column == 3);
  CHECK(found[0].hint == "did you mean `nodes`?");
}

TEST_CASE("a wrong type says what was expected and what was found") {
  const Diagnostics found = check(R"({"name": "x", "nodes": "four"})");
  REQUIRE(found.size() == 1);
  CHECK(found[0].code == Code::wrong_type);
  CHECK(found[0].message == "expected integer, found \"four\"");
  CHECK(found[0].place.pointer == "/nodes");
}

TEST_CASE("numbers out of range, values not allowed and missing keys are told apart") {
  CHECK(check(R"({"name": "x", "nodes": 0})").at(0).code == Code::value_out_of_range);
  CHECK(check(R"({"name": "x", "nodes": 1001})").at(0).code == Code::value_out_of_range);
  CHECK(check(R"({"name": "x", "share": 0})").at(0).code == Code::value_out_of_range);
  CHECK(check(R"({"name": "", "share": 1})").at(0).code == Code::value_out_of_range);
  CHECK(check(R"({"name": "x", "list": []})").at(0).code == Code::value_out_of_range);
  CHECK(check(R"({"name": "x", "mode": "sprai"})").at(0).hint ==
        "did you mean `spray`? allowed: spray, ecmp");
  const Diagnostics missing = check("{}");
  REQUIRE(missing.size() == 1);
  CHECK(missing[0].code == Code::missing_key);
}

TEST_CASE("all faults of a document come at once, in the order of the text") {
  const Diagnostics found =
      check("{\"nodes\": -1,\n\"mode\": \"x\",\n\"list\": [{\"gpu\": 1}, {\"gpus\": \"a\"}]}");
  REQUIRE(found.size() == 5);
  CHECK(found[0].code == Code::missing_key);
  CHECK(found[1].place.pointer == "/nodes");
  CHECK(found[2].place.pointer == "/mode");
  CHECK(found[3].place.pointer == "/list/0/gpu");
  CHECK(found[4].code == Code::unknown_key);
  CHECK(found[4].place.pointer == "/list/1/gpus");
}

}  // namespace json_schema_test
