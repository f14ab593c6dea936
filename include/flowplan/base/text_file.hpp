#pragma once

#include <cstddef>
#include <string>

#include "flowplan/base/result.hpp"

namespace flowplan {

/// The content of a file, or of standard input for "-". Errors FP001 (with the nearest name in that
/// folder), FP002, and FP003 above `max_bytes`.
[[nodiscard]] Result<std::string> read_text(const std::string& path, std::size_t max_bytes);
/// Writes the whole text beside the target and renames it into place, so that nothing half written
/// is ever seen. Error FP002.
[[nodiscard]] Result<void> write_text(const std::string& path, const std::string& text);

}  // namespace flowplan
