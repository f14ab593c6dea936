// Whole outputs, compared with tests/cli/golden/. Accept new ones, after reading their difference,
// with FLOWPLAN_ACCEPT_GOLDEN=1 ctest --preset release -R cli
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace golden_test {

namespace {

struct Golden {
  std::string file;
  std::vector<std::string> args;
  int code = 0;
};

const std::vector<Golden>& golden() {
  static const std::vector<Golden> all{
      {"first-steps.txt", {}},
      {"help.txt", {"help"}},
      {"help-collective.txt", {"help", "collective"}},
      {"run.txt", {"run", "scenarios/pretrain-llama3-70b-p5.json"}},
      {"run-flags.txt",
       {"run", "--model", "llama3-70b", "--instance", "p5.48xlarge", "--nodes", "64", "--tokens",
        "15T"}},
      {"run-too-big.txt", {"run", "scenarios/pretrain-llama3-405b-too-big.json"}, 4},
      {"run.md", {"run", "scenarios/pretrain-llama3-70b-p6-b200.json", "--format", "markdown"}},
      {"plan-optimal.txt", {"plan", "--optimal-for", "1e24"}},
      {"explain-mfu.txt", {"explain", "scenarios/pretrain-llama3-70b-p5.json", "training.mfu"}},
      {"collective.txt",
       {"collective", "all_reduce", "--instance", "p5.48xlarge", "--nodes", "4", "-b", "8", "-e",
        "16G", "-f", "2"}},
      {"io-checkpoint.txt",
       {"io", "checkpoint", "--instance", "p5.48xlarge", "--nodes", "256", "--model",
        "llama3.1-405b", "--storage", "fsx-persistent2-1000", "--capacity", "96TiB", "--efa",
        "--async"}},
      {"io-sizing.txt",
       {"io", "checkpoint", "--instance", "p5.48xlarge", "--nodes", "64", "--model", "llama3-70b",
        "--target", "30s"}},
      {"io-networks.md",
       {"io", "read", "--instance", "p5.48xlarge", "--nodes", "8", "--bytes", "10TB", "--storage",
        "fsx-persistent2-1000", "--capacity", "960000GiB", "--compare-network", "--format",
        "markdown"}},
      {"io-dataset.txt",
       {"io", "dataset", "--instance", "p5.48xlarge", "--nodes", "8", "--demand", "unet3d",
        "--storage", "s3", "--prefixes", "8"}},
      {"run-lazy-load.txt", {"run", "scenarios/storage-lazy-load-p5.json"}},
      {"topology.txt", {"topology", "--instance", "p5.48xlarge", "--nodes", "256"}},
      {"topology-ec2.txt", {"topology", "--import", "tests/topology/files/ec2.json"}},
      {"topology-degraded.txt",
       {"topology", "--instance", "p5.48xlarge", "--nodes", "4", "--degrade",
        "nic:gpu3=0,nic:node2=0"}},
      {"topology-node.txt",
       {"topology", "--import", "tests/topology/files/node.txt", "--instance", "p5.48xlarge"}},
      {"flow.txt", {"flow", "tests/flow/cases/parking-lot.json"}},
      {"flow.json", {"flow", "tests/flow/cases/parking-lot.json", "--format", "json"}},
      {"export-slurm.txt", {"export", "slurm", "scenarios/pretrain-llama3-70b-p5.json"}},
      {"export-kueue.yaml",
       {"export", "kueue", "scenarios/pretrain-llama3-70b-u-p6e-gb200x72.json"}},
      {"export-slurm-serving.txt", {"export", "slurm", "scenarios/serve-deepseek-r1-p6-b200.json"}},
      {"export-vllm.sh", {"export", "vllm", "scenarios/serve-llama3-70b-p5.json"}},
      {"replay.txt",
       {"replay", "tests/replay/files/workload-text.txt", "--instance", "p5.48xlarge", "--nodes",
        "4"}},
      {"import-jobs.txt", {"import", "jobs", "tests/operations/files/sacct.psv", "--gpus", "128"}},
      {"catalog-import.txt", {"catalog", "import", "tests/catalog/files/instance-types.json"}},
      {"catalog-compare.txt", {"catalog", "compare", "p5.48xlarge", "p6-b200.48xlarge"}},
  };
  return all;
}

/// What changes with every edit of the catalog says nothing about the program.
std::string without_versions(const std::string& text) {
  static const std::regex catalog("20[0-9]{2}-[0-9]{2}(-[0-9]{2})?/[0-9a-f]{8,16}");
  return std::regex_replace(text, catalog, "DATE/HASH");
}

std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool accepting() {
  return std::getenv("FLOWPLAN_ACCEPT_GOLDEN") != nullptr;
}

/// What README.md shows of a report: the summary and the step.
std::string excerpt(const std::string& report) {
  const std::size_t summary = report.find("\n\n", report.find("\n\n") + 2) + 1;
  const std::size_t step = report.find("\nStep\n");
  return report.substr(0, summary) + report.substr(step, report.find("\n\n", step) - step + 1);
}

void compare(const Golden& one) {
  const Ran ran = flowplan_run(one.args);
  CHECK(ran.code == one.code);
  CHECK(ran.err.empty());
  const std::string path = FLOWPLAN_SOURCE_DIR "/tests/cli/golden/" + one.file;
  const std::string text = without_versions(ran.out);
  if (accepting()) std::ofstream(path, std::ios::binary) << text;
  CHECK(text == content(path));
}

}  // namespace

TEST_CASE("README.md shows the present report") {
  const std::string begin = "$ flowplan run scenarios/pretrain-llama3-70b-p5.json\n";
  const std::string path = FLOWPLAN_SOURCE_DIR "/README.md";
  std::string readme = content(path);
  const std::size_t from = readme.find(begin) + begin.size();
  REQUIRE(from >= begin.size());
  const std::size_t length = readme.find("```", from) - from;
  const std::string now =
      excerpt(flowplan_run({"run", "scenarios/pretrain-llama3-70b-p5.json"}).out);
  if (accepting()) {
    std::ofstream(path, std::ios::binary) << readme.replace(from, length, now);
  } else {
    CHECK(readme.substr(from, length) == now);
  }
}

TEST_CASE("outputs are the accepted ones") {
  for (const Golden& one : golden())
    DYNAMIC_SECTION(one.file) {
      compare(one);
    }
}

TEST_CASE("the outputs of searches and of all scenarios are the accepted ones", "[slow]") {
  compare({"plan.txt", {"plan", "scenarios/plan-llama3-70b.json"}});
  compare({"check.txt", {"check", "scenarios"}});
}

}  // namespace golden_test
