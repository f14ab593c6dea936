#pragma once

#include <string>
#include <vector>

#include "command.hpp"
#include "flowplan/base/result.hpp"

namespace flowplan::cli {

struct Parsed {
  const Command* command = nullptr;
  Arguments arguments;  ///< "help" is set when -h or --help was given
};

/// Finds the command and reads its options. Errors FP090 with the nearest valid name.
[[nodiscard]] Result<Parsed> parse(const std::vector<std::string>& args);

}  // namespace flowplan::cli
