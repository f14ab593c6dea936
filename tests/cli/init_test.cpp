#include <filesystem>
#include <fstream>
#include <iterator>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace init_test {

TEST_CASE("every starter runs, passes its checks and keeps its comments", "[slow]") {
  const auto folder = std::filesystem::temp_directory_path();
  for (const std::string kind : {"pretraining", "serving", "rl", "sft", "lora", "dpo", "storage"}) {
    CAPTURE(kind);
    const std::string path = (folder / ("flowplan-init-" + kind + ".json")).string();
    std::filesystem::remove(path);
    const Ran written = flowplan_run({"init", kind, path});
    CHECK(written.code == 0);
    CHECK(contains(written.err, "flowplan run"));
    CHECK(flowplan_run({"run", path}).code == 0);
    CHECK(flowplan_run({"check", path}).code == 0);
    CHECK(contains(flowplan_run({"init", kind}).out, "//"));
    // Nothing is overwritten.
    CHECK(flowplan_run({"init", kind, path}).code == 2);
  }
  CHECK(flowplan_run({"init", "posttraining"}).out == flowplan_run({"init", "rl"}).out);
  CHECK(flowplan_run({"init", "fine-tuning"}).out == flowplan_run({"init", "sft"}).out);
  CHECK(flowplan_run({"init", "training"}).code == 2);
  CHECK(contains(flowplan_run({"init", "training"}).err, "rl, sft, lora, dpo"));
}

TEST_CASE("under GitHub Actions failures are annotated and summed up") {
  const auto summary = std::filesystem::temp_directory_path() / "flowplan-summary.md";
  std::filesystem::remove(summary);
  std::filesystem::current_path(FLOWPLAN_SOURCE_DIR);
  flowplan::cli::Environment environment;
  environment.catalogs = "catalogs";
  environment.github_actions = true;
  environment.github_step_summary = summary.string();
  std::ostringstream out, err;
  const int code = flowplan::cli::run({"check", "scenarios/serve-llama3-70b-p5.json", "--set",
                                       "checks.0.min=2", "--format", "sarif"},
                                      out, err, environment);
  CHECK(code == 1);
  CHECK(contains(err.str(), "::error file=scenarios/serve-llama3-70b-p5.json,line="));
  CHECK(contains(out.str(), "\"uri\": \"scenarios/serve-llama3-70b-p5.json\""));
  std::ifstream in(summary);
  CHECK(contains({std::istreambuf_iterator<char>(in), {}}, "FAIL"));
}

}  // namespace init_test
