#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/validate.hpp"
#include "shipped_catalog.hpp"

namespace training_rows_test {

using namespace flowplan;
using namespace flowplan::accuracy;

namespace {

constexpr const char* header =
    "id,source,system,gpu,instance_or_cluster,gpus,model,layers,hidden,ffn,heads,kv_heads,vocab,"
    "seq_len,experts,framework,precision,tp,pp,vp,cp,sharding,micro_batch,global_batch,recompute,"
    "metric,value,unit,notes\n";

/// A row of Megatron-Bridge on 64 H100 with what a test changes.
struct Cells {
  std::string model = "LLAMA3_70B", experts, precision = "FP8 current scaling";
  std::string tp = "4", pp = "8", vp = "5", cp = "1", sharding = "distributed optimizer (ZeRO-1)";
  std::string micro_batch = "1", metric = "throughput", value = "1619", unit = "tokens/s/GPU";
  std::string notes;
};

Row predicted(const Cells& c) {
  const std::string line = "row,NVIDIA-NeMo/Megatron-Bridge docs,DGX-H100,H100,DGX H100,64," +
                           c.model + ",80,8192,28672,64,8,128256,8192," + c.experts +
                           ",Megatron-Bridge (NeMo 25.09)," + c.precision + "," + c.tp + "," +
                           c.pp + "," + c.vp + "," + c.cp + "," + c.sharding + "," + c.micro_batch +
                           ",128,not stated," + c.metric + "," + c.value + "," + c.unit + "," +
                           c.notes + "\n";
  const auto table = CsvTable::parse(header + line, "rows.csv");
  if (!table) FAIL(render(table.error()));
  const std::vector<Row> rows = training_rows(shipped_catalog(), *table);
  REQUIRE(rows.size() == 1);
  return rows.front();
}

std::string value_of(const Row& row, const std::string& key) {
  for (const auto& [k, v] : row.by) {
    if (k == key) return v;
  }
  return {};
}

}  // namespace

TEST_CASE("a row that states its layout is predicted in its own unit") {
  const Row row = predicted({});
  REQUIRE(row.predicted);
  CHECK(row.skipped.empty());
  CHECK(*row.predicted == Approx(1619).epsilon(0.15));
  CHECK(value_of(row, "source") == "Megatron-Bridge");
  CHECK(value_of(row, "origin") == "reference");
  CHECK(value_of(row, "layout") == "stated");
}

TEST_CASE("step time and throughput of one job say the same") {
  Cells cells;
  const Row rate = predicted(cells);
  cells.metric = "step_time";
  cells.unit = "s";
  const Row step = predicted(cells);
  REQUIRE((rate.predicted && step.predicted));
  // 128 sequences of 8192 tokens on 64 GPUs
  CHECK(*rate.predicted * 64.0 * *step.predicted == Approx(128.0 * 8192.0));
}

TEST_CASE("what does not state enough is skipped with its reason") {
  const auto reason = [](const Cells& cells) {
    const Row row = predicted(cells);
    CHECK_FALSE(row.predicted);
    return row.skipped;
  };
  Cells cells;
  cells.tp = "";
  CHECK(reason(cells) == "layout is not stated");
  cells = {};
  cells.micro_batch = "not stated";
  CHECK(reason(cells) == "micro-batch is not stated");
  cells = {};
  cells.metric = "time_to_train";
  CHECK(reason(cells).find("time to train") == 0);
  cells = {};
  cells.metric = "rl_step_time";
  CHECK(reason(cells) == "no post-training profile for its framework");
  cells = {};
  cells.precision = "INT4";
  CHECK(reason(cells) == "precision is not modelled: INT4");
  cells = {};
  cells.value = "0";
  CHECK(reason(cells) == "no measured value");
}

TEST_CASE("sharding, adapters, context parallelism and experts are read from a row") {
  const double plain = *predicted({}).predicted;
  Cells cells;
  cells.model = "LLAMA3-70B LoRA";
  CHECK(*predicted(cells).predicted > 1.15 * plain);  // no weight gradients
  CHECK(value_of(predicted(cells), "group") == "LoRA");
  cells = {};
  cells.tp = cells.pp = cells.vp = "1";
  cells.sharding = "FSDP64";
  CHECK(value_of(predicted(cells), "framework") == "megatron-fsdp");
  cells.sharding = "distributed optimizer (ZeRO-1)";
  cells.notes = "use_megatron_fsdp=True";
  CHECK(value_of(predicted(cells), "framework") == "megatron-fsdp");
  const double kept = *predicted(cells).predicted;
  cells.notes += "; cpu_offloading_num_layers=40; use_megatron_fsdp=True";
  CHECK(*predicted(cells).predicted < kept);  // its PCIe is slower than a layer of this size
  cells = {};
  cells.cp = "2";
  CHECK(*predicted(cells).predicted != plain);
  cells = {};
  cells.model = "Qwen3_30B_a3B";
  cells.experts = "128";
  cells.tp = cells.pp = cells.vp = "1";
  CHECK(value_of(predicted(cells), "group") == "experts");
}

TEST_CASE("a layout that contradicts itself is skipped with the estimate's diagnostic") {
  Cells cells;
  cells.tp = "3";
  const Row row = predicted(cells);
  CHECK_FALSE(row.predicted);
  CHECK(row.skipped.find("tp 3") != std::string::npos);
}

TEST_CASE("a virtual pipeline that is not stated is said to be assumed") {
  Cells cells;
  cells.vp = "";
  const Row row = predicted(cells);
  REQUIRE(row.predicted);
  CHECK(value_of(row, "layout") == "assumed: vp 1");
}

}  // namespace training_rows_test
