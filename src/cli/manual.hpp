#pragma once

#include <string>
#include <utility>
#include <vector>

#include "command.hpp"

namespace flowplan::cli {

/// The manual page of the program, in the man macros: all commands, exit codes, environment.
[[nodiscard]] std::string manual();
/// That of one command.
[[nodiscard]] std::string manual(const Command& command);

/// Every page by its file's name: "flowplan.1", "flowplan-run.1", "flowplan-catalog-list.1".
[[nodiscard]] std::vector<std::pair<std::string, std::string>> manual_pages();

}  // namespace flowplan::cli
