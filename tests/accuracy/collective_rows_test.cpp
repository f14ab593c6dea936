#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "flowplan/accuracy/validate.hpp"
#include "flowplan/base/csv_table.hpp"
#include "shipped_catalog.hpp"

namespace collective_rows_test {

using namespace flowplan;
using accuracy::Row;

namespace {

std::string field(const Row& row, std::string_view key) {
  for (const auto& [name, value] : row.by) {
    if (name == key) return value;
  }
  return {};
}

constexpr const char* header =
    "id,collective,gpu,instance_or_system,nodes,gpus,fabric,size_bytes,time_us,algbw_GBps,"
    "busbw_GBps,nccl_version,algo_proto_if_known,source,notes\n";

Row only_row(const std::string& line) {
  const auto table = CsvTable::parse(header + line + "\n", "rows.csv");
  REQUIRE(table);
  const std::vector<Row> rows = accuracy::collective_rows(accuracy::shipped_catalog(), *table);
  REQUIRE(rows.size() == 1);
  return rows.front();
}

const std::vector<Row>& public_rows() {
  static const std::vector<Row> rows = [] {
    const auto table = CsvTable::read(FLOWPLAN_SOURCE_DIR "/tests/accuracy/collectives.csv");
    if (!table) FAIL(render(table.error()));
    return accuracy::collective_rows(accuracy::shipped_catalog(), *table);
  }();
  return rows;
}

double median_of_group(const std::string& group, std::size_t least_rows) {
  std::vector<const Row*> rows;
  for (const Row& row : public_rows()) {
    if (row.predicted && field(row, "group") == group) rows.push_back(&row);
  }
  REQUIRE(rows.size() >= least_rows);
  return accuracy::score(rows).median_ape;
}

}  // namespace

TEST_CASE("every public collective row of this release is predicted") {
  for (const Row& row : public_rows()) {
    CAPTURE(row.id, row.skipped);
    REQUIRE(row.predicted);
    CHECK(*row.predicted > 0.0);
    CHECK(row.measured > 0.0);
    CHECK_FALSE(field(row, "source").empty());
    CHECK_FALSE(field(row, "group").empty());
  }
}

TEST_CASE("no row's prediction beats the links it goes over") {
  double most = 0.0;
  for (const Row& row : public_rows()) {
    CAPTURE(row.id, row.metric);
    REQUIRE(row.link_share);
    CHECK(*row.link_share > 0.0);
    CHECK(*row.link_share <= 1.0);
    most = std::max(most, *row.link_share);
  }
  CHECK(most > 0.95);  // reached: 0.982
}

TEST_CASE("the share of a link that a prediction takes is bytes over time and line rate") {
  // A ring over two P5 nodes moves 2 x 15/16 of 8 GiB over each node's 400 GB/s of NICs, LL128 and
  // Simple alike a little more; NVLS tree S (g+1)/g = 9/8 of it over a port of 450 GB/s.
  const Row ring = only_row(
      "a,all_reduce,H100,p5.48xlarge,2,16,EFA,8589934592,46621,184,357,2.28.7,RING forced,s,");
  REQUIRE(ring.predicted);
  CHECK(*ring.link_share ==
        Approx(2.0 * 15.0 / 16.0 * 8589934592.0 / 400e9 / (*ring.predicted * 1e-6)));
  const Row tree =
      only_row("a,all_reduce,H100,p5.48xlarge,2,16,EFA,8589934592,46621,184,357,2.28.7,,s,");
  CHECK(*tree.link_share == Approx(9.0 / 8.0 * 8589934592.0 / 450e9 / (*tree.predicted * 1e-6)));
}

TEST_CASE("medians of the groups stay where they were reached") {
  // Reached: 0.8, 2.7, 3.8, 3.6 and 3.0 %.
  const std::string main = "P5 and P6 multi-node all_reduce and all_gather, ";
  CHECK(median_of_group(main + ">= 1 GiB", 36) < 1.5);
  CHECK(median_of_group(main + "1 MiB to 1 GiB", 45) < 3.5);
  CHECK(median_of_group(main + "< 1 MiB", 20) < 5.0);
  CHECK(median_of_group("one node, >= 1 MiB", 250) < 5.0);
  CHECK(median_of_group("one node, < 1 MiB", 200) < 5.0);
}

TEST_CASE("a row with a time is scored by it, one without by its bus bandwidth") {
  const Row time =
      only_row("a,all_reduce,H100,p5.48xlarge,4,32,EFA,8589934592,46621,184,357,2.28.7,,s,");
  CHECK(time.metric == "time_us");
  CHECK(time.measured == 46621);
  CHECK(field(time, "origin") == "ec2");
  const Row bandwidth =
      only_row("a,all_reduce,H100,p5.48xlarge,4,32,EFA,8589934592,,184,357,2.28.7,,s,");
  CHECK(bandwidth.metric == "busbw_GBps");
  // busbw = size / time * 2 * 31 / 32
  CHECK(*bandwidth.predicted ==
        Approx(8589934592.0 / (*time.predicted * 1e-6) / 1e9 * 2 * 31 / 32));
}

TEST_CASE("rows of reference systems are told apart") {
  const Row row =
      only_row("a,all_gather,H200,\"1 node, 4 of its GPUs\",1,4,NVLink,1048576,20,1,1,2.29.2,,s,");
  REQUIRE(row.predicted);
  CHECK(field(row, "origin") == "reference");
  CHECK(field(row, "group") == "one node, >= 1 MiB");
}

TEST_CASE("an algorithm that the run forced is forced here, one it reports is not") {
  const auto with = [](const std::string& choice, const std::string& notes = {}) {
    return *only_row("a,all_reduce,H200,8x H200 node,1,8,NVLink,8589934592,,1,473,2.27.7," +
                     choice + ",s," + notes)
                .predicted;
  };
  const double nvls = with("");
  CHECK(nvls == Approx(475).epsilon(0.03));
  CHECK(with("NVLS") == nvls);
  CHECK(with("RING (NVLS off)") == Approx(366).epsilon(0.04));
  CHECK(with("RING forced") == with("RING (NVLS off)"));
  CHECK(with("", "NCCL_NVLS_ENABLE=0") == with("RING (NVLS off)"));
}

TEST_CASE("the old plugin has its own stack") {
  const auto with = [](const std::string& version) {
    return *only_row("a,all_reduce,H100,p5.48xlarge,2,16,EFA,134217728,1950,1,1," + version +
                     ",,s,")
                .predicted;
  };
  CHECK(with("2.18.5") > 2 * with("2.28.7"));
}

TEST_CASE("what a benchmark script adds is added to its rows only") {
  const auto with = [](const std::string& notes) {
    return *only_row("a,all_reduce,B200,p6-b200.48xlarge,1,8,NVLink,65536,52.9,1,2,2.27.7,,s," +
                     notes)
                .predicted;
  };
  const double offset = (*accuracy::shipped_catalog().constants("collectives-p6-b200"))
                            ->at("harness.torch_offset_us");
  CHECK(with("torch all_reduce_bench.py; time derived") == Approx(with("") + offset));
}

TEST_CASE("alltoall rows are predicted in their own group") {
  const Row row =
      only_row("a,alltoall,H100,p5.48xlarge,2,16,EFA,2147483648,25405,84.53,79.25,2.28,,s,");
  REQUIRE(row.predicted);
  CHECK(*row.predicted == Approx(25405.0).epsilon(0.05));
  CHECK(std::find(row.by.begin(), row.by.end(),
                  std::pair<std::string, std::string>{
                      "group", "P5 and P6 multi-node alltoall, >= 1 GiB"}) != row.by.end());
}

TEST_CASE("the peak of a sweep stands for its largest sizes") {
  const Row row = only_row("a,all_reduce,H200,8x H200 node,1,8,NVLink,,,,478,2.27.7,NVLS,s,peak");
  REQUIRE(row.predicted);
  CHECK(*row.predicted == Approx(478).epsilon(0.02));
}

TEST_CASE("old software on one node waits for the host") {
  const auto with = [](const std::string& version) {
    return *only_row("a,all_reduce,H200,Azure ND_H200_v5,1,8,NVLink,65536,,2.1,3.72," + version +
                     ",,s,")
                .predicted;
  };
  CHECK(with("2.20.5") == Approx(3.72).epsilon(0.05));
  CHECK(with("2.27.7") > 1.5 * with("2.20.5"));
}

TEST_CASE("rows of single links and of exchanges without NCCL are rated by bandwidth") {
  const Row write =
      only_row("a,rdma_write_bw,H100,p5.48xlarge,2,2,EFAv2 4x100Gbps,268435456,,47.5,,n/a,,s,");
  REQUIRE(write.predicted);
  CHECK(write.metric == "algbw_GBps");
  CHECK(*write.predicted == Approx(0.965 * 50));
  const Row copy = only_row(
      "a,host_to_device_memcpy,H200,8x H200 node,1,1,PCIe5 x16,,,55.43,,n/a,copy engine,s,");
  REQUIRE(copy.predicted);
  CHECK(*copy.predicted == Approx(55.43).epsilon(0.02));
  const Row exchange = only_row(
      "a,alltoall_rdma_rail_aligned,H100,p5.48xlarge,2,16,EFAv2 32x100Gbps,4194304,,,43.7,n/a,,s,");
  REQUIRE(exchange.predicted);
  CHECK(*exchange.predicted == Approx(43.7).epsilon(0.02));
}

TEST_CASE("bands hold four of five left-out rows, and are no wider than twice their error") {
  std::map<std::string, const Row*> by_id;
  for (const Row& row : public_rows())
    by_id[row.id] = &row;
  const auto table = CsvTable::read(FLOWPLAN_SOURCE_DIR "/tests/accuracy/collectives-left-out.csv");
  REQUIRE(table);
  std::size_t inside = 0;
  std::vector<double> errors, widths;
  struct Regime {
    std::vector<double> errors;
    std::size_t inside = 0;
    double width = 0.0;
  };
  std::map<std::string, Regime> regimes;  // of one band
  for (std::size_t i = 0; i < table->rows(); ++i) {
    const auto found = by_id.find(table->text(i, "id"));
    REQUIRE(found != by_id.end());
    REQUIRE(found->second->band);
    const double error = table->number(i, "left_out_error_percent").value() / 100.0;
    const Band& band = *found->second->band;
    const double measured = 1.0 / (1.0 + error);  // over the left-out prediction
    const bool within = measured >= band.low && measured <= band.high;
    if (within) ++inside;
    errors.push_back(std::abs(error));
    widths.push_back((band.high - band.low) / 2.0);
    Regime& regime = regimes[band.regime + " " + std::to_string(widths.back())];
    regime.errors.push_back(errors.back());
    regime.width = widths.back();
    if (within) ++regime.inside;
  }
  REQUIRE(errors.size() >= 80);
  CHECK(static_cast<double>(inside) >= 0.8 * static_cast<double>(errors.size()));
  std::sort(errors.begin(), errors.end());
  std::sort(widths.begin(), widths.end());
  CHECK(widths[widths.size() / 2] <= 2.0 * errors[errors.size() * 9 / 10]);

  // And each band by itself, where it has rows enough to tell.
  std::size_t told = 0;
  for (auto& [name, regime] : regimes) {
    const std::size_t rows = regime.errors.size();
    if (rows < 10) continue;
    CAPTURE(name, rows);
    ++told;
    std::sort(regime.errors.begin(), regime.errors.end());
    CHECK(static_cast<double>(regime.inside) >= 0.8 * static_cast<double>(rows));
    CHECK(regime.width <= 2.0 * regime.errors[rows * 9 / 10]);
  }
  CHECK(told >= 10);
}

TEST_CASE("rows that cannot be predicted say why") {
  const auto why = [](const std::string& line) {
    const Row row = only_row(line);
    CHECK_FALSE(row.predicted);
    return row.skipped;
  };
  CHECK_THAT(why("a,gather,H100,p5.48xlarge,2,16,EFA,1048576,100,1,1,2.28,,s,"),
             Catch::Contains("not modelled: gather"));
  CHECK_THAT(why("a,all_reduce,GH200,Isambard-AI (4x GH200/node),2,8,Slingshot,,,,194,x,,s,"),
             Catch::Contains("fabric unknown"));
  CHECK_THAT(why("a,all_reduce,H100,some cluster,2,16,EFA,1048576,100,1,1,2.28,,s,"),
             Catch::Contains("system unknown: some cluster"));
  CHECK_THAT(why("a,all_reduce,B200,8x B200 node,1,8,NVLink,,,,830,2.27.1,,s,"),
             Catch::Contains("message size not stated"));
  CHECK_THAT(why("a,all_reduce,H100,p5.48xlarge,3,16,EFA,1048576,100,1,1,2.28,,s,"),
             Catch::Contains("do not divide"));
  CHECK_THAT(why("a,all_reduce,H100,p5.48xlarge,2,64,EFA,1048576,100,1,1,2.28,,s,"),
             Catch::Contains("is not in the cluster"));
  CHECK_THAT(why("a,all_reduce,H100,p5.48xlarge,2,16,EFA,1048576,,,,2.28,,s,"),
             Catch::Contains("neither a time nor a bus bandwidth"));
}

}  // namespace collective_rows_test
