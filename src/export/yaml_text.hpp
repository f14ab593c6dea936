#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace flowplan::exporting {

/// A JSON value as a YAML document in block style, keys in their order. Strings that YAML would
/// read as something else ("8", "true", "no") are quoted. Ends with a newline.
[[nodiscard]] std::string yaml_text(const nlohmann::ordered_json& value);

/// Several documents with "---" between them, below a comment of whole lines; no comment: "".
[[nodiscard]] std::string yaml_documents(std::string_view comment,
                                         std::span<const nlohmann::ordered_json> documents);

/// Lines of a text as comments: "# " before each.
[[nodiscard]] std::string commented(std::string_view text);

}  // namespace flowplan::exporting
