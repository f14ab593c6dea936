#pragma once

#include <string>

#include "flowplan/base/diagnostic.hpp"

namespace flowplan::cli {

/// Whether what a diagnostic is about stands on the command line: it is in no file.
[[nodiscard]] bool typed(const Diagnostic& fault);
/// Whether a code is about a value, whoever states it: typed it is usage (2), in a file it makes
/// that file invalid (3). The others are about files themselves, or about what is not known.
[[nodiscard]] bool is_about_a_value(Code code);
/// The gravest exit code of several diagnostics, by their table and that rule.
[[nodiscard]] int exit_code_of(const Diagnostics& faults);
/// Names `file` as the place of those that have none, other than usage.
[[nodiscard]] Diagnostics placed_in(Diagnostics faults, const std::string& file);

}  // namespace flowplan::cli
