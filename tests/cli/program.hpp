#pragma once

#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "flowplan/cli/run.hpp"

/// What one command line printed and returned.
struct Ran {
  int code = 0;
  std::string out, err;
};

/// Runs the program in the source tree with that tree's catalog, away from any terminal.
inline Ran flowplan_run(const std::vector<std::string>& args) {
  std::filesystem::current_path(FLOWPLAN_SOURCE_DIR);
  flowplan::cli::Environment environment;
  environment.catalogs = "catalogs";
  std::ostringstream out;
  std::ostringstream err;
  const int code = flowplan::cli::run(args, out, err, environment);
  return {code, out.str(), err.str()};
}

inline bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}
