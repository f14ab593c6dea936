#include "../../src/export/yaml_text.hpp"

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <yaml-cpp/yaml.h>

namespace flowplan::exporting::yaml_text_test {

using Json = nlohmann::ordered_json;

TEST_CASE("strings that YAML would take for something else are quoted") {
  for (const char* text : {"8", "true", "no", "On", "null", "~", "", "1e5", "-0.5", ".5", "0x1f",
                           "12:30", "2026-01-01", "=", "1_000"})
    CHECK(yaml_text(Json{{"key", text}}) == "key: \"" + std::string(text) + "\"\n");
  CHECK(yaml_text(Json{{"key", "p5-[1-8]"}}) == "key: p5-[1-8]\n");
  CHECK(yaml_text(Json{{"key", 8}}) == "key: 8\n");
  CHECK(yaml_text(Json{{"key", true}}) == "key: true\n");
}

TEST_CASE("every string comes back as it was") {
  for (const char* text : {"a: b",   "# no comment", "- x", "*x",  "&x",    "{a}",     "[a]",
                           "a\nb\n", "@x",           "%x",  "'q'", "\"q\"", "a #b",    " lead",
                           "trail ", "a\\b",         "|",   ">",   "?",     "$(NAME)", "a,b"}) {
    const YAML::Node read = YAML::Load(yaml_text(Json{{"key", text}, {"list", {text, text}}}));
    CHECK(read["key"].as<std::string>() == text);
    CHECK(read["list"][1].as<std::string>() == text);
  }
}

TEST_CASE("order, nesting and empty values are kept") {
  const Json value{{"z", 1},
                   {"a", {{"list", {1, 2}}, {"none", Json::array()}, {"no", Json::object()}}}};
  const std::string text = yaml_text(value);
  CHECK(text.find("z:") < text.find("a:"));
  const YAML::Node read = YAML::Load(text);
  CHECK(read["a"]["list"].size() == 2);
  CHECK(read["a"]["none"].IsSequence());
  CHECK(read["a"]["no"].IsMap());
}

TEST_CASE("comments are whole lines and documents are apart") {
  const std::vector<Json> documents{{{"a", 1}}, {{"b", 2}}};
  CHECK(yaml_documents("one\ntwo", documents) == "# one\n# two\na: 1\n---\nb: 2\n");
}

}  // namespace flowplan::exporting::yaml_text_test
