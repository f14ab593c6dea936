#include "flowplan/catalog/names.hpp"

#include <catch2/catch.hpp>

namespace flowplan::catalog::names_test {

TEST_CASE("case and punctuation do not matter in a name") {
  CHECK(name_key("Llama-3.1-70B") == "llama3170b");
  CHECK(name_key("llama3.1_70b") == "llama3170b");
  CHECK(name_key("--") == "");
}

TEST_CASE("publishers and variants do not matter in a model's name") {
  for (const char* name : {"meta-llama/Llama-3.1-70B", "Llama_3.1_70B_Instruct",
                           "org/llama-3.1-70b-instruct-hf", "Llama 3.1 70B Chat"}) {
    CHECK(model_name_key(name) == "llama3170b");
  }
  CHECK(model_name_key("Mixtral-8x7B-Instruct-v0.1") == "mixtral8x7b");
  CHECK(model_name_key("instruct") == "instruct");
}

TEST_CASE("an id wins over an alias and a later alias over an earlier one") {
  Names names("thing");
  names.add_id("a-1");
  names.add_id("b-1");
  names.add_alias("A1", {"b-1"});
  names.add_alias("x", {"a-1", "b-1"});
  CHECK(*names.resolve("a1") == "a-1");
  CHECK(names.resolve("x").error().front().code == Code::ambiguous_name);
  names.add_alias("X", {"b-1"});
  CHECK(*names.resolve("x") == "b-1");
  CHECK(names.resolve("zzz").error().front().code == Code::unknown_name);
}

}  // namespace flowplan::catalog::names_test
