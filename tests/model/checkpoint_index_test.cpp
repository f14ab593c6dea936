#include "flowplan/model/checkpoint_index.hpp"

#include <string>

#include <catch2/catch.hpp>
#include <fmt/format.h>

namespace flowplan::model::checkpoint_index_test {

namespace {

using Agreement = CheckpointCheck::Agreement;

// Two matrices of 100 x 64, and two layers of 4 x 64 x 64 + 3 x 64 x 256 + 2 x 64, and a norm.
constexpr int llama_parameters = 2 * 6400 + 2 * (16384 + 49152 + 128) + 64;

std::string llama(const std::string& more) {
  return R"({"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64,
             "intermediate_size": 256, "num_attention_heads": 4, "vocab_size": 100)" +
         more + "}";
}

std::string index(long long total_size, const std::string& names) {
  return fmt::format(R"({{"metadata": {{"total_size": {}}}, "weight_map": {{{}}}}})", total_size,
                     names);
}

const std::string two_layers = R"("model.layers.0.mlp.up_proj.weight": "a",
                                  "model.layers.1.mlp.up_proj.weight": "b")";

Result<CheckpointCheck> check(const std::string& config_text, const std::string& index_text) {
  const auto config = JsonDocument::parse(config_text, "config.json");
  REQUIRE(config.has_value());
  const auto document = JsonDocument::parse(index_text, "index.json");
  REQUIRE(document.has_value());
  const auto model = read_config(*config, "m");
  REQUIRE(model.has_value());
  return check_checkpoint(*model, *config, *document);
}

Diagnostics faults_of_index(const std::string& index_text) {
  const auto result = check(llama(""), index_text);
  REQUIRE_FALSE(result.has_value());
  return result.error();
}

const std::string bf16 = R"(, "torch_dtype": "bfloat16")";

}  // namespace

TEST_CASE("a checkpoint of the model's size agrees to the parameter") {
  const auto half = check(llama(bf16), index(2LL * llama_parameters, two_layers));
  REQUIRE(half.has_value());
  CHECK(half->agreement == Agreement::equal);
  CHECK(half->stored == llama_parameters);
  CHECK(half->counted == llama_parameters);
  CHECK_THAT(half->explanation, Catch::Contains("144,192 parameters, exactly"));

  const auto wide = check(llama(R"(, "dtype": "float32")"), index(4LL * llama_parameters, ""));
  CHECK(wide->agreement == Agreement::equal);
}

TEST_CASE("a checkpoint may differ by a percent before it is called different") {
  const auto differing_by = [](double share) {
    const auto parameters = static_cast<long long>(llama_parameters / (1.0 + share));
    return check(llama(bf16), index(2 * parameters, two_layers))->agreement;
  };
  CHECK(differing_by(0.009) == Agreement::close);
  CHECK(differing_by(-0.009) == Agreement::close);
  CHECK(differing_by(0.011) == Agreement::differs);
  CHECK(differing_by(-0.011) == Agreement::differs);
}

TEST_CASE("a checkpoint with other layers says so") {
  const auto result =
      check(llama(bf16), index(2LL * llama_parameters * 2, R"("model.layers.3.x.weight": "a")"));
  CHECK(result->agreement == Agreement::differs);
  CHECK_THAT(result->explanation, Catch::Contains("names 4 layers, the config 2"));
}

TEST_CASE("the count that an index states is taken before its bytes") {
  const auto result = check(llama(bf16), fmt::format(R"({{"metadata": {{"total_size": 1,
      "total_parameters": {}}}, "weight_map": {{}}}})",
                                                     llama_parameters));
  CHECK(result->agreement == Agreement::equal);
}

TEST_CASE("a tied output that is stored all the same counts") {
  const std::string tied = llama(bf16 + R"(, "tie_word_embeddings": true)");
  CHECK(check(tied, index(2LL * (llama_parameters - 6400), two_layers))->agreement ==
        Agreement::equal);
  CHECK(check(tied, index(2LL * llama_parameters, R"("lm_head.weight": "a")"))->agreement ==
        Agreement::equal);
}

TEST_CASE("prediction modules count where their layer is stored") {
  const std::string config = llama(bf16 + R"(, "num_nextn_predict_layers": 1)");
  CHECK(check(config, index(2LL * llama_parameters, two_layers))->agreement == Agreement::equal);
  // A layer, the projection 128 x 64, three norms, and its own embedding and output.
  constexpr long long module = 16384 + 49152 + 128 + 2 * 64 * 64 + 3 * 64 + 2 * 6400;
  const std::string names = R"("model.layers.2.embed_tokens.weight": "a",
                               "model.layers.2.shared_head.head.weight": "b")";
  CHECK(check(config, index(2 * (llama_parameters + module), names))->agreement ==
        Agreement::equal);
}

TEST_CASE("bytes of quantised weights do not count parameters") {
  const std::string stated = llama(bf16 + R"(, "quantization_config": {"quant_method": "fp8"})");
  const auto fp8 = check(stated, index(llama_parameters, two_layers));
  CHECK(fp8->agreement == Agreement::not_comparable);
  CHECK_THAT(fp8->explanation, Catch::Contains("fp8") && Catch::Contains("1 bytes each"));

  const auto named = check(
      llama(bf16), index(llama_parameters, R"("model.layers.0.q_proj.weight_scale_inv": "a")"));
  CHECK(named->agreement == Agreement::not_comparable);

  CHECK(check(stated, index(40, two_layers))->agreement == Agreement::differs);
  CHECK(check(stated, index(3LL * llama_parameters, two_layers))->agreement == Agreement::differs);
}

TEST_CASE("without an element type nothing is compared") {
  const auto unsaid = check(llama(""), index(2LL * llama_parameters, two_layers));
  CHECK(unsaid->agreement == Agreement::not_comparable);
  CHECK_THAT(unsaid->explanation, Catch::Contains("no `torch_dtype`"));
  const auto odd =
      check(llama(R"(, "torch_dtype": "int3")"), index(2LL * llama_parameters, two_layers));
  CHECK(odd->agreement == Agreement::not_comparable);
  CHECK_THAT(odd->explanation, Catch::Contains("int3"));
}

TEST_CASE("an index that is none is refused at its place") {
  const auto other = faults_of_index(R"({"model_type": "llama"})");
  REQUIRE(other.size() == 1);
  CHECK(other[0].code == Code::wrong_kind_of_file);
  CHECK(other[0].place.file == "index.json");
  CHECK(faults_of_index("[]")[0].code == Code::wrong_kind_of_file);

  const auto shapes = faults_of_index(R"({"metadata": 3, "weight_map": []})");
  REQUIRE(shapes.size() == 2);
  CHECK(shapes[0].place.pointer == "/metadata");
  CHECK(shapes[1].place.pointer == "/weight_map");
  CHECK(shapes[1].code == Code::wrong_type);

  CHECK(faults_of_index(R"({"metadata": {"total_size": 40}})")[0].code == Code::missing_key);
  CHECK(faults_of_index(R"({"metadata": {}, "weight_map": {}})")[0].code == Code::missing_key);
  const auto text = faults_of_index(R"({"metadata": {"total_size": "40"}, "weight_map": {}})");
  CHECK(text[0].code == Code::wrong_type);
  CHECK(text[0].place.pointer == "/metadata/total_size");
  const auto none = faults_of_index(R"({"metadata": {"total_size": 0}, "weight_map": {}})");
  CHECK(none[0].code == Code::value_out_of_range);
}

}  // namespace flowplan::model::checkpoint_index_test
