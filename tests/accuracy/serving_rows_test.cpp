#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/validate.hpp"
#include "shipped_catalog.hpp"

namespace flowplan::accuracy::serving_rows_test {

namespace {

const Report& report_of(const std::string& file) {
  static std::map<std::string, Report> known;
  const auto found = known.find(file);
  if (found != known.end()) return found->second;
  auto report = validate(shipped_catalog(), FLOWPLAN_SOURCE_DIR "/tests/accuracy/" + file);
  if (!report) FAIL(render(report.error()));
  return known.emplace(file, std::move(*report)).first->second;
}

Score of_part(const Report& report, const std::string& part) {
  for (const Report::Group& group : report.groups) {
    if (group.by.front() == std::make_pair(std::string("part"), part)) return group.score;
  }
  FAIL("no part " << part);
  return {};
}

CsvTable table_of(const std::string& text) {
  auto table = CsvTable::parse(text, "rows.csv");
  if (!table) FAIL(render(table.error()));
  return std::move(*table);
}

const std::string latency_header =
    "id,origin,engine,model,gpu,precision,gemm_quant,mode,isl,osl,concurrency,batch_size,gpus,tp,"
    "pp,dp,ep,parallel_notes,ttft_ms,tpot_ms,source\n";

}  // namespace

TEST_CASE("closed-loop points are within the targets, aggregated and disaggregated apart",
          "[slow]") {
  const Report& report = report_of("serving-latency.csv");
  const Score tpot = of_part(report, "aggregated tpot");
  CHECK(tpot.n > 150);
  CHECK(tpot.median_ape <= 9.0);
  CHECK(tpot.p90_ape <= 27.0);
  CHECK(of_part(report, "aggregated ttft").median_ape <= 18.0);
  CHECK(of_part(report, "disaggregated tpot").median_ape <= 15.0);
  CHECK(static_cast<double>(report.predicted) >= 0.85 * static_cast<double>(report.rows));
}

TEST_CASE("a closed-loop point is one row with two figures") {
  const Report& report = report_of("serving-latency.csv");
  CHECK(report.details.size() == 2 * report.rows);
  CHECK(report.predicted <= report.rows);
  std::size_t counted = report.predicted;
  for (const auto& [reason, count] : report.skipped)
    counted += count;
  CHECK(counted == report.rows);
}

TEST_CASE("throughput tables are within the targets, dense models and experts apart", "[slow]") {
  const Report& report = report_of("serving-throughput.csv");
  CHECK(report.overall.median_ape <= 12.0);
  CHECK(of_part(report, "dense").median_ape <= 12.0);
  CHECK(of_part(report, "experts").median_ape <= 25.0);
}

TEST_CASE("open-loop runs are within the targets and none saturates that did not") {
  const Report& report = report_of("serving-runs.csv");
  CHECK(of_part(report, "e2e_mean").median_ape <= 10.0);
  CHECK(of_part(report, "tpot_mean").median_ape <= 10.0);
  CHECK(of_part(report, "ttft_mean").median_ape <= 18.0);
  for (const Row& row : report.details) {
    if (row.metric != "requests_per_s" || !row.predicted) continue;
    INFO(row.id);
    CHECK(row.ape() <= 10.0);
  }
}

TEST_CASE("every row is predicted or says why not") {
  for (const char* file : {"serving-latency.csv", "serving-throughput.csv", "serving-runs.csv"}) {
    for (const Row& row : report_of(file).details) {
      INFO(file << " " << row.id << " " << row.metric);
      CHECK(row.predicted.has_value() == row.skipped.empty());
      if (row.predicted) CHECK(*row.predicted > 0.0);
    }
  }
}

TEST_CASE("attention TP is what attention DP leaves of the GPUs, whatever the tp column prints") {
  // One deployment as two engines' tables print it.
  const std::string same =
      ",InferenceX,vllm,MiniMaxAI/MiniMax-M2.5,B200,fp8,fp8,agg,1024,1024,64,32,4,";
  const auto rows = serving_latency_rows(
      shipped_catalog(), table_of(latency_header + "a" + same + "2,1,2,4,moe_tp=1,100,10,x\nb" +
                                  same + "4,1,2,4,moe_tp=1,100,10,x\n"));
  REQUIRE(rows.size() == 4);
  REQUIRE(rows[1].predicted);
  CHECK(*rows[1].predicted == *rows[3].predicted);
}

TEST_CASE("a row without precision, lengths or concurrency is skipped, not guessed") {
  const std::string head = ",x,vllm,Qwen/Qwen3-32B,H100,";
  const auto rows = serving_latency_rows(
      shipped_catalog(),
      table_of(latency_header + "a" + head + ",,agg,1024,1024,16,16,1,1,1,1,1,,100,10,x\nb" + head +
               "fp8,fp8,agg,,1024,16,16,1,1,1,1,1,,100,10,x\nc" + head +
               "fp8,fp8,agg,1024,1024,,16,1,1,1,1,1,,100,10,x\nd,x,vllm,Who/Knows-1T,H100,fp8,fp8,"
               "agg,1024,1024,16,16,1,1,1,1,1,,100,10,x\n"));
  REQUIRE(rows.size() == 8);
  CHECK(rows[0].skipped == "precision not stated");
  CHECK(rows[2].skipped == "lengths not stated");
  CHECK(rows[4].skipped == "concurrency not stated");
  CHECK(rows[6].skipped == "model unknown: Who/Knows-1T");
}

}  // namespace flowplan::accuracy::serving_rows_test
