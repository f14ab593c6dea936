#include <string>
#include <utility>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "shipped_catalog.hpp"

namespace kernel_rows_test {

using namespace flowplan;
using namespace flowplan::accuracy;

namespace {

CsvTable parsed(const std::string& text) {
  auto table = CsvTable::parse(text, "kernels.csv");
  if (!table) FAIL(render(table.error()));
  return std::move(*table);
}

}  // namespace

// Rows of ai-dynamo/aiconfigurator 095f58a (Apache-2.0, NVIDIA).
TEST_CASE("GEMM rows are predicted by their type; what has no table says so") {
  const auto rows =
      gemm_rows(shipped_catalog(), parsed("gpu,gemm_dtype,m,n,k,latency\n"
                                          "A100-80GB,int8_wo,384,1024,1024,0.01740800030529499\n"
                                          "A100-80GB,fp8,384,1024,1024,0.0174\n"
                                          "L40S,bfloat16,384,1024,1024,0.0174\n"
                                          "H100,bfloat16,,1024,1024,0.0174\n"));
  REQUIRE(rows.size() == 4);
  REQUIRE(rows[0].predicted);
  CHECK(rows[0].ape() < 30.0);
  CHECK(rows[1].skipped == "no table of type fp8 on A100-80GB");
  CHECK(rows[2].skipped == "no kernel tables for its GPU");
  CHECK(rows[3].skipped == "sizes are not stated");
}

TEST_CASE("attention rows are prefill or decode by their step") {
  const std::string header =
      "gpu,batch_size,isl,num_heads,num_key_value_heads,head_dim,window_size,attn_dtype,"
      "kv_cache_dtype,step,latency\n";
  const auto rows = attention_rows(
      shipped_catalog(),
      parsed(header + "A100-80GB,4,10240,8,4,128,0,bfloat16,bfloat16,0,6.080511728922526\n"
                      "A100-80GB,1,1,8,8,128,0,bfloat16,bfloat16,15,0.011264000087976456\n"));
  REQUIRE((rows[0].predicted && rows[1].predicted));
  CHECK(rows[0].ape() < 15.0);
  CHECK(rows[1].ape() < 40.0);
  CHECK(rows[0].by.back().second == "prefill bf16");
  CHECK(rows[1].by.back().second == "decode bf16");
}

TEST_CASE("expert and latent attention rows are predicted") {
  const auto experts = experts_rows(
      shipped_catalog(),
      parsed("gpu,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
             "moe_tp_size,moe_ep_size,distribution,latency\n"
             "A100-80GB,moe_torch_flow,bfloat16,2048,6144,2560,8,160,4,8,power_law_1.2,"
             "1.0489855766296388\n"));
  REQUIRE(experts[0].predicted);
  CHECK(experts[0].ape() < 40.0);
  const auto latent =
      latent_rows(shipped_catalog(),
                  parsed("gpu,mla_dtype,kv_cache_dtype,num_heads,batch_size,isl,step,latency\n"
                         "A100-80GB,bfloat16,fp8,16,32,256,0,0.19165867567062378\n"
                         "A100-80GB,bfloat16,fp8,8,256,1,1023,0.4775253136952718\n"));
  REQUIRE((latent[0].predicted && latent[1].predicted));
  CHECK(latent[0].ape() < 30.0);
  CHECK(latent[1].ape() < 40.0);
}

}  // namespace kernel_rows_test
