#include "flowplan/accuracy/nccl_log.hpp"

#include <algorithm>

#include <catch2/catch.hpp>

namespace nccl_log_test {

using namespace flowplan;
using accuracy::parse_nccl_log;

namespace {

// The layout of nccl-tests 2.17, two hosts of two GPUs, after lines of mpirun and NCCL_DEBUG.
constexpr const char* whole_log =
    "Warning: Permanently added 'node-1' to the list of known hosts.\n"
    "# nccl-tests version 2.17.6 nccl-headers=22807 nccl-library=22807\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup iters: 1 iters: 20\n"
    "#\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid   6899 on     node-1 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  1 Group  0 Pid   6900 on     node-1 device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  2 Group  0 Pid   6733 on     node-2 device  0 [0000:04:00] NVIDIA H100 80GB HBM3\n"
    "#  Rank  3 Group  0 Pid   6734 on     node-2 device  1 [0000:05:00] NVIDIA H100 80GB HBM3\n"
    "node-1:6899:6899 [0] NCCL INFO NET/OFI Initializing aws-ofi-nccl 1.16.3\n"
    "node-1:6899:6899 [0] NCCL INFO NET/OFI Selected provider is efa, fabric is efa (found 32 "
    "nics)\n"
    "node-1:6899:6899 [0] NCCL INFO Channel 00/0 : 3[1] -> 0[0] [receive] via NET/OFI/0/GDRDMA\n"
    "node-1:6899:6899 [0] NCCL INFO NCCL_ALGO set by environment to Ring\n"
    "#\n"
    "#                                                     out-of-place             in-place\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong     time"
    "   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)"
    "  (GB/s)  (GB/s)\n"
    "           8             2     float     sum      -1    135.8    0.00    0.00       0    123.5"
    "    0.00    0.00       0\n"
    "     1048576        262144     float     sum      -1    203.2    5.16    7.74       0    207.2"
    "    5.06    7.59     N/A\n"
    "# Out of bounds values : 0 OK\n"
    "# Avg bus bandwidth    : 7.7\n"
    "# Collective test concluded: all_reduce_perf\n";

void refused_log(const std::string& text, Code code, const std::string& words) {
  const auto log = parse_nccl_log(text, "run.log");
  REQUIRE_FALSE(log);
  CHECK(log.error().front().code == code);
  CHECK(log.error().front().place.file == "run.log");
  CHECK_THAT(log.error().front().message, Catch::Contains(words));
}

std::string before(std::string text, const std::string& mark) {
  return text.substr(0, text.find(mark));
}

}  // namespace

TEST_CASE("a text log tells its run and its rows") {
  const auto log = parse_nccl_log(whole_log, "run.log");
  REQUIRE(log);
  CHECK(log->program == "all_reduce_perf");
  CHECK(log->operation == collective::Operation::all_reduce);
  CHECK(log->nccl_version == "2.28.7");
  CHECK(log->plugin_version == "1.16.3");
  CHECK(log->gpu == "NVIDIA H100 80GB HBM3");
  CHECK(log->ranks == 4);
  CHECK(log->hosts == 2);
  CHECK(log->nics == 32);
  CHECK(log->gpu_direct == true);
  CHECK_FALSE(log->sockets);
  CHECK(log->forced_algorithm == "Ring");
  CHECK(log->forced_protocol.empty());
  CHECK(log->concluded);
  REQUIRE(log->lines.size() == 2);
  CHECK(log->lines[1].size_bytes == 1048576.0);
  CHECK(log->lines[1].time_us == 203.2);
  CHECK(log->lines[1].busbw_gbytes_per_s == 7.74);
  CHECK(log->lines[1].wrong == 0.0);
  CHECK(log->lines[1].line == 20);
}

TEST_CASE("old logs print no root and no program") {
  const auto log = parse_nccl_log(
      "# Using devices\n"
      "#   Rank  0 Pid  17 on  host-a device  0 [0x04] Tesla V100\n"
      "#       size         count    type   redop     time   algbw   busbw  error\n"
      "        1024           256   float     sum    20.10    0.05    0.08  1e-07\n",
      "run.log");
  REQUIRE(log);
  CHECK_FALSE(log->operation);
  REQUIRE(log->lines.size() == 1);
  CHECK(log->lines[0].time_us == 20.10);
  CHECK(log->lines[0].busbw_gbytes_per_s == 0.08);
}

TEST_CASE("the JSON of nccl-tests says the same") {
  const auto log = parse_nccl_log(R"({"version":2,"start_time":"2026-01-02 03:04:05",
    "args":["./build/all_gather_perf","-b","1G"],
    "env":["PATH=\/usr\/bin","NCCL_PROTO=Simple"],"nccl_version":22807,
    "config":{"nthreads":1,"devices":[
      {"rank":0,"hostname":"a","device_info":"NVIDIA H200"},
      {"rank":1,"hostname":"b","device_info":"NVIDIA H200"}]},
    "results":[
      {"size":1024,"count":256,"type":"float","redop":"none","root":"-1","out_of_place":null,
       "in_place":{"time":12.5,"alg_bw":0.08,"bus_bw":0.04,"nwrong":null}},
      {"size":1073741824,"count":1,"type":"float","redop":"none","root":"-1",
       "out_of_place":{"time":4700.0,"alg_bw":228.4,"bus_bw":214.2,"nwrong":3.0}}],
    "average_bus_bandwidth":{"bandwidth":107.0,"okay":"unchecked"}})",
                                  "run.json");
  REQUIRE(log);
  CHECK(log->operation == collective::Operation::all_gather);
  CHECK(log->nccl_version == "2.28.7");
  CHECK(log->forced_protocol == "Simple");
  CHECK(log->ranks == 2);
  CHECK(log->hosts == 2);
  CHECK(log->gpu == "NVIDIA H200");
  CHECK(log->concluded);
  REQUIRE(log->lines.size() == 2);
  CHECK(log->lines[0].time_us == 12.5);
  CHECK_FALSE(log->lines[0].wrong);
  CHECK(log->lines[1].wrong == 3.0);
}

TEST_CASE("a log that was cut off keeps the rows it has") {
  const auto log = parse_nccl_log(before(whole_log, "# Out of bounds"), "run.log");
  REQUIRE(log);
  CHECK_FALSE(log->concluded);
  CHECK(log->lines.size() == 2);
  // A last line of which only a part was written is no row.
  const auto torn = parse_nccl_log(before(whole_log, "203.2"), "run.log");
  REQUIRE(torn);
  CHECK(torn->lines.size() == 1);
}

TEST_CASE("a log without rows and files of other kinds are refused") {
  refused_log(before(whole_log, "           8"), Code::bad_measurement, "before its first size");
  refused_log("id,collective,gpu\nC1,all_reduce,H100\n", Code::wrong_kind_of_file, "no log");
  refused_log("", Code::wrong_kind_of_file, "no log");
  refused_log(R"({"cluster": {}})", Code::wrong_kind_of_file, "no log");
  refused_log(R"({"nccl_version": 22807, "results": []})", Code::bad_measurement, "without rows");
  const auto torn = parse_nccl_log(R"({"nccl_version": 22807, "results": [)", "run.json");
  REQUIRE_FALSE(torn);
  CHECK(torn.error().front().code == Code::json_syntax);
}

TEST_CASE("rows whose times are none are refused with what is wrong") {
  const std::string head = before(whole_log, "           8");
  const std::string nan_row = "  8  2  float  sum  -1  nan  0.00  0.00  0\n";
  const std::string zero_row = "  16  4  float  sum  -1  0.0  0.00  0.00  0\n";
  refused_log(head + nan_row + zero_row, Code::bad_measurement,
              "none of the log's 2 rows can be used: time nan us");
  CHECK(parse_nccl_log(head + nan_row, "run.log").error().front().place.line ==
        1 + std::count(head.begin(), head.end(), '\n'));
  refused_log(head + "  0  0  float  sum  -1  12.5  0.00  0.00  0\n", Code::bad_measurement,
              "of size 0");
  refused_log(R"({"nccl_version": 22807, "results": [{"size": 8, "out_of_place": {"time": 0}}]})",
              Code::bad_measurement, "1 row can be used: time 0 us");
}

TEST_CASE("rows whose times are none are counted beside good ones") {
  const std::string head = before(whole_log, "           8");
  const auto log = parse_nccl_log(head +
                                      "  0  0  float  sum  -1  12.5  0.00  0.00  0\n"
                                      "  8  2  float  sum  -1  inf  0.00  0.00  0\n"
                                      "  16  4  float  sum  -1  20.0  0.00  0.00  0\n",
                                  "run.log");
  REQUIRE(log);
  REQUIRE(log->lines.size() == 1);
  CHECK(log->lines.front().size_bytes == 16.0);
  CHECK(log->unusable.rows == 1);
  CHECK(log->unusable.what == "time inf us");
  CHECK(log->empty_rows == 1);
}

TEST_CASE("sockets and a missing GPUDirect are seen") {
  const std::string debug =
      "h:1:1 [0] NCCL INFO Using network Socket\n"
      "h:1:1 [0] NCCL INFO GPU Direct RDMA Disabled for HCA 0 'eth0'\n";
  const auto log = parse_nccl_log(debug + whole_log, "run.log");
  REQUIRE(log);
  CHECK(log->sockets);
  const auto without =
      parse_nccl_log(debug + before(whole_log, "node-1:6899") +
                         std::string(whole_log).substr(std::string(whole_log).find("#       size")),
                     "run.log");
  REQUIRE(without);
  CHECK(without->gpu_direct == false);
}

}  // namespace nccl_log_test
