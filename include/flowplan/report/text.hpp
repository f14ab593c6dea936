#pragma once

#include <string>

#include "flowplan/report/document.hpp"

namespace flowplan::report {

struct TextStyle {
  bool unicode = false;  ///< bars of block characters; else ASCII
  bool colour = false;   ///< ANSI bold titles
};

/// A document for a terminal; ends with a newline.
[[nodiscard]] std::string to_text(const Document& document, const TextStyle& style = {});

}  // namespace flowplan::report
