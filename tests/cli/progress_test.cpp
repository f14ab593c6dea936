#include "../../src/cli/progress.hpp"

#include <chrono>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "program.hpp"

namespace progress_test {

namespace {

using flowplan::cli::Environment;
using flowplan::cli::Progress;
using flowplan::cli::Session;

/// What something that takes 100 ms shows.
std::string shown(const Environment& environment, bool wanted = true) {
  std::ostringstream out, err;
  const Session session{out, err, environment};
  {
    const Progress progress(session, "sweep", "points", wanted);
    progress.set(3, 12);
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(out.str().empty());
  return err.str();
}

}  // namespace

TEST_CASE("progress is one line that is gone at the end") {
  Environment environment;
  environment.err_terminal = true;
  environment.progress_after_s = 0.03;
  const std::string text = shown(environment);
  const std::string line = "sweep: 0 s, 3 of 12 points";
  CHECK(contains(text, "\r" + line));
  CHECK(text.ends_with("\r" + std::string(line.size(), ' ') + "\r"));
  CHECK_FALSE(contains(text, "\n"));
}

TEST_CASE("nothing is shown before its time, off a terminal, or where rows show by themselves") {
  Environment environment;
  CHECK(environment.progress_after_s == 2.0);
  environment.err_terminal = true;
  CHECK(shown(environment).empty());
  environment.progress_after_s = 0.0;
  CHECK(shown(environment, false).empty());
  environment.err_terminal = false;
  CHECK(shown(environment).empty());
}

TEST_CASE("sweep and plan show it") {
  std::filesystem::current_path(FLOWPLAN_SOURCE_DIR);
  Environment environment;
  environment.catalogs = "catalogs";
  environment.err_terminal = true;
  environment.progress_after_s = 0.0;
  const auto err_of = [&](const std::vector<std::string>& args) {
    std::ostringstream out, err;
    CHECK(flowplan::cli::run(args, out, err, environment) == 0);
    return err.str();
  };
  CHECK(contains(err_of({"sweep", "scenarios/pretrain-llama3-70b-p5.json", "--vary",
                         "cluster.count=64:512:x2"}),
                 "\rsweep: 0 s"));
  CHECK(contains(
      err_of({"plan", "--model", "llama3-8b", "--instance", "p5.48xlarge", "--nodes", "1"}),
      "\rplan: 0 s"));
}

}  // namespace progress_test
