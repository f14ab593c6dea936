#pragma once

#include <string>

#include "command.hpp"

namespace flowplan::cli {

/// What `flowplan` alone prints: what to try first.
[[nodiscard]] std::string first_steps();
/// All commands, exit codes, the environment.
[[nodiscard]] std::string overview();
/// One command: usage, arguments, options, examples.
[[nodiscard]] std::string command_help(const Command& command);
/// The command reference (docs/reference/cli.md).
[[nodiscard]] std::string reference_markdown();
/// The table of diagnostic codes (docs/reference/diagnostics.md).
[[nodiscard]] std::string diagnostics_markdown();

}  // namespace flowplan::cli
