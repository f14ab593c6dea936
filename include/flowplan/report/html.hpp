#pragma once

#include <string>

#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// A document as one HTML page that needs no network and no other file: charts (in a build with
/// Chart.js), each beside its table; light and dark, print and phone. The page is
/// src/report/page/page.mustache.
[[nodiscard]] std::string to_html(const Document& document);

/// True in a build whose pages have charts.
[[nodiscard]] bool has_charts();

}  // namespace flowplan::report
