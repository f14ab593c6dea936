#include "flowplan/inference/number_formats.hpp"

#include <algorithm>

#include "step_fixture.hpp"

namespace flowplan::inference::number_formats_test {

TEST_CASE("a weight's bytes are its bits and its share of a scale") {
  CHECK(bytes_per_weight(WeightFormat::bf16) == 2.0);
  CHECK(bytes_per_weight(WeightFormat::nvfp4) == 0.5625);   // 4 bits, one byte for 16
  CHECK(bytes_per_weight(WeightFormat::mxfp4) == 0.53125);  // 4 bits, one byte for 32
  CHECK(bytes_per_weight(WeightFormat::fp8_block) == Approx(1.0 + 4.0 / 16384.0));
}

TEST_CASE("every format is found by its name") {
  for (const WeightFormat format : all_weight_formats())
    CHECK(find_weight_format(name(format)) == format);
  CHECK(find_weight_format("fp16") == WeightFormat::bf16);
  CHECK_FALSE(find_weight_format("fp5").has_value());
}

TEST_CASE("4-bit checkpoints of models with experts keep attention in 16 bits") {
  const auto experts = usual_formats(known_model("deepseek-v3"), WeightFormat::nvfp4);
  CHECK(experts.attention == WeightFormat::bf16);
  CHECK(experts.experts == WeightFormat::nvfp4);
  CHECK(experts.narrow_kv);
  const auto dense = usual_formats(known_model("llama3.1-70b"), WeightFormat::nvfp4);
  CHECK(dense.attention == WeightFormat::nvfp4);
  const auto oss = usual_formats(known_model("gpt-oss-120b"), WeightFormat::mxfp4);
  CHECK(oss.ffn == WeightFormat::bf16);
  CHECK(oss.experts == WeightFormat::mxfp4);
  CHECK_FALSE(usual_formats(known_model("llama3.1-8b"), WeightFormat::bf16).narrow_kv);
}

TEST_CASE("MXFP4 experts meet 16-bit activations on Hopper and 8-bit ones on Blackwell") {
  CHECK(experts_types(WeightFormat::mxfp4, catalog::GpuGeneration::hopper, false).front() ==
        "w4a16_mxfp4");
  CHECK(experts_types(WeightFormat::mxfp4, catalog::GpuGeneration::blackwell, false).front() ==
        "w4a8_mxfp4_mxfp8");
}

TEST_CASE("kernels of small batches are a choice beside the usual ones") {
  const auto blackwell = catalog::GpuGeneration::blackwell;
  CHECK(experts_types(WeightFormat::nvfp4, blackwell, true).size() == 2);
  CHECK(experts_types(WeightFormat::nvfp4, blackwell, false).size() == 1);
}

}  // namespace flowplan::inference::number_formats_test
