#include "flowplan/flow/case_file.hpp"

#include <fstream>

#include <catch2/catch.hpp>

#include "case_schema.hpp"
#include "flowplan/flow/simulate.hpp"

namespace case_file_test {

using namespace flowplan;
using namespace flowplan::flow;

namespace {

const std::string links = R"("links": [
  {"id": 0, "from": "a", "to": "b", "bytes_per_s": 10},
  {"id": 1, "from": "b", "to": "c", "bytes_per_s": 20.5}
])";

std::string a_flow(const std::string& fields) {
  return R"({"id": 0, "source": "a", "target": "c", )" + fields + "}";
}
const std::string sound = R"("bytes": 5, "start_s": 0.5, "path": [0, 1])";

Result<Case> read(const std::string& text) {
  const Result<JsonDocument> document = JsonDocument::parse(text, "case.json");
  REQUIRE(document);
  return read_case(*document, flow_case_schema());
}

Result<Case> read(const std::string& link_part, const std::string& flow_part) {
  return read("{\"format\": \"flow-oracle-1\",\n" + link_part + ",\n\"flows\": [\n" + flow_part +
              "\n]}");
}

/// The only fault of a case.
Diagnostic only_fault(const Result<Case>& result) {
  REQUIRE_FALSE(result);
  CAPTURE(render(result.error()));
  REQUIRE(result.error().size() == 1);
  return result.error()[0];
}

Diagnostic fault_of_flow(const std::string& fields) {
  return only_fault(read(links, a_flow(fields)));
}

}  // namespace

TEST_CASE("a case is read with its names") {
  const Result<Case> result = read(
      R"({"format": "flow-oracle-1", "name": "n", "about": "why", )" + links + R"(, "flows": [)" +
      a_flow(sound) + R"(, {"id": "last", "source": "b", "target": "c", "bytes": 0, "start_s": 0,
      "path": [1]}]})");
  REQUIRE(result);
  CHECK(result->name == "n");
  CHECK(result->about == "why");
  CHECK(result->network.capacity == std::vector<double>{10.0, 20.5});
  CHECK(result->link_name(0) == "a->b");
  CHECK(result->link_name(1) == "b->c");
  CHECK(result->flow_name(0) == "0");
  CHECK(result->flow_name(1) == "last");
  CHECK(result->nodes.size() == 3);
  CHECK(result->flow_source == std::vector<std::uint32_t>{0, 1});
  CHECK(result->flow_target == std::vector<std::uint32_t>{2, 2});
  CHECK(result->flows.bytes == std::vector<double>{5.0, 0.0});
  CHECK(result->flows.start_s.list() == std::vector<double>{0.5, 0.0});
  CHECK(result->flows.first_use == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(result->flows.link == std::vector<LinkId>{LinkId{0}, LinkId{1}, LinkId{1}});
}

TEST_CASE("the examples of the reference page end as the page says") {
  std::ifstream page(std::string(FLOWPLAN_SOURCE_DIR) + "/docs/reference/flow-case.md");
  std::vector<std::string> examples;
  bool inside = false;
  for (std::string line; std::getline(page, line);) {
    if (line == "```") inside = false;
    if (inside) examples.back() += line + "\n";
    if (line == "```json") {
      inside = true;
      examples.emplace_back();
    }
  }
  REQUIRE(examples.size() == 3);
  for (const std::string& example : {examples[0], examples[2]}) {
    const Result<Case> result = read(example);
    REQUIRE(result);
    const std::vector<double> ends = simulate(result->network, result->flows).end_s;
    REQUIRE(ends.size() == 2);
    CHECK(ends[0] == Approx(0.15).epsilon(1e-12));
    CHECK(ends[1] == Approx(0.1).epsilon(1e-12));
  }
  const Result<Case> tasks = read(examples[1]);
  REQUIRE(tasks);
  const Result<Timeline> timeline = simulate(tasks->network, tasks->task_graph());
  REQUIRE(timeline);
  CHECK(timeline->end_s[0] == Approx(0.2).epsilon(1e-12));
  CHECK(timeline->end_s[1] == Approx(0.45).epsilon(1e-12));
}

TEST_CASE("a case may be empty") {
  const Result<Case> result = read(R"({"format": "flow-oracle-1", "links": [], "flows": []})");
  REQUIRE(result);
  CHECK(result->flows.size() == 0);
  CHECK(result->network.size() == 0);
}

TEST_CASE("other files are not flow cases") {
  for (const char* text : {"[]", "{}", "7", R"({"format": "flow-oracle-2"})", R"({"format": 1})"}) {
    const Diagnostic fault = only_fault(read(text));
    CHECK(fault.code == Code::wrong_kind_of_file);
    CHECK_THAT(fault.hint, Catch::Contains("flow-oracle-1"));
  }
}

TEST_CASE("an unknown key is placed and the nearest one named") {
  const Diagnostic fault = fault_of_flow(sound + R"(, "first_rate_byte_per_s": 1)");
  CHECK(fault.code == Code::unknown_key);
  CHECK(fault.place.line == 7);
  CHECK(fault.place.pointer == "/flows/0/first_rate_byte_per_s");
  CHECK_THAT(fault.hint, Catch::Contains("first_rate_bytes_per_s"));
}

TEST_CASE("a missing key is named") {
  const Diagnostic fault = fault_of_flow(R"("start_s": 0, "path": [0, 1])");
  CHECK(fault.code == Code::missing_key);
  CHECK(fault.place.pointer == "/flows/0");
  CHECK_THAT(fault.message, Catch::Contains("`bytes`"));
}

TEST_CASE("a case without links or flows is refused") {
  const Result<Case> result = read(R"({"format": "flow-oracle-1"})");
  REQUIRE_FALSE(result);
  REQUIRE(result.error().size() == 2);
  CHECK(result.error()[0].message == "key `links` is missing");
  CHECK(result.error()[1].message == "key `flows` is missing");
}

TEST_CASE("figures out of range are placed") {
  const auto pointer_of = [](const std::string& fields) {
    const Diagnostic fault = fault_of_flow(fields);
    CHECK(fault.code == Code::value_out_of_range);
    return fault.place.pointer;
  };
  CHECK(pointer_of(R"("bytes": -1, "start_s": 0, "path": [0, 1])") == "/flows/0/bytes");
  CHECK(pointer_of(R"("bytes": 1e300, "start_s": 0, "path": [0, 1])") == "/flows/0/bytes");
  CHECK(pointer_of(R"("bytes": 1, "start_s": -0.5, "path": [0, 1])") == "/flows/0/start_s");
  for (const char* capacity : {"0", "-5", "1e300", "1e-300"}) {
    const std::string link = R"("links": [{"id": 0, "from": "a", "to": "c", "bytes_per_s": )" +
                             std::string(capacity) + "}]";
    const Diagnostic fault =
        only_fault(read(link, a_flow(R"("bytes": 1, "start_s": 0, "path": [0])")));
    CHECK(fault.code == Code::value_out_of_range);
    CHECK(fault.place.pointer == "/links/0/bytes_per_s");
    CHECK(fault.place.line == 2);
  }
}

TEST_CASE("values of a wrong type are placed") {
  const auto pointer_of = [](const std::string& fields) {
    const Diagnostic fault = fault_of_flow(fields);
    CHECK(fault.code == Code::wrong_type);
    return fault.place.pointer;
  };
  CHECK(pointer_of(R"("bytes": "5", "start_s": 0, "path": [0, 1])") == "/flows/0/bytes");
  CHECK(pointer_of(R"("bytes": 5, "start_s": 0, "path": 0)") == "/flows/0/path");
  CHECK(pointer_of(R"("bytes": 5, "start_s": 0, "path": [0, "1"])") == "/flows/0/path/1");
  CHECK(pointer_of(R"("bytes": 5, "start_s": 0, "path": [0, -1])") == "/flows/0/path/1");
  CHECK(pointer_of(R"("bytes": 5, "start_s": 0, "path": [0.5, 1])") == "/flows/0/path/0");
  CHECK(only_fault(read(links, "7")).place.pointer == "/flows/0");
  CHECK(only_fault(read(R"("links": {})", "")).place.pointer == "/links");
}

TEST_CASE("a path must be sound") {
  const auto message_of = [](const std::string& path) {
    const Diagnostic fault = fault_of_flow(R"("bytes": 5, "start_s": 0, "path": )" + path);
    CHECK(fault.code == Code::bad_flow_case);
    CHECK(fault.place.line == 7);
    return fault.message;
  };
  CHECK(message_of("[]") == "the path is empty");
  CHECK(message_of("[0, 2]") == "there is no link 2");
  CHECK(message_of("[0, 18446744073709551615]") == "there is no link 18446744073709551615");
  CHECK(message_of("[0, 1, 0]") == "the path crosses link 0 twice");
  CHECK(message_of("[1]") == "the path is at `a`, but link `b->c` leaves from `b`");
  CHECK(message_of("[0]") == "the path ends at `b`, but the flow's target is `c`");
}

TEST_CASE("ids of links count from 0") {
  const Diagnostic fault =
      only_fault(read(R"("links": [{"id": 1, "from": "a", "to": "c", "bytes_per_s": 1}])",
                      a_flow(R"("bytes": 1, "start_s": 0, "path": [0])")));
  CHECK(fault.code == Code::bad_flow_case);
  CHECK(fault.message == "link 0 has id 1");
  CHECK(fault.place.pointer == "/links/0/id");
}

TEST_CASE("ids of flows differ") {
  const Diagnostic fault = only_fault(read(links, a_flow(sound) + ",\n" + a_flow(sound)));
  CHECK(fault.code == Code::bad_flow_case);
  CHECK(fault.place.pointer == "/flows/1/id");
  CHECK(fault.place.line == 8);
}

TEST_CASE("all faults are reported in one go, up to a limit") {
  const Result<Case> two = read(links, a_flow(R"("bytes": -1, "start_s": -1, "path": [0, 1])"));
  REQUIRE_FALSE(two);
  CHECK(two.error().size() == 2);
  std::string flows = "7";
  for (int f = 0; f < 1000; ++f)
    flows += ", 7";
  const Result<Case> many = read(links, flows);
  REQUIRE_FALSE(many);
  CHECK(many.error().size() == 50);
}

}  // namespace case_file_test
