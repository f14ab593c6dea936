#include "flowplan/replay/execution_trace.hpp"

#include <catch2/catch.hpp>

#include "chakra_bytes.hpp"
#include "flowplan/base/text_file.hpp"

namespace flowplan::replay::execution_trace_test {

namespace {

const std::string files = FLOWPLAN_SOURCE_DIR "/tests/replay/files/";

std::string sample(const std::string& name) {
  return read_text(files + name, 1 << 20).value();
}

std::string told(const Result<ExecutionTrace>& trace) {
  return trace ? std::string() : render(trace.error());
}

}  // namespace

TEST_CASE("a Chakra trace is read as another program decoded it") {
  if (!reads_chakra()) return;
  const auto trace = read_trace({files + "two-node.0.et"});
  INFO(told(trace));
  REQUIRE(trace);
  CHECK(trace->version == "0.0.4");
  REQUIRE(trace->ranks.size() == 1);
  CHECK(trace->ranks[0].rank == 0u);
  const auto& nodes = trace->ranks[0].nodes;
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0].name == "fwd");
  CHECK(nodes[0].work == Work::compute);
  CHECK(nodes[0].recorded == milliseconds(1));
  CHECK(nodes[0].operations == 1e6);
  CHECK(nodes[0].touched == mebibytes(1));
  CHECK(nodes[1].name == "grad_allreduce");
  CHECK(nodes[1].work == Work::collective);
  CHECK(nodes[1].operation == collective::Operation::all_reduce);
  CHECK(nodes[1].size == mebibytes(100));
  CHECK(nodes[1].after == std::vector<std::uint32_t>{0});
  CHECK(nodes[1].at == 72);  // its message, after a length of one byte
}

TEST_CASE("a trace cut off anywhere is refused with the byte") {
  if (!reads_chakra()) return;
  const std::string whole = sample("two-node.0.et");
  constexpr std::size_t first_node_ends = 71;
  for (std::size_t size = 0; size < whole.size(); ++size) {
    CAPTURE(size);
    const auto trace = parse_trace(whole.substr(0, size), "cut.et");
    CHECK(trace.has_value() == (size == first_node_ends));
    if (trace) continue;
    CHECK(trace.error().front().code == Code::bad_measurement);
    CHECK_THAT(told(trace),
               Catch::Contains("byte ") && Catch::Contains(" of " + std::to_string(size) + ":"));
  }
  CHECK_THAT(told(parse_trace(whole.substr(0, 100), "cut.et")),
             Catch::Contains("byte 71 of 100: node 2 takes 72 bytes, 28 are left"));
}

TEST_CASE("a trace with any byte damaged gives a graph or a diagnostic, never a crash") {
  if (!reads_chakra()) return;
  const std::string whole = sample("two-node.0.et");
  std::size_t refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const char other : {'\x00', '\x7f', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = other;
      const auto trace = parse_trace(damaged, "damaged.et");
      if (!trace) ++refused;
      if (!trace) CHECK_FALSE(trace.error().front().message.empty());
    }
  }
  CHECK(refused > whole.size());
}

TEST_CASE("what contradicts itself in a Chakra trace is refused where it stands") {
  if (!reads_chakra()) return;
  CHECK_THAT(told(parse_trace(chakra_file({compute_bytes(1, 5), compute_bytes(1, 5)}), "a.et")),
             Catch::Contains("FP082") && Catch::Contains("a second node of id 1"));
  CHECK_THAT(
      told(parse_trace(chakra_file({compute_bytes(1, 5, {7})}), "a.et")),
      Catch::Contains("FP051") && Catch::Contains("byte 9: node `compute1` depends on node 7"));
  CHECK_THAT(told(parse_trace(chakra_file({chakra_node(1, "odd", 77, {})}), "a.et")),
             Catch::Contains("FP082") && Catch::Contains("type 77"));
  const std::string gather = chakra_node(1, "g", 7, {}) + attribute("comm_type", 3);
  CHECK_THAT(told(parse_trace(chakra_file({gather}), "a.et")),
             Catch::Contains("FP073") && Catch::Contains("gather"));
  CHECK_THAT(told(parse_trace(chakra_file({}), "a.et")), Catch::Contains("before its first node"));
  CHECK_THAT(told(parse_trace("not a trace at all, but prose", "a.et")), Catch::Contains("FP082"));
}

TEST_CASE("numbers of any width and packed dependencies are read") {
  if (!reads_chakra()) return;
  const std::string zigzag = field(10, field(1, "comm_size") + field(17, 2048));  // sint64: 1024
  const std::string fixed =
      field(10, field(1, "comm_type") + varint(21 << 3 | 1) + std::string("\2\0\0\0\0\0\0\0", 8));
  const std::string node = chakra_node(3, "gather_all", 7, {}) + field(5, varint(1) + varint(2)) +
                           zigzag + fixed + attribute("pg_name", "dp");
  const auto trace =
      parse_trace(chakra_file({compute_bytes(1, 5), compute_bytes(2, 5), node}), "a.et");
  INFO(told(trace));
  REQUIRE(trace);
  const Node& read = trace->ranks[0].nodes[2];
  CHECK(read.operation == collective::Operation::all_gather);
  CHECK(read.size == Bytes(1024));
  CHECK(read.group == "dp");
  CHECK(read.after == std::vector<std::uint32_t>{0, 1});
}

TEST_CASE("a collective over some dimensions of a network is a communicator of its own") {
  if (!reads_chakra()) return;
  const auto dims = [](const std::string& flags) {
    const std::string list = field(10, field(1, "involved_dim") + field(28, field(1, flags)));
    const auto trace = parse_trace(chakra_file({all_reduce_bytes(1, 8) + list}), "a.et");
    if (!trace) FAIL(render(trace.error()));
    return trace->ranks[0].nodes[0].group;
  };
  CHECK(dims(std::string("\1\0", 2)) == "dims10");
  CHECK(dims("\1\1") == "");  // all of them: all ranks
}

TEST_CASE("the JSON variant says the same") {
  const auto trace = parse_trace(R"({"workload_graph": [
    {"Id": 1, "Name": "fwd", "NodeType": 4, "is_cpu_op": false, "runtime": 1000, "data_deps": []},
    {"Id": 2, "Name": "ar", "NodeType": 7, "comm_type": 0, "comm_size": 1024, "data_deps": [1]}]})",
                                 "a.json");
  INFO(told(trace));
  REQUIRE(trace);
  CHECK(trace->ranks[0].nodes[0].recorded == milliseconds(1));
  CHECK(trace->ranks[0].nodes[1].size == Bytes(1024));
  CHECK(trace->ranks[0].nodes[1].after == std::vector<std::uint32_t>{0});
  const auto bad = parse_trace(R"({"workload_graph": [
    {"Id": 1, "NodeType": 4, "runtime": -5},
    {"Name": "x", "NodeType": "four", "data_deps": [-1]}]})",
                               "a.json");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().size() == 5);  // and type 0 is none
  CHECK_THAT(told(bad), Catch::Contains("a.json:2:") && Catch::Contains("a.json:3:"));
  CHECK_THAT(told(parse_trace("{}", "a.json")), Catch::Contains("FP016"));
}

TEST_CASE("a text workload is one pass forward and back") {
  const auto trace = parse_trace(sample("workload-text.txt"), "w.txt");
  INFO(told(trace));
  REQUIRE(trace);
  std::vector<std::string> names;
  for (const Node& node : trace->ranks[0].nodes)
    names.push_back(node.name);
  CHECK(names ==
        std::vector<std::string>{"layer0 forward", "layer1 forward", "layer1 weight gradients",
                                 "layer1 weight gradients' collective", "layer1 input gradients",
                                 "layer0 weight gradients", "layer0 weight gradients' collective",
                                 "layer1 update", "layer0 update"});
  CHECK(trace->ranks[0].nodes[3].size == mebibytes(100));
  CHECK(trace->ranks[0].nodes[4].after == std::vector<std::uint32_t>{2});  // not after the exchange
}

TEST_CASE("mistakes of a text workload are told with their lines, all at once") {
  const auto bad = parse_trace(
      "DATA\n2\n"
      "a -1 10 NONE 0 x NONE 0 10 ALLREDUCE 5 1\n"
      "b -1 10 NONE 0 10 NONE 0 10 SUM 5 1\n"
      "c -1 10\n",
      "w.txt");
  REQUIRE_FALSE(bad);
  CHECK(bad.error().size() == 3);
  CHECK_THAT(told(bad), Catch::Contains("w.txt:3:") && Catch::Contains("w.txt:4:") &&
                            Catch::Contains("w.txt:5:") && Catch::Contains("ALLREDUCE"));
  CHECK_THAT(told(parse_trace("DATA\n2\na -1 1 NONE 0 1 NONE 0 1 NONE 0 0\n", "w.txt")),
             Catch::Contains("line 2 says 2 layers, 1 follow"));
  CHECK_THAT(told(parse_trace("HYBRID_DLRM 3\n1\n", "w.txt")), Catch::Contains("FP073"));
  const std::string whole = sample("workload-text.txt");
  for (std::size_t size = 4; size < whole.size() - 3; ++size)
    CHECK_FALSE(parse_trace(whole.substr(0, size), "w.txt"));
}

TEST_CASE("files of several ranks are put in order, and have to be all of them") {
  const auto write = [](const std::string& name) {
    const std::string path =
        std::string(std::getenv("TMPDIR") ? std::getenv("TMPDIR") : "/tmp") + "/" + name;
    REQUIRE(write_text(path, R"({"workload_graph": [{"Id": 1, "NodeType": 4, "runtime": 5}]})"));
    return path;
  };
  const auto one = write("t.1.json"), zero = write("t.0.json"), three = write("t.3.json");
  const auto both = read_trace({one, zero});
  INFO(told(both));
  REQUIRE(both);
  CHECK(both->ranks[0].file == zero);
  CHECK_THAT(told(read_trace({one, zero, three})),
             Catch::Contains("rank 3, and rank 2 is missing"));
}

}  // namespace flowplan::replay::execution_trace_test
