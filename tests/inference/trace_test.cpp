#include "flowplan/inference/trace.hpp"

#include <catch2/catch.hpp>

namespace flowplan::inference::trace_test {

namespace {

Diagnostics errors_of(std::string_view text) {
  const Result<Workload> trace = parse_trace(text, "t.csv");
  REQUIRE_FALSE(trace);
  return trace.error();
}

void check_request(const Workload& trace, std::size_t i, double at_s, std::uint32_t input,
                   std::uint32_t output) {
  CAPTURE(i);
  CHECK(trace.requests[i].arrival_s == Approx(at_s).margin(1e-6));
  CHECK(trace.requests[i].input_tokens == input);
  CHECK(trace.requests[i].output_tokens == output);
}

}  // namespace

TEST_CASE("our columns, with prefix blocks that the prompt fills") {
  const Workload trace = *parse_trace(
      "arrival_s,input_tokens,output_tokens,prefix_block_ids\n"
      "10.0,1100,500,4 5 9\n"
      "\n"
      "10.5,1024,7,\"4 5\"\r\n",
      "t.csv");
  REQUIRE(trace.requests.size() == 2);
  check_request(trace, 0, 0.0, 1100, 500);
  check_request(trace, 1, 0.5, 1024, 7);
  // Of 1,100 tokens two blocks of 512 are full: 9 is dropped.
  REQUIRE(trace.requests[0].run_count == 1);
  CHECK(trace.runs[0].first == 4);
  CHECK(trace.runs[0].count == 2);
  CHECK(trace.runs[trace.requests[1].first_run].count == 2);
  CHECK(trace.block_tokens == 512);
}

TEST_CASE("Azure's columns and dates") {
  const Workload trace = *parse_trace(
      "TIMESTAMP,ContextTokens,GeneratedTokens\n"
      "2023-11-16 23:59:59.5000000,4808,10\n"
      "2023-11-17 00:00:01.2500000,3180,8\n",
      "t.csv");
  check_request(trace, 0, 0.0, 4808, 10);
  check_request(trace, 1, 1.75, 3180, 8);
  CHECK(trace.block_tokens == 0);
}

TEST_CASE("Mooncake's lines") {
  const Workload trace = *parse_trace(
      R"({"timestamp": 27000, "input_length": 1024, "output_length": 52, "hash_ids": [46, 47]})"
      "\n"
      R"({"timestamp": 30500, "input_length": 100, "output_length": 1, "hash_ids": [99]})",
      "t.jsonl");
  check_request(trace, 0, 0.0, 1024, 52);
  check_request(trace, 1, 3.5, 100, 1);
  CHECK(trace.runs.size() == 1);
  CHECK(trace.runs[0].first == 46);
}

TEST_CASE("inference-sim's columns, with groups of equal beginnings and adapters") {
  const Workload trace = *parse_trace(
      "request_id,session_id,prefix_group,prefix_length,input_tokens,output_tokens,arrival_time_us,"
      "adapter\n"
      "0,s,a,1024,2000,10,500000,x\n"
      "1,s,b,1024,2000,10,600000,y\n"
      "2,s,a,600,2000,10,700000,x\n"
      "3,s,,0,2000,10,700000,\n",
      "t.csv");
  check_request(trace, 2, 0.2, 2000, 10);
  const auto first_block = [&](std::size_t i) {
    return trace.runs[trace.requests[i].first_run].first;
  };
  CHECK(first_block(0) == first_block(2));
  CHECK(first_block(0) != first_block(1));
  CHECK(trace.runs[trace.requests[0].first_run].count == 2);
  CHECK(trace.runs[trace.requests[2].first_run].count == 1);
  CHECK(trace.requests[3].run_count == 0);
  CHECK(trace.requests[0].adapter == trace.requests[2].adapter);
  CHECK(trace.requests[0].adapter != trace.requests[1].adapter);
  CHECK(trace.requests[3].adapter == 0);
}

TEST_CASE("a trace sent faster, and cut") {
  TraceOptions options;
  options.speed = 4.0;
  options.most_requests = 2;
  const Workload trace =
      *parse_trace("arrival_s,input_tokens,output_tokens\n0,1,1\n8,1,1\n9,1,1\n", "t.csv", options);
  CHECK(trace.requests.size() == 2);
  check_request(trace, 1, 2.0, 1, 1);
}

TEST_CASE("all mistakes at once, with their lines") {
  const Diagnostics errors = errors_of(
      "arrival_s,input_tokens,output_tokens\n"
      "0,100,10\n"
      "1,100,0\n"
      "2,0,10\n"
      "1,100,x\n"
      "0.5,100,10\n"
      "-1,100,10\n"
      "3,100\n"
      "4,-5,10\n");
  REQUIRE(errors.size() == 6);
  CHECK(errors[0].place.line == 3);
  CHECK(errors[0].message == "a request has 0 output tokens, it needs at least 1");
  CHECK(errors[1].place.line == 4);
  CHECK(errors[2].message == "column 3 is \"x\"");
  CHECK(errors[2].code == Code::csv_syntax);
  CHECK(errors[3].place.line == 7);  // 0.5 comes after the 0 that was read before it
  CHECK(errors[3].message ==
        "a request arrives at -1 s, before the one in front of it at 0.5 s: sort the trace by "
        "arrival");
  CHECK(errors[4].message == "the row has too few columns");
  CHECK(errors[5].place.line == 9);
}

TEST_CASE("an empty trace, and one without its columns") {
  CHECK(errors_of("")[0].message == "the trace has no requests");
  CHECK(errors_of("arrival_s,input_tokens,output_tokens\n")[0].message ==
        "the trace has no requests");
  const Diagnostic missing = errors_of("time,input_tokens,output_tokens\n0,1,1\n")[0];
  CHECK(missing.code == Code::missing_key);
  CHECK(missing.message == "the trace has no column arrival_s");
  CHECK(errors_of("{\"timestamp\": 1, \"input_length\": 5}\n")[0].message ==
        "the object has no output_tokens");
  CHECK(errors_of("{\"timestamp\": \n")[0].message == "the line is no JSON object");
  CHECK(errors_of("{\"timestamp\":1,\"input_length\":5,\"output_length\":5,\"hash_ids\":[-1]}")[0]
            .message == "hash_ids must be whole numbers below 2^32");
}

TEST_CASE("no more errors than anyone reads") {
  std::string text = "arrival_s,input_tokens,output_tokens\n";
  for (int i = 0; i < 100; ++i)
    text += "0,0,1\n";
  CHECK(errors_of(text).size() == most_trace_errors);
}

TEST_CASE("a missing file") {
  CHECK(read_trace("/nowhere/at/all.csv").error()[0].code == Code::file_not_found);
}

TEST_CASE("lengths without arrivals") {
  const Result<TokenPairs> pairs =
      parse_lengths("input_tokens,output_tokens\n3772,54\n2015,156\n", "l.csv");
  REQUIRE(pairs);
  CHECK(*pairs == TokenPairs{{3772, 54}, {2015, 156}});
  CHECK_FALSE(parse_lengths("input_tokens,output_tokens\n3772,0\n", "l.csv"));
}

TEST_CASE("requests beyond the context limit are announced") {
  const Workload trace =
      *parse_trace("arrival_s,input_tokens,output_tokens\n0,90,10\n0,91,10\n0,500,1\n", "t.csv");
  const Diagnostics warnings = beyond_context(trace, 100);
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].severity == Severity::warning);
  CHECK(warnings[0].message ==
        "2 of 3 requests are longer than the context limit of 100 tokens and will be refused, the "
        "first is number 1 with 91 input and 10 output tokens");
  CHECK(beyond_context(trace, 501).empty());
}

}  // namespace flowplan::inference::trace_test
