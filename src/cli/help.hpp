#pragma once

#include <span>
#include <string>
#include <string_view>

#include "command.hpp"

namespace flowplan::cli {

struct ExitCode {
  int code;
  std::string_view meaning;
};
[[nodiscard]] std::span<const ExitCode> exit_codes();
/// How several of them and typed values count; sentences.
[[nodiscard]] std::string_view exit_code_note();

/// A variable of the environment that the program reads.
struct Variable {
  std::string_view name, meaning;
};
[[nodiscard]] std::span<const Variable> variables();

/// What an option does, with its choices and whether it may be repeated.
[[nodiscard]] std::string about(const Option& option);

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
