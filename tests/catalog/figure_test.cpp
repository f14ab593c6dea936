#include "flowplan/catalog/figure.hpp"

#include <string>

#include <catch2/catch.hpp>

namespace flowplan::catalog::figure_test {

TEST_CASE("a figure's name carries its unit") {
  const auto unit = [](const char* name) { return std::string(unit_of(name)); };
  CHECK(unit("efa_gbps_total") == "Gbit/s");
  CHECK(unit("efa_gbytes_per_s_per_gpu") == "GB/s");
  CHECK(unit("nvlink_gbytes_per_s_per_direction") == "GB/s");
  CHECK(unit("gpu.dense_tflops.bf16") == "TFLOP/s");
  CHECK(unit("dense_tops.int8") == "TOP/s");
  CHECK(unit("hbm_reported_mib_per_gpu") == "MiB");
  CHECK(unit("hbm_gb") == "GB");
  CHECK(unit("tdp_w") == "W");
  CHECK(unit("price.on_demand_usd_per_hour") == "USD/h");
  CHECK(unit("nvme_read_iops_4k") == "IOPS");
  CHECK(unit("kv_bytes_per_token_bf16") == "B/token");
  CHECK(unit("nccl_plugin_latency_us") == "us");
  CHECK(unit("gpus") == "");
  CHECK(unit("nvlink_links") == "");
  CHECK(unit("vcpus") == "");
  CHECK(unit("") == "");
}

TEST_CASE("a fact that is not listed is not known") {
  const std::vector<Fact> facts{{"a", {1.0, true, {}}, "", false}};
  CHECK(figure_of(facts, "a").value == 1.0);
  CHECK_FALSE(figure_of(facts, "b").known);
  CHECK(find(facts, "b") == nullptr);
}

}  // namespace flowplan::catalog::figure_test
