#include <algorithm>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace plan_test {

namespace {

/// A small search with more arguments; machines are two types, one or two of them, unless these
/// say.
Ran planned(const std::vector<std::string>& more) {
  std::vector<std::string> args{"plan",           "--model", "llama3-8b",   "--seq-len", "4096",
                                "--global-batch", "256",     "--precision", "bf16"};
  const auto given = [&](const char* option) {
    return std::find(more.begin(), more.end(), option) != more.end();
  };
  if (!given("--instances")) {
    args.insert(args.end(), {"--instances", "p5.48xlarge,p4d.24xlarge"});
  }
  if (!given("--counts")) args.insert(args.end(), {"--counts", "1,2"});
  args.insert(args.end(), more.begin(), more.end());
  return flowplan_run(args);
}

}  // namespace

TEST_CASE("a full plan carries the best candidate's own report under the ranking") {
  const std::vector<std::string> small{"--instances", "p5.48xlarge", "--counts", "1",
                                       "--tokens",    "100B",        "--tp",     "8"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return planned(more);
  };
  const Ran bare = with({"--format", "markdown"});
  const Ran full = with({"--format", "markdown", "--full"});
  const Ran page = with({"--format", "html"});
  CHECK(full.code == 0);
  CHECK(full.err.empty());
  for (const char* part : {"The best candidate", "Memory of one GPU", "Timeline of a step",
                           "What moves training.cost_usd", "Network", "Made with"}) {
    INFO(part);
    CHECK_FALSE(contains(bare.out, part));
    CHECK(contains(full.out, part));
    CHECK(contains(page.out, part));
    CHECK(full.out.find(part) > full.out.find("Ranked"));
  }
}

TEST_CASE("a search from options alone ranks clusters in every format", "[slow]") {
  const Ran text = planned({"--tokens", "100B", "--objective", "cost"});
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(contains(text.out, "Ranked"));
  CHECK(contains(text.out, "Time against money"));
  CHECK(contains(text.out, "Why the rest lost"));
  for (const char* format : {"json", "csv", "markdown"}) {
    const Ran other = planned({"--tokens", "100B", "--format", format});
    INFO(format);
    CHECK(other.code == 0);
    CHECK(contains(other.out, "p5.48xlarge"));
  }
}

TEST_CASE("one thread and three print the same bytes", "[slow]") {
  const Ran one = planned({"--format", "json", "--threads", "1"});
  const Ran three = planned({"--format", "json", "--threads", "3"});
  CHECK(one.code == 0);
  CHECK(one.out == three.out);
}

TEST_CASE("timing goes to standard error, the result stays as it is", "[slow]") {
  const Ran plain = planned({});
  const Ran timed = planned({"--timing"});
  CHECK(timed.out == plain.out);
  CHECK(contains(timed.err, "raw candidates"));
  CHECK(contains(timed.err, "us a candidate"));
}

TEST_CASE("limits that nothing meets: exit code 4 and what comes nearest", "[slow]") {
  const Ran late = planned({"--tokens", "100T", "--deadline", "1d"});
  CHECK(late.code == 4);
  CHECK(contains(late.out, "the fastest takes"));
  const Ran dear = planned({"--tokens", "100T", "--budget", "10"});
  CHECK(dear.code == 4);
  CHECK(contains(dear.out, "the cheapest is"));
  const Ran large = flowplan_run({"plan", "--model", "gpt3-175b", "--instance", "p4d.24xlarge",
                                  "--nodes", "1", "--global-batch", "8"});
  CHECK(large.code == 4);
  CHECK(contains(large.out, "the leanest layout needs"));
  CHECK(contains(large.out, "GPUs to fit"));
}

TEST_CASE("options of a search that cannot be meant are refused where they stand", "[slow]") {
  struct Case {
    std::vector<std::string> args;
    int code;
    std::string says;
  };
  const std::vector<Case> cases{
      {{"--instances", "p5.48xlagre"}, 2, "did you mean `p5.48xlarge`?"},
      {{"--budget", "5M"}, 2, "a budget needs `workload.tokens`"},
      {{"--tokens", "1T", "--budget", "-5"}, 2, "FP040"},
      {{"--tokens", "1T", "--budget", "0"}, 2, "FP040"},
      {{"--tokens", "1T", "--deadline", "0d"}, 2, "longer than nothing"},
      {{"--max-gpus", "0"}, 2, "FP024"},
      {{"--max-gpus", "4"}, 2, "nothing to search"},
      {{"--min-gpus", "64", "--max-gpus", "8"}, 2, "at least 64 and at most 8"},
      {{"--objective", "fastest"}, 2, "FP023"},
      {{"--headroom", "2"}, 2, "FP024"},
      {{"--counts", "two"}, 2, "FP022"},
      {{"--threads", "0"}, 2, "whole number"},
      {{"--tokens", "1T", "--objective", "cost", "--instances", "p4de.24xlarge", "--purchase",
        "savings_plan_3y"},
       3,
       "FP064"},
  };
  for (const Case& one : cases) {
    const Ran ran = planned(one.args);
    INFO(one.args[0] << " " << one.args[1] << "\n" << ran.err);
    CHECK(ran.code == one.code);
    CHECK(contains(ran.err, one.says));
    CHECK(ran.out.empty());
  }
  CHECK(flowplan_run({"plan"}).code == 2);
}

TEST_CASE("the scaling laws say what they hold for", "[slow]") {
  const Ran ran = flowplan_run({"plan", "--optimal-for", "1e24"});
  CHECK(ran.code == 0);
  CHECK(contains(ran.out, "Besiroglu"));
  CHECK(contains(ran.out, "NO: extrapolated"));
  CHECK(flowplan_run({"plan", "--optimal-for", "1e20", "--format", "json"}).code == 0);
  CHECK(flowplan_run({"plan", "--optimal-for", "1e20", "--format", "csv"}).code == 0);
  CHECK(flowplan_run({"plan", "--optimal-for", "much"}).code == 2);
  CHECK(flowplan_run({"plan", "--optimal-for", "0"}).code == 2);
}

}  // namespace plan_test
