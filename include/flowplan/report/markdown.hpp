#pragma once

#include <string>

#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// A document as GitHub-flavoured Markdown; ends with a newline.
[[nodiscard]] std::string to_markdown(const Document& document);

}  // namespace flowplan::report
