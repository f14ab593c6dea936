#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include "flowplan/base/json_document.hpp"
#include "flowplan/base/result.hpp"
#include "flowplan/report/document.hpp"

namespace flowplan::report {

/// A document as `report` of a JSON result, so that the result can be shown again in any format
/// without being computed again.
[[nodiscard]] nlohmann::ordered_json document_json(const Document& document);
/// Charts as they stand in a result and in a page.
[[nodiscard]] nlohmann::ordered_json chart_json(const Chart& chart);

/// The document that a saved result carries. Errors: FP016 a file that is no result or carries
/// none; FP073 a format version that this release does not read; FP020 what was changed by hand so
/// that it is not understood any more.
[[nodiscard]] Result<Document> saved_document(const JsonDocument& result);

/// The result as it was written.
[[nodiscard]] std::string saved_json(const JsonDocument& result);

/// The document's exact numbers for spreadsheets, with a row of headers; where it has none, its
/// tables one below the other. RFC 4180 with line feeds.
[[nodiscard]] std::string to_csv(const Document& document);

}  // namespace flowplan::report
