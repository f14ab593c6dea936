// What is wrong with a value is usage (2) when it was typed and makes a file invalid (3) when it
// stands in one, for every command.
#include <cstdio>
#include <fstream>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace exit_code_test {

namespace {

const std::string scenario = "scenarios/pretrain-llama3-70b-p5.json";
const std::string log = "tests/accuracy/logs/all_reduce-p5-4nodes.log";

std::string spelt(const std::vector<std::string>& args) {
  std::string text;
  for (const std::string& arg : args)
    text += arg + " ";
  return text;
}

}  // namespace

TEST_CASE("a wrong value on the command line is usage, for every command", "[slow]") {
  const std::vector<std::vector<std::string>> all{
      {"run", "--model", "lama3-70b", "--instance", "p5", "--nodes", "64"},
      {"run", "--model", "llama3-70b", "--instance", "p5.48xlrage", "--nodes", "64"},
      {"run", "--model", "llama3-70b", "--instance", "p5", "--nodes", "0"},
      {"run", scenario, "--set", "workload.micro_bacth=1"},
      {"run", scenario, "--set", "workload.micro_batch=0"},
      {"run", scenario, "--micro-batch", "0"},
      {"run", scenario, "--region", "us-esat-1"},
      {"explain", scenario, "training.mfuu"},
      {"explain", scenario, "--set", "workload.micro_batch=0"},
      {"check", scenario, "--set", "workload.micro_batch=0"},
      {"diff", scenario, "--set", "workload.micro_batch=0"},
      {"sweep", scenario, "--vary", "cluster.cuont=1"},
      {"sweep", scenario, "--vary", "cluster.count=8:4:2"},
      {"sweep", scenario, "--vary", "cluster.count=64", "--by", "training.mfuu"},
      {"sweep", scenario, "--vary", "cluster.count=64", "--shard", "2/2"},
      {"plan", "--model", "llama3-70b", "--tokens", "2T", "--deadline", "soon"},
      {"plan", "--model", "llama3-70b", "--instances", "p5.48xlrage"},
      {"plan", "--optimal-for", "much"},
      {"collective", "all_reduc", "--instance", "p5"},
      {"collective", "all_reduce", "--instance", "p5.48xlrage"},
      {"collective", "all_reduce", "--instance", "p5", "-b", "8Q"},
      {"collective", "all_reduce", "--instance", "p5", "--algorithm", "RINGS"},
      {"collective", "all_reduce", "--instance", "p5", "--protocol", "LL64"},
      {"collective", "all_reduce", "--instance", "p5", "--profile", "none-such"},
      {"collective", "all_reduce", "--instance", "p5", "--gpus", "100"},
      {"collective", "all_reduce", "--instance", "p5", "--degrade", "nic:gpu99=0"},
      {"collective", "--instance", "p5", "--groups", "tp8:all_reduc:1G"},
      {"collective", "--compare", log, "--instance", "p5.48xlrage"},
      {"io", "red", "--instance", "p5", "--bytes", "1TB", "--storage", "s3"},
      {"io", "read", "--instance", "p5", "--bytes", "10", "--storage", "s3"},
      {"io", "read", "--instance", "p5", "--bytes", "1TB", "--storage", "s4"},
      {"io", "checkpoint", "--instance", "p5", "--model", "lama3-70b", "--target", "30s"},
      {"io", "checkpoint", "--instance", "p5", "--model", "llama3-70b", "--target", "soon"},
      {"topology", "--instance", "p5.48xlrage"},
      {"topology", "--instance", "p5", "--degrade", "nic:gpu99=0"},
      {"topology", "--instance", "p5", "--draw", "cluster.pdf"},
      {"flow", "--generate", "fat-tree:abc"},
      {"flow", "--generate", "fat-tree:64", "--traffic", "ringg"},
      {"flow", "--generate", "fat-tree:64", "--bytes", "1Gb"},
      {"flow", "--generate", "fat-tree:64", "--traffic", "random", "--flows", "0"},
      {"catalog", "list", "--kind", "gpu"},
      {"catalog", "show", "p5.48xlrage"},
      {"catalog", "compare", "p5", "p5.48xlrage"},
      {"fit", log, "--instance", "p5.48xlrage"},
      {"fit", log, "--instance", "p5", "--operation", "all_reduc"},
      {"validate"},
      {"export", "slurmm", scenario},
      {"export", "slurm", scenario, "--hosts", "p5-[1-2]"},
      {"export", "slurm", scenario, "--set", "workload.micro_batch=0"},
      {"init", "trainig"},
      {"schema", "scenarios"},
      {"completion", "tcsh"},
      {"help", "rum"},
      {"version", "now"},
  };
  for (const auto& args : all) {
    const Ran ran = flowplan_run(args);
    CAPTURE(spelt(args), ran.err);
    CHECK(ran.code == 2);
    CHECK(contains(ran.err, "error[FP"));
  }
}

TEST_CASE("the same in a file makes the file invalid, for every command that takes one", "[slow]") {
  const auto path = (std::filesystem::temp_directory_path() / "flowplan_exit_code.json").string();
  for (const std::string wrong : {R"("cluster": {"instance": "p5.48xlrage", "count": 64})",
                                  R"("cluster": {"instance": "p5.48xlarge", "count": 0})",
                                  R"("cluster": {"instance": "p5.48xlarge", "cuont": 64})"}) {
    std::ofstream(path) << "{" << wrong
                        << R"(, "workload": {"kind": "pretraining", "model": "llama3-70b"}})";
    for (const std::vector<std::string>& args :
         std::vector<std::vector<std::string>>{{"run", path},
                                               {"explain", path},
                                               {"check", path},
                                               {"plan", path},
                                               {"diff", scenario, path},
                                               {"topology", path},
                                               {"export", "slurm", path}}) {
      const Ran ran = flowplan_run(args);
      CAPTURE(spelt(args), wrong, ran.err);
      CHECK(ran.code == 3);
      CHECK(contains(ran.err, path + ":1:"));
    }
  }
  std::remove(path.c_str());
}

TEST_CASE("a generated topology that is misspelt is told as it was spelt", "[slow]") {
  const Ran ran = flowplan_run({"flow", "--generate", "fat-tree:abc"});
  CHECK(contains(ran.err, "fat-tree:abc"));
  CHECK_FALSE(contains(ran.err, "0 hosts"));
  CHECK(contains(
      flowplan_run({"flow", "--generate", "fat-tree:64", "--traffic", "random", "--flows", "0"})
          .err,
      "1 or more"));
}

TEST_CASE("sizes of a collective without another whole element are left out", "[slow]") {
  // Floats have 4 bytes: of 1, 2, ..., 9 bytes only 4 and 8 hold one more than the size before.
  const Ran steps = flowplan_run({"collective", "all_reduce", "--instance", "p5", "-b", "1", "-e",
                                  "9", "-i", "1", "--format", "json"});
  CHECK(steps.code == 0);
  CHECK_FALSE(contains(steps.out, "\"count\": 0"));
  CHECK(contains(steps.out, "\"count\": 1"));
  CHECK(contains(steps.out, "\"count\": 2"));
  CHECK_FALSE(contains(steps.out, "\"count\": 3"));
  // Of an all-gather each of 16 ranks has a part.
  const Ran none =
      flowplan_run({"collective", "all_gather", "--instance", "p5", "--nodes", "2", "-b", "32"});
  CHECK(none.code == 2);
  CHECK(contains(none.err, "each of 16 ranks"));
}

TEST_CASE("what serving costs is by the hour, not for a budget that it does not have", "[slow]") {
  const Ran ran = flowplan_run({"run", "scenarios/serve-llama3-70b-p5.json"});
  CHECK(contains(ran.out, "Money, list prices"));
  CHECK_FALSE(contains(ran.out, "for the budget"));
  CHECK_FALSE(contains(ran.out, "goodput"));
}

}  // namespace exit_code_test
